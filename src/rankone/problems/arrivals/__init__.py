"""Worlds whose rows are chosen by nature: a user arrives, and the policy picks the item."""

from rankone.problems.arrivals.arriving import Arrivals, latent, mixed
from rankone.problems.arrivals.clustered_linear import ClusteredLinear, clustered_linear
from rankone.problems.arrivals.table import load_table

__all__ = ["Arrivals", "ClusteredLinear", "clustered_linear", "latent", "load_table", "mixed"]
