"""Numbers only: Bernoulli KL and its inverse, seeds, the cache of compiled kernels."""
