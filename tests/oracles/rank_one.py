"""The rank-1 maximum by a general optimiser."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def slow_statistic(pulls: np.ndarray, clicks: np.ndarray) -> float:
    """Likelihood ratio of the best rates u_i v_j, 0 <= u, v <= 1, against a rate of its own for every pair."""
    n_rows = len(pulls)

    def loss(lines: np.ndarray) -> float:
        rates = np.clip(np.outer(np.exp(lines[:n_rows]), np.exp(lines[n_rows:])), 1e-12, 1 - 1e-12)
        return -float(_log_likelihood(pulls, clicks, rates))

    start = np.full(sum(pulls.shape), -0.7)
    found = minimize(loss, start, method="L-BFGS-B", bounds=[(-14.0, 0.0)] * len(start), options={"maxiter": 5000})
    own = np.clip(clicks / np.maximum(pulls, 1), 1e-12, 1 - 1e-12)
    return 2.0 * (found.fun + float(_log_likelihood(pulls, clicks, own)))


def _log_likelihood(pulls, clicks, rates):
    return (clicks * np.log(rates) + (pulls - clicks) * np.log1p(-rates)).sum()
