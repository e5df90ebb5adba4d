"""Policies that eliminate: rows and columns, or whole combinations, leave the race stage by stage."""
