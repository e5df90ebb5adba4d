"""Fitted click models in files: our own, and PyClick's."""
