"""Posteriors of click probabilities: Betas, the largest of many, their tails, and products."""
