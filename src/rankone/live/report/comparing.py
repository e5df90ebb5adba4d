"""Numbers that people decide on: each level against the leading one, the leader against the control, traffic.

All of them need probabilities of the decisions (basis "any"), and all rest on the product model and nothing about time.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rankone.evidence.amounts import ratio_interval
from rankone.evidence.steering import comparisons, margin_ratio_of_each
from rankone.live.evidence.experiment_evidence import ExperimentEvidence
from rankone.live.evidence.ratios import NO_BOUND, Ratio, ratio_of
from rankone.live.factors import margins
from rankone.live.fold.fold import Fold
from rankone.live.report.report import Shortfall
from rankone.live.report.report_wording import TRAFFIC_ERROR
from rankone.live.verdict.unequal_lateness import late_levels
from rankone.live.verdict.verdict import Verdict
from rankone.numerics.arrays import Floats, Ints
from rankone.wording.ratios import APART, BEATEN, UNLIKE


class Compared(NamedTuple):
    """A ratio with an interval. None: nothing is known yet; ``high`` None: no bound yet."""

    ratio: float | None = None
    low: float = 0.0
    high: float | None = None
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
    evidence, standing, claims = fold.evidence, state.standing, fold.evidence.claims
    if standing is None or not state.leads:
        return None
    proof, won = evidence.stated.proof, state.doubt <= claims.error
    most = 1.0 if won else math.inf  # so the verdict says
    if not won and state.enough <= claims.error:
        most = margin_ratio_of_each(fold.settings.stopping.margin, len(fold.factors))

    def compared(factor: int, levels: Ints, level: int) -> Compared:
        leader = state.leaders[factor]
        if not alike and level != leader:
            return Compared(why=UNLIKE)
        if not evidence.allowed.allows([*state.leaders[:factor], level, *state.leaders[factor + 1 :]]):
            return Compared(why=APART)
        beaten = bool(proof[levels[leader], levels[level]] >= claims.beaten_bar)
        if level != leader and not won and not beaten and state.doubts[factor][level] <= claims.error:
            by = int(np.argmax(proof[levels, levels[level]]))
            return Compared(why=f"beaten by '{fold.factors.each[factor].names_living()[by]}'")
        if not standing.compared[factor][level]:
            return Compared(why=BEATEN if beaten else "")
        ratio = _ratio(evidence, standing.scores[factor], levels, level, leader, claims.interval_error)
        return _cut(ratio, 1.0 if beaten else most)

    each = enumerate(evidence.levels_of_each())
    return [[compared(factor, levels, level) for level in range(len(levels))] for factor, levels in each]


def against_control(fold: Fold, state: Verdict, alike: bool) -> Compared:
    """Return what leads against the control; nothing where there is none, or outcomes do not come back `alike`.

    Its ratio is the product of those of its levels, by the product model. Each level's ratio to the control's is
    charged its part of the error, since any of them may come to lead.
    """
    evidence, standing = fold.evidence, state.standing
    held = evidence.steering.control
    if fold.settings.control is None or standing is None or not alike or not state.leads:
        return Compared()
    if not all(known[level] for known, level in zip(standing.compared, held, strict=True)):
        return Compared()
    each = evidence.error / max(1, sum(evidence.sizes) - len(evidence.sizes))
    result = [
        _ratio(evidence, scores, levels, leader, level, each)
        for scores, levels, leader, level in zip(
            standing.scores, evidence.levels_of_each(), state.leaders, held, strict=True
        )
    ]
    bounded = max(ratio.high for ratio in result) < NO_BOUND
    return Compared(
        math.prod(ratio.estimate for ratio in result) if bounded else None,
        math.prod(ratio.low for ratio in result),
        math.prod(ratio.high for ratio in result) if bounded else None,
    )


def shortfalls(fold: Fold) -> list[Shortfall]:
    """Return levels of which too few outcomes came back for what was chosen, or too many clicks too late.

    The most striking one of each kind is first. The chance that there is ever one, where outcomes of all levels come
    back alike, is `TRAFFIC_ERROR` for each kind.
    """
    evidence = fold.evidence
    if not evidence.fits:
        return []
    bar = math.log(max(1, comparisons(evidence.sizes)) / TRAFFIC_ERROR)
    proof = evidence.traffic.proof
    levels = sorted(range(len(proof)), key=lambda level: -proof[:, level].max())
    lost = [(level, other) for level in levels if proof[other := int(np.argmax(proof[:, level])), level] >= bar]
    returned, clicks = margins(fold.pulls) / np.maximum(margins(fold.asked), 1), margins(fold.clicks)
    either = bar - math.log(2.0)  # the test of two levels is for both at once
    late = [each[:2] for each in late_levels(evidence.in_time, evidence.late, either)]
    in_time = clicks / np.maximum(clicks + margins(fold.late), 1)
    return [_shortfall(fold, *two, returned) for two in lost] + [_shortfall(fold, *two, in_time, True) for two in late]


def _shortfall(fold: Fold, level: int, other: int, shares: Floats, late: bool = False) -> Shortfall:
    named = [(factor, name) for factor, levels in fold.factors.items() for name in levels.names]
    (factor, name), (_, compared) = named[level], named[other]
    return Shortfall(factor, name, float(shares[level]), compared, float(shares[other]), late)


def _ratio(evidence: ExperimentEvidence, scores: Floats, levels: Any, x: int, y: int, error: float) -> Ratio:
    """Return the ratio of two living levels of a factor: as estimated with all others, within its interval."""
    if x == y:
        return Ratio(1.0, 1.0, 1.0)
    if evidence.goals is not None and evidence.goals.steers:
        low, high = ratio_interval(evidence.goals.amounts(), int(levels[x]), int(levels[y]), error)
        result = Ratio(1.0, low, NO_BOUND if high is None else high)
    else:
        result = ratio_of(evidence.clicked, int(levels[x]), int(levels[y]), error)
    return result._replace(estimate=min(max(math.exp(scores[x] - scores[y]), result.low), result.high))


def _cut(ratio: Ratio, most: float) -> Compared:
    high, low = min(ratio.high, most), min(ratio.low, most)
    known = low > 0.0 or high < NO_BOUND
    return Compared(min(ratio.estimate, high) if known else None, low, high if high < NO_BOUND else None)
