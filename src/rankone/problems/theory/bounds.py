"""What theory says about regret on a problem: the paper's Theorem 1 from above, Graves and Lai from below.

* Theorem 1 (paper, section 4), Rank1ElimKL: ``R(n) <= 160 / (mu gamma) (sum_i 1/D_i + sum_j 1/D_j) log n
  + (6e + 82)(K + L)``, where D is a level's own gap, or the smallest positive gap of the other side if its own is 0.
* Lower bound (Graves and Lai 1997; for rank-1 problems Trinh et al. 2020): any policy that is good on every problem has
  ``liminf R(n) / log n >= C(u, v)``, and only pairs in the best row or the best column count::

      C(u, v) = sum_i (u* - u_i) v* / d(u_i v*, u* v*)  +  sum_j u* (v* - v_j) / d(u* v_j, u* v*)

  over the levels that are not best. Levels that tie for the best have no term. Of more factors the sum goes over all
  levels of all factors, each in the place of the best (docs/more-than-two-factors.md has the proof).
* Time to be sure (Garivier, Kaufmann, COLT 2016): whoever names the best of some arms with an error of at most e makes
  on average at least about ``T* log(1 / e)`` decisions, where ::

      1 / T* = max over shares w of  min over the other arms a of   w_b d(m_b, x_a) + w_a d(m_a, x_a)

  with b the best arm and x_a the mean of m_b and m_a weighted with their shares. The best pair has to be told from its
  neighbours only, the pairs that share its row or its column (Poiani et al., AISTATS 2025, for unimodal problems). It
  is the limit of rules that stay on that cross; near ties a decision off the cross can save up to half of the
  decisions.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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


_HALVINGS = 45
_TRIED, _ROUNDS = 24, 5  # values of y at once, and how often the interval between two of them is looked into again


def characteristic_time(problem: Product | str) -> float:
    """Return T*: nobody is sure of the best with an error of e before about T* log(1 / e) decisions, on its cross.

    It is infinite where combinations tie for the best, and 0 where there is only one.

    >>> round(characteristic_time("needle:8x6") * math.log(20))
    198
    """
    product = plain_product(problem)
    best = dict(zip(product.level_names, product.best_levels, strict=True))
    rates = [
        rate for factor, level, rate in product.rates_with_each_level() if rate is not None and level != best[factor]
    ]
    return star_time(product.best_mean, rates)


def star_time(best: float, others: npt.ArrayLike) -> float:
    """Return T* of one arm with mean `best` against arms that are worse.

    By section 2.2 of the first paper: with x = w_a / w_b let g_a(x) = d(m_b, z) + x d(m_a, z), z the weighted mean. At
    the best shares all g_a are one y, at which the ratios d(m_b, z_a) / d(m_a, z_a) add up to 1. Found by halving
    intervals, for many y at once; z takes the place of x, since x = (m_b - z) / (z - m_a).

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
        index = int(np.clip(np.searchsorted(totals, 1.0), 1, _TRIED - 1))
        low, high = float(tried[index - 1]), float(tried[index])
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
