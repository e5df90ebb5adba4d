"""What policies on lists share: the items with the largest scores or draws, how far a list was read."""
