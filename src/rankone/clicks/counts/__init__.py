"""Counts: what is left of a click log once it is read."""
