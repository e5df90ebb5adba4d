"""A lottery of levels from clicks under earlier lotteries: the posterior of one factor, and what is probably best.

Decisions of a *row* were drawn with the same published chances p of each level (a version of the lottery; where
combinations are forbidden, a version beside the same other levels; 0: not drawn there). Whatever the click rate of the
site did meanwhile, the clicks of a row fall on level x with probability ``p_x exp(eta_x) / sum_y p_y exp(eta_y)``.

1. The scores eta of a factor maximise ``sum over rows of [sum_x clicks_x eta_x - K log sum_x p_x exp(eta_x)]
   - sum_x eta_x^2 / 2``, K being the clicks of a row: Newton's method, steps cut at 1, until one is below 0.001.
2. Of a draw, the log ratio of a level to the leader is that of a gamma variable with the posterior's mean and variance
   (Wilson and Hilferty: the cube root of one is almost normal), which has a lighter tail than a log-normal.
3. The lottery is the share of draws in which each level is best, with an even part, and a part that decides sooner.
"""

import math
from typing import Any

from rankone.compiling.compiled import noalloc
from rankone.numerics.arrays import Floats
from rankone.policies.engines.regression import set_root, solve_down, solve_up

DRAWS = 1_000
EVEN, EVEN_CLICKS = 0.2, 2.0  # the even part is at most the first, and the second divided by the clicks so far
_STEPS, _NEAR = 60, 1e-3
_NEVER, _LEAST = -1e300, 0.001


@noalloc
def _add_row(clicks: Floats, chances: Floats, row: int, first: int, root: Floats, work: Floats) -> None:
    """Add what a row says to the curvature (its upper half) and the slope; the weights of levels are in ``work[0]``."""
    k = len(root)
    total = within = 0.0
    for x in range(k):
        total += clicks[row, first + x]
        within += chances[row, first + x] * work[0, x]
    if total == 0.0:
        return
    for x in range(k):
        work[2, x] = chances[row, first + x] * work[0, x] / within
    for x in range(k):
        expected = total * work[2, x]
        work[1, x] += clicks[row, first + x] - expected
        root[x, x] += expected
        for y in range(x, k):
            root[x, y] -= expected * work[2, y]


@noalloc
def fit_levels(clicks: Floats, chances: Floats, rows: int, first: int, scores: Floats, root: Any, work: Any) -> int:
    """Bring the scores of a factor to their posterior's peak, from where they are; return the level that leads.

    Args:
        clicks: of each row and level, ``(rows, levels of all factors)``.
        chances: the same shape.
        rows: how many of them there are.
        first: the first level of this factor.
        scores: ``(k,)``, changed.
        root: ``(k, k)``, filled with the root of the posterior's precision.
        work: ``(4, k)``; its last row is filled with the variance of the difference of each level to the leader.
    """
    k = len(scores)
    for _ in range(_STEPS):
        for x in range(k):
            work[0, x] = math.exp(scores[x])
            work[1, x] = -scores[x]
            for y in range(x, k):
                root[x, y] = 1.0 if x == y else 0.0
        for row in range(rows):
            _add_row(clicks, chances, row, first, root, work)
        set_root(root)
        solve_down(root, work[1])
        solve_up(root, work[1])
        largest = 0.0
        for x in range(k):
            largest = max(largest, abs(work[1, x]))
        for x in range(k):
            scores[x] += work[1, x] / max(1.0, largest)
        if largest < _NEAR:
            break
    leader = 0
    for x in range(k):
        leader = x if scores[x] > scores[leader] else leader
    for x in range(k):
        for y in range(k):
            work[1, y] = (1.0 if y == x else 0.0) - (1.0 if y == leader else 0.0)
        solve_down(root, work[1])
        work[3, x] = 0.0
        for y in range(k):
            work[3, x] += work[1, y] * work[1, y]
    return leader


@noalloc
def draw_ratios(scores: Floats, root: Floats, variances: Floats, leader: int, rng: Any, ratios: Floats) -> None:
    """Draw the log ratio of each level to the leader."""
    k = len(scores)
    for x in range(k):
        ratios[x] = rng.standard_normal()
    solve_up(root, ratios)
    own = ratios[leader]
    for x in range(k):
        s = variances[x]
        cube_root = 1.0 - s / (9.0 * (1.0 + s)) + (ratios[x] - own) / (3.0 * math.sqrt(1.0 + s))
        gap = scores[x] - scores[leader] + math.log(1.0 + s)
        ratios[x] = gap + 3.0 * math.log(cube_root) if cube_root > 0.0 else _NEVER
    ratios[leader] = 0.0


@noalloc
def mix_lottery(best: Any, first: int, size: int, leader: int, clicks: float, decide: float) -> None:
    """Turn the share of draws in which each level is best into the chances with which it is shown.

    Args:
        best: the shares, changed; those of `size` levels from `first` on.
        first: see `best`.
        size: see `best`.
        leader: the place, from 0, of the one that leads.
        clicks: so far.
        decide: the part that feeds the leader and its rivals evenly, for a verdict; 0: none.
    """
    even = min(EVEN, EVEN_CLICKS / max(clicks, 1.0))
    others = 0.0
    for x in range(size):
        others += 0.0 if x == leader else best[first + x] + _LEAST
    for x in range(size):
        rival = 0.5 if x == leader else 0.5 * (best[first + x] + _LEAST) / others
        share = (1.0 - decide) * best[first + x] + decide * rival if size > 1 else 1.0
        best[first + x] = (1.0 - even) * share + even / size


def draw_factor(clicks: Floats, chances: Floats, scores: Floats, root: Any, work: Any, rng: Any, ratios: Any) -> int:
    """Fit a factor and fill in the log ratios of draws, ``(draws, k)``; return the level that leads. An entry point."""
    leader = fit_levels(clicks, chances, len(clicks), 0, scores, root, work)
    for draw in range(len(ratios)):
        draw_ratios(scores, root, work[3], leader, rng, ratios[draw])
    return leader
