"""The report of an experiment: what it says (plain values, for a client too), how it is made and worded."""
