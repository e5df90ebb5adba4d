"""Making what a report says of segments from the fold of an experiment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankone.serving.fold import Fold
from rankone.serving.segment_names import segment_of
from rankone.serving.segment_report import SegmentLevel, SegmentReport, SegmentsReport
from rankone.serving.segment_verdict import SegmentVerdict, segment_verdict, shrunken_ratios
from rankone.serving.segments import OTHERS, UNSAID, Segments
from rankone.serving.verdict import Verdict


def make_segments(fold: Fold, state: Verdict) -> SegmentsReport | None:
    """Return what is known of segments; None: nobody said anything of a visitor."""
    segments = fold.weighing.segments
    if segments.attributes is None:
        return None
    levels_of_each = fold.weighing.levels_of_each()
    found = segment_verdict(segments, levels_of_each, fold.weighing.error)
    factors = list(fold.factors)
    names = [(factor, name) for factor, levels in fold.factors.items() for name in levels.names]
    leaders = [int(levels[leader]) for levels, leader in zip(levels_of_each, state.leaders, strict=True)]
    ratios = np.ones((len(segments.texts), len(names)))
    for levels, leader in zip(levels_of_each, leaders, strict=True):
        for level in levels.tolist() if segments.texts else ():
            ratios[:, level] = shrunken_ratios(segments.evidence, level, leader)
    each = []
    for number, text in enumerate(segments.texts):
        segment, (decisions, outcomes, clicks) = segment_of(text), segments.totals(number)
        best = [int(levels[np.argmax(ratios[number, levels])]) for levels in levels_of_each]
        proven = dict(zip(factors, found.best[number], strict=True))
        beats = [one for one in found.statements if one.segment == number]
        told = [level for levels in levels_of_each for level in levels.tolist()]
        each.append(
            SegmentReport(
                name=segment.name,
                attributes=dict(zip(segment.attributes, segment.levels, strict=True)),
                decisions=decisions,
                outcomes=outcomes,
                clicks=clicks,
                best=dict(names[level] for level in best),
                proven={factor: names[level][1] for factor, level in proven.items() if level is not None},
                beats=tuple((names[one.better][0], names[one.better][1], names[one.worse][1]) for one in beats),
                levels=tuple(
                    SegmentLevel(names[level][0], names[level][1], float(ratios[number, level])) for level in told
                ),
            )
        )
    return SegmentsReport(
        attributes=segments.attributes,
        answer=_answer(segments, state, found),
        depends=tuple(factor for factor, depends in zip(factors, found.depends, strict=True) if depends),
        segments=tuple(each),
        others=_three(segments.totals(OTHERS)),
        unsaid=_three(segments.totals(UNSAID)),
    )


def _answer(segments: Segments, state: Verdict, found: SegmentVerdict) -> str:
    """Return whether the best level depends on the segment."""
    if state.basis != "any" or not segments.texts:
        return "unknown"
    if any(found.depends):
        return "depends"
    best = found.best[0]
    rest = segments.totals(OTHERS)[0] + segments.totals(UNSAID)[0]
    return "same" if None not in best and not rest and all(each == best for each in found.best) else "open"


def _three(counts: Sequence[int]) -> tuple[int, int, int]:
    decisions, outcomes, clicks = counts
    return decisions, outcomes, clicks
