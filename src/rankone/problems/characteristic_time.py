"""How many decisions it takes, at least, to be sure which pair is best: the characteristic time.

Garivier, Kaufmann (COLT 2016): whoever names the best of some arms with an error of at most e makes on average at least
``T* kl(e, 1 - e)`` decisions, about ``T* log(1 / e)``, where

    1 / T* = max over shares w of  min over the other arms a of   w_b d(m_b, x_a) + w_a d(m_a, x_a)

with b the best arm, d the Bernoulli divergence and x_a the mean of m_b and m_a weighted with their shares. On a rank-1
problem the best pair has to be told from its neighbours only, the pairs that share its row or its column (Poiani et
al., AISTATS 2025, for unimodal problems): T* is that of the best pair and these. It is the limit of rules that stay on
the cross. A decision off the cross tells something about a row and a column at once; near ties that can save up to half
of the decisions, where gaps are wide nothing.

Solution (the first paper's section 2.2): with x = w_a / w_b, let g_a(x) = d(m_b, z) + x d(m_a, z), z the weighted mean.
At the best shares all g_a are the same y, and the y is right at which the ratios d(m_b, z_a) / d(m_a, z_a) add up to 1.
Everything is found by halving intervals, for many y at once; z takes the place of x, since x = (m_b - z) / (z - m_a).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rankone.problems.rank_one import RankOne
from rankone.problems.registry import as_rank_one

Floats = npt.NDArray[np.float64]
_HALVINGS = 45
_TRIED, _ROUNDS = 24, 5  # values of y at once, and how often the interval between two of them is looked into again


def characteristic_time(problem: RankOne | str) -> float:
    """Return T*: nobody is sure of the best pair with an error of e before about T* log(1 / e) decisions, on average.

    It is infinite where pairs tie for the best, and 0 where there is only one pair.

    >>> round(characteristic_time("needle:8x6") * math.log(20))
    198
    """
    problem = as_rank_one(problem, "for which there is theory")
    row, col = problem.best_decision()
    means = np.concatenate([np.delete(problem.means[:, col], row), np.delete(problem.means[row], col)])
    return star_time(problem.best_mean, means)


def star_time(best: float, others: npt.ArrayLike) -> float:
    """Return T* of one arm with mean `best` against arms that are worse.

    >>> round(star_time(0.15, [0.10] * 7) * math.log(20))
    3550
    """
    means = np.asarray(others, np.float64)
    if len(means) == 0:
        return 0.0
    if not best > means.max():
        return math.inf
    means = np.maximum(means, 1e-6 * best)  # an arm that is never clicked would have an infinite divergence
    low, high = 1e-7, 1.0 - 1e-7  # y as a part of its largest value, beyond which some arm cannot be told apart
    most = float(_divergence(np.array(best), means).min())
    for _ in range(_ROUNDS):
        tried = np.linspace(low, high, _TRIED) if low > 1e-3 else np.geomspace(low, high, _TRIED)
        z = _means_at(tried * most, best, means)
        totals = (_divergence(np.array(best), z) / np.maximum(_divergence(means, z), 1e-300)).sum(axis=1)
        place = int(np.clip(np.searchsorted(totals, 1.0), 1, _TRIED - 1))
        low, high = float(tried[place - 1]), float(tried[place])
    y = 0.5 * (low + high) * most
    z = _means_at(np.array([y]), best, means)[0]
    shares = (best - z) / (z - means)
    return float((1.0 + shares.sum()) / y)


def _means_at(y: Floats, best: float, others: Floats) -> Floats:
    """Return, for each y and each arm, the z between the arm and the best at which g is y; g falls as z rises."""
    left = np.broadcast_to(others, (len(y), len(others))).copy()
    right = np.full_like(left, best)
    for _ in range(_HALVINGS):
        z = 0.5 * (left + right)
        with np.errstate(divide="ignore", invalid="ignore"):
            g = _divergence(np.array(best), z) + (best - z) / (z - others) * _divergence(others, z)
        above = g > y[:, None]
        left, right = np.where(above, z, left), np.where(above, right, z)
    return 0.5 * (left + right)


def _divergence(p: Floats, q: Floats) -> Floats:
    """Return d(p, q) of Bernoulli means; the two terms cancel where p and q are close, hence log1p."""
    with np.errstate(divide="ignore", invalid="ignore"):
        clicked = np.where(p > 0.0, -p * np.log1p((q - p) / np.where(p > 0.0, p, 1.0)), 0.0)
        rest = np.where(p < 1.0, -(1.0 - p) * np.log1p((p - q) / np.where(p < 1.0, 1.0 - p, 1.0)), 0.0)
    return np.asarray(clicked + rest)
