"""The page of the service: what it shows, and its files."""
