"""What theory says about regret on a problem: the paper's Theorem 1 from above, Graves and Lai from below.

* Theorem 1 (paper, section 4), Rank1ElimKL: ``R(n) <= 160 / (mu gamma) (sum_i 1/D_i + sum_j 1/D_j) log n
  + (6e + 82)(K + L)``, where D is a level's own gap, or the smallest positive gap of the other side if its own is 0.
* Lower bound (Graves and Lai 1997; for rank-1 problems Trinh et al. 2020): any policy that is good on every problem has
  ``liminf R(n) / log n >= C(u, v)``, and only pairs in the best row or the best column count::

      C(u, v) = sum_i (u* - u_i) v* / d(u_i v*, u* v*)  +  sum_j u* (v* - v_j) / d(u* v_j, u* v*)

  over the levels that are not best. Levels that tie for the best have no term. Of more factors the sum goes over all
  levels of all factors, each in the place of the best (docs/more-than-two-factors.md has the proof).
"""

import math
from typing import NamedTuple

import numpy as np

from rankone.errors import InputError
from rankone.numerics.arrays import Floats
from rankone.numerics.kl import bernoulli_kl
from rankone.problems.product import Product
from rankone.problems.rank_one import RankOne
from rankone.problems.registry import as_problem, as_rank_one
from rankone.specs import as_whole_number

PER_LEVEL = 6.0 * math.e + 82.0  # the constant C of Theorem 1


class UpperBound(NamedTuple):
    """Theorem 1's bound on regret after `horizon` decisions, and what each level adds to it."""

    horizon: int
    total: float
    shares: dict[str, Floats]  # of each factor, row and col, the part of the log n term that each level adds
    constant: float  # (6e + 82)(K + L)


def upper_bound(problem: RankOne | str, horizon: int) -> UpperBound:
    """Theorem 1's bound on the regret of Rank1ElimKL (the paper states it for horizons of at least 5).

    Where there is nothing to tell apart a share is 0: when all levels of both sides tie, or when one side is all zeros
    (mu = 0, no pair is ever clicked). When only one side is all ties, its levels take the other side's smallest gap.

    >>> from rankone.problems import needle
    >>> bound = upper_bound(needle(32, 32), horizon=2_000_000)
    >>> round(bound.total), round(bound.shares["row"][1])
    (4217622, 65802)
    """
    problem = as_rank_one(problem, "for which there is theory")
    log_horizon = math.log(as_whole_number("horizon", horizon))
    scale = 160.0 / (problem.mu * problem.gamma) * log_horizon if problem.mu > 0.0 else 0.0
    rows = scale / np.where(problem.row_gaps > 0.0, problem.row_gaps, problem.min_col_gap)
    cols = scale / np.where(problem.col_gaps > 0.0, problem.col_gaps, problem.min_row_gap)
    constant = PER_LEVEL * (problem.n_rows + problem.n_cols)
    total = float(rows.sum() + cols.sum() + constant)
    return UpperBound(int(horizon), total, {"row": rows, "col": cols}, constant)


def plain_product(problem: Product | str) -> Product:
    """Turn a text into a product without interactions and rules; refuse another: theory says nothing of it."""
    result = as_problem(problem)
    if not isinstance(result, Product) or not result.is_plain:
        expected = "a problem of factors, for which there is theory: a product without interactions and rules"
        raise InputError(expected, f"{result!r}", "try needle:8x8")
    return result


def lower_bound_constant(problem: Product | str) -> float:
    """Graves-Lai constant C(u, v): no policy that is good everywhere has less regret than about C(u, v) log n.

    It is 0 when nothing has to be learnt at a cost of log n: all pairs alike, a best pair that is never clicked, or
    one that always is (there the first miss rules a pair out).

    >>> from rankone.problems import needle
    >>> round(lower_bound_constant(needle(4, 4, p=0.25, gap=0.5)), 3)
    7.576
    """
    product = plain_product(problem)
    best, terms = product.best_mean, list[tuple[float, float]]()
    if best in (0.0, 1.0):
        return 0.0
    for factor, values in product.factors.items():
        others = math.prod(float(each.max()) for name, each in product.factors.items() if name != factor)
        terms += zip((values * others).tolist(), ((values.max() - values) * others).tolist(), strict=True)
    return math.fsum(loss / bernoulli_kl(mean, best) for mean, loss in terms if loss > 0.0 and mean < best)


def lower_bound(problem: Product | str, horizon: int) -> float:
    """Asymptotic lower bound ``C(u, v) log n`` on the regret of every policy that is good on all problems.

    >>> from rankone.problems import needle
    >>> round(lower_bound(needle(128, 128), horizon=2_000_000))
    4653
    """
    return lower_bound_constant(problem) * math.log(as_whole_number("horizon", horizon))
