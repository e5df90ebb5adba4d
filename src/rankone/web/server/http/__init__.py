"""Requests and answers as HTTP: connections, bodies, answers and errors."""
