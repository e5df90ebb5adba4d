"""What the examination curve is good for: which positions the data link, and weights that undo position bias."""
