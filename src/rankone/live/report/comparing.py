"""Numbers that people decide on: each level against the leading one, the leader against the control, traffic.

All of them need probabilities of the decisions (basis "any"), and all rest on the product model and nothing about time.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from rankone.evidence.levels import Evidence
from rankone.evidence.steering import comparisons, margin_ratio_of_each
from rankone.live.evidence.ratios import NO_BOUND, Ratio, ratio_of
from rankone.live.factors import margins
from rankone.live.fold.fold import Fold
from rankone.live.forbidden import forbids
from rankone.live.report.report import Shortfall
from rankone.live.report.report_wording import TRAFFIC_ERROR
from rankone.live.verdict.lateness import late_levels
from rankone.live.verdict.verdict import Verdict
from rankone.numerics.arrays import Floats
from rankone.wording.ratios import APART, BEATEN, UNLIKE


class Compared(NamedTuple):
    """A ratio with an interval. None: nothing is known yet; ``high`` None: no bound yet."""

    ratio: float | None
    low: float
    high: float | None
    why: str = ""  # nothing is said, if that is not for want of data


def against_leader(fold: Fold, state: Verdict, alike: bool) -> list[list[Compared]] | None:
    """Return the living levels of each factor against the leading one; None: nobody leads, or only counts are known.

    Of a level with few outcomes nothing is said but that it is beaten, of one that another beats only that, nothing of
    one that is forbidden beside what leads, and nothing of any where outcomes do not come back `alike` (`shortfalls`).
    Estimates fit who leads (`rankone.live.evidence.standing`): nothing that may be shown has a higher one.

    All these intervals, and those of all other pairs of levels, hold together at all times, but for the error rate: an
    end of one is charged as much of it as the statement that one level beats another. Where the leader is proven
    to beat a level, or there is a winner, the interval is cut at the leader: that rests on those statements, which have
    the error for themselves. So none is wrong unless one of the three is.
    """
    weighing, found = fold.weighing, state.standing
    if found is None or not state.leads:
        return None
    claims, rules = weighing.claims, fold.rules
    each = claims.interval_error
    won, enough = state.doubt <= claims.error, state.enough <= claims.error
    spared = margin_ratio_of_each(fold.settings.stopping.margin, len(fold.factors))
    sides: list[list[Compared]] = []
    most = 1.0 if won else spared if enough else math.inf  # so the verdict says
    for factor, (leader, levels) in enumerate(zip(state.leaders, weighing.levels_of_each(), strict=True)):
        best, beside = int(levels[leader]), list(state.leaders)
        proof = weighing.stated.proof[best, levels]
        sides.append([])
        for place in range(len(levels)):
            beside[factor] = place
            if not alike and place != leader:
                sides[-1].append(Compared(None, 0.0, None, UNLIKE))
                continue
            if len(rules) and forbids(rules, beside):
                sides[-1].append(Compared(None, 0.0, None, APART))
                continue
            beaten = proof[place] >= claims.beaten_bar
            if place != leader and not won and not beaten and state.doubts[factor][place] <= claims.error:
                by = int(np.argmax(weighing.stated.proof[levels, levels[place]]))
                by_name = fold.factors.each[factor].names_living()[by]
                sides[-1].append(Compared(None, 0.0, None, f"beaten by '{by_name}'"))
                continue
            if not found.compared[factor][place]:
                sides[-1].append(Compared(None, 0.0, None, BEATEN if beaten else ""))
                continue
            bound = 1.0 if beaten else most
            sides[-1].append(_cut(_ratio(weighing.clicked, found.scores[factor], levels, place, leader, each), bound))
    return sides


def against_control(fold: Fold, state: Verdict, alike: bool) -> Compared | None:
    """Return what leads against the control; None: there is none, or outcomes do not come back `alike`.

    Its ratio is the product of those of its levels, by the product model. Each level's ratio to
    the control's is charged its part of the error, since any of them may come to lead.
    """
    weighing, standing = fold.weighing, state.standing
    if fold.settings.control is None or standing is None or not alike:
        return None
    held = weighing.steering.control
    if not state.leads or not all(known[level] for known, level in zip(standing.compared, held, strict=True)):
        return Compared(None, 0.0, None)
    each = weighing.error / max(1, sum(weighing.sizes) - len(weighing.sizes))
    found = [
        _ratio(weighing.clicked, scores, levels, leader, level, each)
        for scores, levels, leader, level in zip(
            standing.scores, weighing.levels_of_each(), state.leaders, held, strict=True
        )
    ]
    bounded = max(ratio.high for ratio in found) < NO_BOUND
    return Compared(
        math.prod(ratio.estimate for ratio in found) if bounded else None,
        math.prod(ratio.low for ratio in found),
        math.prod(ratio.high for ratio in found) if bounded else None,
    )


def shortfalls(fold: Fold) -> list[Shortfall]:
    """Return levels of which too few outcomes came back for what was chosen, or too many clicks too late.

    The most striking one of each kind is first. The chance that there is ever one, where outcomes of all levels come
    back alike, is `TRAFFIC_ERROR` for each kind.
    """
    weighing = fold.weighing
    if not weighing.fits:
        return []
    bar = math.log(max(1, comparisons(weighing.sizes)) / TRAFFIC_ERROR)
    proof = weighing.traffic.proof
    levels = sorted(range(len(proof)), key=lambda level: -proof[:, level].max())
    lost = [(level, other) for level in levels if proof[other := int(np.argmax(proof[:, level])), level] >= bar]
    told, clicks = margins(fold.pulls) / np.maximum(margins(fold.asked), 1), margins(fold.clicks)
    either = bar - math.log(2.0)  # the test of two levels is for both at once
    late = [each[:2] for each in late_levels(weighing.evidence, weighing.late, either)]
    in_time = clicks / np.maximum(clicks + margins(fold.late), 1)
    return [_shortfall(fold, *two, told) for two in lost] + [_shortfall(fold, *two, in_time, True) for two in late]


def _shortfall(fold: Fold, level: int, other: int, shares: Floats, late: bool = False) -> Shortfall:
    named = [(factor, name) for factor, levels in fold.factors.items() for name in levels.names]
    (factor, name), (_, compared) = named[level], named[other]
    return Shortfall(factor, name, float(shares[level]), compared, float(shares[other]), late)


def _ratio(evidence: Evidence, scores: Floats, levels: Any, x: int, y: int, error: float) -> Ratio:
    """Return the ratio of two living levels of a factor: as estimated with all others, within its interval."""
    if x == y:
        return Ratio(1.0, 1.0, 1.0)
    found = ratio_of(evidence, int(levels[x]), int(levels[y]), error)
    return found._replace(estimate=min(max(math.exp(scores[x] - scores[y]), found.low), found.high))


def _cut(ratio: Ratio, most: float) -> Compared:
    """Return a ratio that is at most so large, by what was proven."""
    high, low = min(ratio.high, most), min(ratio.low, most)
    known = low > 0.0 or high < NO_BOUND
    return Compared(min(ratio.estimate, high) if known else None, low, high if high < NO_BOUND else None)
