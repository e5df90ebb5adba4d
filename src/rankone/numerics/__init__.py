"""Numbers only; nothing here knows problems or policies."""
