"""Compiled code: how it is made, dispatched on types, and kept on disk."""
