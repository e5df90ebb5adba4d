"""Engines of policies that go by an index: groups with the same counts, and the race between them."""
