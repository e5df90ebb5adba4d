"""What theory says about a problem: how hard it is, bounds on regret, and what an equal split would take."""
