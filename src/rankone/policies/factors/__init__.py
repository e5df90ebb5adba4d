"""Policies that show a combination of one level per factor: one algorithm, one file."""
