"""What an experiment states: who leads, who has won, in which segments, and what speaks against the model."""
