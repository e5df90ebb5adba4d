"""Counts: what is left of a click log once it is read."""

from rankone.deprecation import old_names

__getattr__ = old_names(__name__, {"Counts": "rankone.clicks.Counts"})  # it was a file in 0.1
