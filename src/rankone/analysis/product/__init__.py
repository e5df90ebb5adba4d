"""The product model of counts: its fit, intervals, the best level of each factor, days and shrinkage."""
