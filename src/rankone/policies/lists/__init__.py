"""Policies that show a list: one algorithm is one file."""
