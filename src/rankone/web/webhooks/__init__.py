"""Webhooks: what happens to experiments is told to addresses that people name."""
