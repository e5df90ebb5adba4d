"""Click logs with known truth, to experiment with."""
