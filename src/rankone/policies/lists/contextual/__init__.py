"""Policies that show lists of items with features: one algorithm is one file."""
