"""Who leads, who is beaten and whether there is a winner: what an experiment states about its levels.

There are two bases, and a report says which one it has:

* "any": probabilities of the decisions are known, so the evidence of `rankone.evidence.levels` holds however the click
  rate of the whole site moves. A winner needs its row to beat every other row and its column every other column. If
  that is claimed wrongly, the truly best level of a factor was called beaten: the sum of all (K_d - 1) comparisons
  share the error. K_d (K_d - 1) of each factor share that of calling any level beaten, and that of intervals of ratios.
* "steady": most decisions left nothing to compare (policies that do not draw, too many levels). Counts are all there
  is, and where the rate of the site moves while a policy shifts its traffic they are wrong more often than not. So the
  highest rate leads, and nothing is stated.
"""

import math
from typing import NamedTuple

import numpy as np

from rankone.live.evidence.ratios import Counted
from rankone.live.evidence.standing import Standing
from rankone.live.factors import margin, margins
from rankone.live.fold.fold import Fold
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.product_fit import Design
from rankone.wording.ratios import FEW_CLICKS, FEW_OUTCOMES

_SMOOTHING = 1e-3  # clicks of each combination more, so that a level without clicks has an effect above 0
_SMALLEST = math.log(1e-9)  # effect of a level that was never shown
_ENOUGH = 0.25  # of the outcomes have to leave something to compare


class Verdict(NamedTuple):
    """What leads, as living levels, and how much doubt there is about each level.

    A level with a doubt of at most a can be called beaten; all such calls, at all times, are wrong with probability a.
    """

    leaders: tuple[int, ...]  # the leading level of each factor
    leads: bool  # whether enough is known to say so; else they are nothing but a guess
    doubts: tuple[Floats, ...]  # for each factor (levels,) 1 for the leader's own
    doubt: float  # that what leads is not the best: an upper bound
    enough: float  # that it is not within the margin of the best either: an upper bound; `doubt` without a margin
    basis: str  # "any" or "steady"
    standing: Standing | None  # what that rests on; None: on counts


def verdict_of(fold: Fold) -> Verdict:
    """Return what an experiment states by now."""
    evidence = fold.evidence
    if evidence.fault:
        return _by_counts(fold)._replace(basis="any", leads=False)
    if evidence.fits:
        pulls, clicks = fold.measured()
        seen = ((margins(clicks) >= FEW_CLICKS) & (margins(pulls) >= FEW_OUTCOMES))[evidence.live]
        result = evidence.standing(seen, fold.asked, fold.clicks + fold.late, _counted(fold))
        decided = min(result.doubt, result.enough) <= evidence.error
        known = evidence.compared >= _ENOUGH * evidence.weighed and (evidence.weighed or not fold.learned_since)
        if decided or known:
            # Nobody leads without a click.
            leads = decided or (result.leads and bool(clicks[tuple(fold.numbers_of(result.leaders))]))
            return Verdict(result.leaders, leads, result.doubts, result.doubt, result.enough, "any", result)
    return _by_counts(fold)


def design_of(pulls: Ints, clicks: Ints) -> Design:
    """Return the product model of counts, an axis a factor."""
    cells = np.argwhere(pulls)
    return Design.of(cells, pulls.shape, pulls[tuple(cells.T)], clicks[tuple(cells.T)])


def _counted(fold: Fold) -> list[Counted]:
    pulls, clicks = map(fold.of_living, fold.measured())
    design = design_of(pulls, clicks)
    more = _SMOOTHING * np.bincount(design.levels.ravel(), minlength=design.n_levels).astype(np.float64)
    effects = np.split(np.maximum(design.maximise(more).x, _SMALLEST), design.starts[1:-1])
    return [
        Counted(effect, margin(clicks, factor).astype(float), margin(pulls, factor).astype(float))
        for factor, effect in enumerate(effects)
    ]


def _by_counts(fold: Fold) -> Verdict:
    """Return the combination with the highest click rate among those with enough outcomes; nothing is stated of it."""
    pulls, clicks = map(fold.of_living, fold.measured())
    allowed = fold.evidence.allowed.table(pulls.ndim)
    known = (clicks >= FEW_CLICKS) & (pulls >= FEW_OUTCOMES) & allowed
    guess = np.where(allowed, clicks / (pulls + FEW_OUTCOMES), -1.0)
    rates = np.where(known, clicks / np.maximum(pulls, 1), -1.0) if known.any() else guess
    leaders = tuple(int(level) for level in np.unravel_index(int(np.argmax(rates)), rates.shape))
    doubt = 0.0 if pulls.size == 1 else 1.0
    ones = tuple(np.ones(size) for size in pulls.shape)
    return Verdict(leaders, bool(known.any()), ones, doubt, doubt, "steady", None)
