"""What theory says about regret on a problem: the paper's Theorem 1 from above, Graves and Lai from below.

* Theorem 1 (paper, section 4), Rank1ElimKL: ``R(n) <= 160 / (mu gamma) (sum_i 1/D_i + sum_j 1/D_j) log n
  + (6e + 82)(K + L)``, where D is a level's own gap, or the smallest positive gap of the other side if its own is 0.
* Lower bound (Graves and Lai 1997; for rank-1 problems Trinh et al. 2020): any policy that is good on every problem has
  ``liminf R(n) / log n >= C(u, v)``, and only pairs in the best row or the best column count::

      C(u, v) = sum_i (u* - u_i) v* / d(u_i v*, u* v*)  +  sum_j u* (v* - v_j) / d(u* v_j, u* v*)

  over the levels that are not best. Levels that tie for the best have no term. Of more factors the sum goes over all
  levels of all factors, each in the place of the best (docs/more-than-two-factors.md has the proof).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankone.problems.product import Product
from rankone.problems.rank_one import RankOne, Vector
from rankone.problems.registry import as_problem, as_rank_one
from rankone.specs import as_whole_number

PER_LEVEL = 6.0 * math.e + 82.0  # the constant C of Theorem 1


class UpperBound(NamedTuple):
    """Theorem 1's bound on regret after `horizon` decisions, and what each level adds to it."""

    horizon: int
    total: float
    row_shares: Vector  # (n_rows,) part of the log n term that each row adds
    col_shares: Vector  # (n_cols,) part of the log n term that each column adds
    constant: float  # (6e + 82)(K + L)


def upper_bound(problem: RankOne | str, horizon: int) -> UpperBound:
    """Theorem 1's bound on the regret of Rank1ElimKL (the paper states it for horizons of at least 5).

    Where there is nothing to tell apart a share is 0: when all levels of both sides tie, or when one side is all zeros
    (mu = 0, no pair is ever clicked). When only one side is all ties, its levels take the other side's smallest gap.

    >>> from rankone.problems import needle
    >>> bound = upper_bound(needle(32, 32), horizon=2_000_000)
    >>> round(bound.total), round(bound.row_shares[1])
    (4217622, 65802)
    """
    problem = as_rank_one(problem, "for which there is theory")
    log_horizon = math.log(as_whole_number("horizon", horizon))
    scale = 160.0 / (problem.mu * problem.gamma) * log_horizon if problem.mu > 0.0 else 0.0
    row_shares = scale / np.where(problem.row_gaps > 0.0, problem.row_gaps, problem.min_col_gap)
    col_shares = scale / np.where(problem.col_gaps > 0.0, problem.col_gaps, problem.min_row_gap)
    constant = PER_LEVEL * (problem.n_rows + problem.n_cols)
    total = float(row_shares.sum() + col_shares.sum() + constant)
    return UpperBound(int(horizon), total, row_shares, col_shares, constant)


def lower_bound_constant(problem: RankOne | Product | str) -> float:
    """Graves-Lai constant C(u, v): no policy that is good everywhere has less regret than about C(u, v) log n.

    It is 0 when nothing has to be learnt at a cost of log n: all pairs alike, a best pair that is never clicked, or
    one that always is (there the first miss rules a pair out).

    >>> from rankone.problems import needle
    >>> round(lower_bound_constant(needle(4, 4, p=0.25, gap=0.5)), 3)
    7.576
    """
    from rankone.numerics.kl import bernoulli_kl

    problem = as_problem(problem)
    if isinstance(problem, Product) and problem.is_plain:
        means = [
            problem.best_mean * (values / values.max()) for values in problem.factors.values() if values.max() > 0.0
        ]
        return _single_changes(np.concatenate(means), problem.best_mean) if means else 0.0
    problem = as_rank_one(problem, "for which there is theory")
    best = problem.best_mean
    if best in (0.0, 1.0):
        return 0.0
    neighbours = np.concatenate([problem.rows * problem.cols.max(), problem.rows.max() * problem.cols])
    losses = np.concatenate([problem.row_gaps * problem.cols.max(), problem.rows.max() * problem.col_gaps])
    worse = zip(neighbours.tolist(), losses.tolist(), strict=True)
    return math.fsum(loss / bernoulli_kl(mean, best) for mean, loss in worse if mean < best)


def _single_changes(means: Vector, best: float) -> float:
    """Sum of gap / kl over combinations that differ from the best in one factor."""
    from rankone.numerics.kl import bernoulli_kl

    if best in (0.0, 1.0):
        return 0.0
    return math.fsum((best - mean) / bernoulli_kl(mean, best) for mean in means.tolist() if mean < best)


def lower_bound(problem: RankOne | Product | str, horizon: int) -> float:
    """Asymptotic lower bound ``C(u, v) log n`` on the regret of every policy that is good on all problems.

    >>> from rankone.problems import needle
    >>> round(lower_bound(needle(128, 128), horizon=2_000_000))
    4653
    """
    return lower_bound_constant(problem) * math.log(as_whole_number("horizon", horizon))
