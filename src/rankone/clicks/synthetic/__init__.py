"""Click logs with known truth, to try things on."""
