"""Code that is compiled: the contracts of policies and worlds, and the loop that plays one in the other."""
