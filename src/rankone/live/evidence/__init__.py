"""What the clicks of one experiment say: outcomes weighed, in total and by segment, and who stands where."""
