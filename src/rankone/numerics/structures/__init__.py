"""Tables, heaps and trees in plain arrays, for compiled code."""
