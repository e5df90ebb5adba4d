"""Policies for worlds that change: they notice, forget, or are told."""
