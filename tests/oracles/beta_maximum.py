"""Who draws the largest of independent Betas, by quadrature: P(c wins) = integral of f_c times all other F."""

from __future__ import annotations

import numpy as np
from scipy import stats

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_TAILS = np.concatenate([10.0 ** -np.arange(1.5, 16.0, 0.75), np.linspace(0.05, 0.5, 12)])


def win_probabilities(counts: list[tuple[int, int]]) -> np.ndarray:
    """Return P(c draws the largest) for members with (pulls, clicks)."""
    states, which = np.unique(np.array(counts), axis=0, return_inverse=True)
    betas = [stats.beta(clicks + 1, pulls - clicks + 1) for pulls, clicks in states]
    cuts = np.unique(np.concatenate([[0.0, 1.0]] + [f(_TAILS) for beta in betas for f in (beta.ppf, beta.isf)]))
    widths = np.diff(cuts)
    x = (cuts[:-1, None] + 0.5 * widths[:, None] * (_NODES + 1.0)).ravel()
    weights = (0.5 * widths[:, None] * _WEIGHTS).ravel()
    sizes = np.bincount(which)
    log_cdf = np.maximum([beta.logcdf(x) for beta in betas], -1e4)  # no infinities to subtract
    all_below = sizes @ log_cdf
    wins = [weights @ np.exp(beta.logpdf(x) + all_below - log) for beta, log in zip(betas, log_cdf, strict=True)]
    return np.array(wins)[which]
