"""Who won, and when one may stop: a statement about the best pair that is right however often one looks.

It assumes the rank-1 model and click rates that do not move: where the rate of the whole site moves while the policy
shifts its traffic, a level can be called beaten that is not.

Under the rank-1 model a row that is better is better with every column. So pair (i, j) is the best one if row i beats
every other row and column j every other column: K + L - 2 comparisons, as with the neighbours of a unimodal bandit
(Trinh et al. 2020; Combes, Proutiere 2014).

The evidence is anytime-valid for any rule of choosing pairs. For one pair with N outcomes and mean m, the martingale
``M(x) = KT(outcomes) / likelihood(outcomes; x)``, KT the Krichevsky-Trofimov mixture (the Beta(1/2, 1/2) marginal), has
mean 1 under the true x, so it ever reaches 1 / a with probability at most a (Ville). Its logarithm is
``N d(m, x) - R``, R the mixture's regret. "Row i' is at least as good as row i" is doubted in two ways
that share the error, and the smaller probability counts:

* *spread* (a tenth of the error): over all columns, the product of M(x) M'(x) at the likeliest common x. This is how
  policies that sweep over all pairs gather evidence; it grows fast, so a small share is enough.
* *focus* (the rest): in the leader's column some x separates the two: M'(x) >= 1 / (0.9 a) for the other pair and
  M(x) >= 1 / (0.1 a) for the leader, which has the traffic to prove it. This is much stronger where one pair has most
  of the traffic: the leader's regret R costs nothing.

How many true statements can be rejected wrongly? Let (i*, j*) be the best pair. Claiming a row i other than i* needs
"row i* is at least as good as row i" rejected: K - 1 statements by spread, (K - 1) L by focus (one for each column the
leader may be in). Claiming row i* with a wrong column: L - 1 statements, by spread or in row i* by focus. So spread is
charged K + L - 2 statements and focus K L - 1. With more factors it is the same, factor after factor: the first factor
in which the claim is wrong, with any levels of the factors behind it. So spread is charged the sum of all (K_d - 1),
and focus the number of combinations less one; a "column" is then a combination of all other factors.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import compiled, function
from rankone.numerics.kl import bernoulli_kl, kl_lower, kl_upper
from rankone.numerics.mixture import mixture_regret

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_HALVINGS = 60
_SPREAD, _FOCUS = 0.1, 0.9  # shares of the error
_LEADER, _OTHER = 0.1, 0.9  # shares of the focus


class Standing(NamedTuple):
    """What leads, and how much doubt there is about each level: 1 for the leader's own, small for a beaten one.

    A level with a doubt of at most a can be called beaten; all such calls, at all times, are wrong with probability a.
    """

    leaders: tuple[int, ...]  # the leading level of each factor
    doubts: tuple[Floats, ...]  # for each factor (levels,)
    doubt: float  # that what leads is not the best: an upper bound


@function
def _spread(pulls: Ints, clicks: Ints, other_pulls: Ints, other_clicks: Ints) -> float:
    """Log evidence that a level beats the other, all partners together."""
    evidence = 0.0
    for partner in range(len(pulls)):
        n, m = pulls[partner], other_pulls[partner]
        evidence -= mixture_regret(n, clicks[partner]) + mixture_regret(m, other_clicks[partner])
        if n > 0 and m > 0:
            rate, other = clicks[partner] / n, other_clicks[partner] / m
            if rate > other:
                common = (clicks[partner] + other_clicks[partner]) / (n + m)
                evidence += n * bernoulli_kl(rate, common) + m * bernoulli_kl(other, common)
    return evidence


@function
def _focus(pulls: int, clicks: int, other_pulls: int, other_clicks: int) -> float:
    """Log evidence that a pair beats another: the largest log(1 / a) that some x allows."""
    if pulls == 0 or other_pulls == 0:
        return -math.inf
    high, low = clicks / pulls, other_clicks / other_pulls
    if high <= low:
        return -math.inf
    cost = mixture_regret(pulls, clicks) - math.log(_LEADER)
    other_cost = mixture_regret(other_pulls, other_clicks) - math.log(_OTHER)
    left, right = low, high
    for _ in range(_HALVINGS):
        middle = 0.5 * (left + right)
        if pulls * bernoulli_kl(high, middle) - cost > other_pulls * bernoulli_kl(low, middle) - other_cost:
            left = middle
        else:
            right = middle
    above = pulls * bernoulli_kl(high, left) - cost
    below = other_pulls * bernoulli_kl(low, left) - other_cost
    return above if above < below else below


def weigh(pulls: Ints, clicks: Ints, row: int, partner: int, neighbours: int, others: int, log_doubts: Floats) -> None:
    """Fill in, for every other row, the log of the doubt that `row` beats it; `partner` is the leader's column.

    Spread is charged so many `neighbours`, focus so many `others`.
    """
    for other in range(len(pulls)):
        if other == row:
            log_doubts[other] = -math.inf
            continue
        spread = math.log(neighbours / _SPREAD) - _spread(pulls[row], clicks[row], pulls[other], clicks[other])
        focus = _focus(pulls[row, partner], clicks[row, partner], pulls[other, partner], clicks[other, partner])
        focus = math.log(others / _FOCUS) - focus
        log_doubts[other] = min(0.0, spread, focus)


def bounds(pulls: Ints, clicks: Ints, level: float, low: Floats, high: Floats) -> None:
    """Fill in, for each combination, the rates with ``N d(mean, x) - R <= level``: an interval valid at all times."""
    for place in range(len(pulls)):
        low[place], high[place] = 0.0, 1.0
        if pulls[place] > 0:
            rate = clicks[place] / pulls[place]
            radius = (level + mixture_regret(pulls[place], clicks[place])) / pulls[place]
            low[place], high[place] = kl_lower(rate, radius), kl_upper(rate, radius)


def intervals(pulls: Ints, clicks: Ints, error: float = 0.05) -> tuple[Floats, Floats]:
    """Return (low, high) of every pair's click rate; each holds at all times with probability 1 - error.

    >>> low, high = intervals(np.array([[100]]), np.array([[50]]))
    >>> bool(low[0, 0] < 0.4 < 0.6 < high[0, 0])
    True
    """
    low, high = np.empty(pulls.size), np.empty(pulls.size)
    compiled(bounds, __name__)(pulls.ravel(), clicks.ravel(), -math.log(error), low, high)
    return low.reshape(pulls.shape), high.reshape(pulls.shape)


def standing(pulls: Ints, clicks: Ints, allowed: npt.NDArray[np.bool_] | None = None) -> Standing:
    """Return what leads (the best lower bound) and how much doubt the outcomes, an array with an axis a factor, leave.

    `allowed` tells which combinations may lead; None: all.

    >>> state = standing(np.array([[900, 300], [300, 300]]), np.array([[450, 30], [30, 3]]))
    >>> state.leaders, bool(state.doubt < 1e-6)
    ((0, 0), True)
    """
    low, _ = intervals(pulls, clicks)
    if allowed is not None:
        low = np.where(allowed, low, -1.0)
    means = clicks / np.maximum(pulls, 1)
    best = np.unravel_index(np.lexsort((means.ravel(), low.ravel()))[-1], pulls.shape)
    leaders = tuple(int(level) for level in best)
    neighbours, others, logs = sum(pulls.shape) - pulls.ndim, pulls.size - 1, []
    for factor, size in enumerate(pulls.shape):
        tables = [np.ascontiguousarray(np.moveaxis(each, factor, 0)).reshape(size, -1) for each in (pulls, clicks)]
        rest, sizes = leaders[:factor] + leaders[factor + 1 :], pulls.shape[:factor] + pulls.shape[factor + 1 :]
        partner = int(np.ravel_multi_index(rest, sizes)) if rest else 0
        logs.append(np.zeros(size))
        compiled(weigh, __name__)(*tables, leaders[factor], partner, neighbours, others, logs[-1])
    doubt = math.exp(max(found.max() for found in logs))
    doubts = tuple(np.exp(np.where(np.isneginf(found), 0.0, found)) for found in logs)
    return Standing(leaders, doubts, doubt)
