"""Policies that show a pair (row, column): one algorithm, one file."""
