"""Does rank 1 hold? The test of the assumption on counts."""
