"""Making what a report says of segments from the fold of an experiment."""

from collections.abc import Sequence

import numpy as np

from rankone.live.evidence.segments import OTHERS, UNSAID, Segments
from rankone.live.factors import Allowed
from rankone.live.fold.fold import Fold
from rankone.live.report.segment_report import SegmentLevel, SegmentReport, SegmentsReport
from rankone.live.verdict.segment_verdict import SegmentVerdict, segment_verdict, shrunken_ratios
from rankone.live.verdict.verdict import Verdict
from rankone.live.visitor_attributes import context_of
from rankone.numerics.arrays import Floats, Ints
from rankone.wording.ratios import FEW_CLICKS, FEW_OUTCOMES

_PROVEN = 1e3  # above all estimates


def make_segments(fold: Fold, state: Verdict, alike: bool) -> SegmentsReport | None:
    """Return what is known of segments; None: nobody said anything of a visitor.

    Where outcomes do not come back `alike`, or there is a fault, that is no more than counts.
    """
    segments = fold.evidence.segments
    if not (segments.texts or segments.ignored or segments.totals(OTHERS)[0]):
        return None
    levels_of_each = fold.evidence.levels_of_each()
    factors, sound = list(fold.factors), alike and not fold.evidence.fault
    result = SegmentVerdict([], [False] * len(factors), [[None] * len(factors)] * len(segments.texts))
    if sound:
        result = segment_verdict(segments, levels_of_each, fold.evidence.error)
    names = [(factor, name) for factor, levels in fold.factors.items() for name in levels.names]
    leaders = [int(levels[leader]) for levels, leader in zip(levels_of_each, state.leaders, strict=True)]
    ratios = np.ones((len(segments.texts), len(names)))
    known = state.standing.scores if sound and state.standing is not None and state.leads and segments.texts else ()
    for levels, leader, scores in zip(levels_of_each, leaders, known, strict=bool(known)):
        for level, score in zip(levels.tolist(), scores - scores[levels == leader], strict=True):
            ratios[:, level] = shrunken_ratios(segments.evidence, level, leader, score)
    allowed, each = fold.evidence.allowed, []
    for number, text in enumerate(segments.texts):
        segment, (decisions, outcomes, clicks) = context_of(text), segments.totals(number)
        weighed = bool(segments.evidence[number].logs.any())  # evidence begins anew where other segments are declared
        enough = bool(known) and weighed and clicks >= FEW_CLICKS and outcomes >= FEW_OUTCOMES
        best = _best(allowed, ratios[number], levels_of_each, result.best[number]) if enough else []
        proven = dict(zip(factors, result.best[number], strict=True))
        beats = [one for one in result.statements if one.segment == number]
        living = [(level, *names[level]) for levels in levels_of_each for level in levels.tolist()]
        each.append(
            SegmentReport(
                name=segment.name if not fold.policy.by_features else f"{segment.attributes[0]} {segment.name}",
                attributes=dict(zip(segment.attributes, segment.levels, strict=True)),
                decisions=decisions,
                outcomes=outcomes,
                clicks=clicks,
                best=dict(names[level] for level in best),
                proven={factor: names[level][1] for factor, level in proven.items() if level is not None},
                beats=tuple((names[one.better][0], names[one.better][1], names[one.worse][1]) for one in beats),
                levels=tuple(
                    SegmentLevel(factor, name, float(ratios[number, level]) if enough else None)
                    for level, factor, name in living
                ),
            )
        )
    return SegmentsReport(
        attributes=segments.attributes or (),
        answer=_answer(segments, state, result) if sound else "unknown",
        depends=tuple(factor for factor, depends in zip(factors, result.depends, strict=True) if depends),
        segments=tuple(each),
        others=segments.totals(OTHERS),
        unsaid=segments.totals(UNSAID),
        ignored=dict(segments.ignored),
    )


def _best(allowed: Allowed, ratios: Floats, levels_of_each: Sequence[Ints], proven: list[int | None]) -> list[int]:
    scores = [
        np.log(ratios[levels]) + np.where(levels == best, _PROVEN, 0.0)
        for levels, best in zip(levels_of_each, proven, strict=True)
    ]
    return [int(levels[index]) for levels, index in zip(levels_of_each, allowed.best(scores), strict=True)]


def _answer(segments: Segments, state: Verdict, found: SegmentVerdict) -> str:
    if state.basis != "any" or not segments.texts:
        return "unknown"
    if any(found.depends):
        return "depends"
    best = found.best[0]
    rest = segments.totals(OTHERS)[0] + segments.totals(UNSAID)[0]
    return "same" if None not in best and not rest and all(each == best for each in found.best) else "open"
