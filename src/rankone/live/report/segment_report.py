"""What a report says of segments, and how it is told. Plain values: a client reads one without NumPy or Numba."""

from __future__ import annotations

import dataclasses
import itertools
import types
import typing
from typing import TYPE_CHECKING, Any

from rankone.specs import amount
from rankone.wording.lists import some_of
from rankone.wording.numbers import percent
from rankone.wording.tables import aligned

if TYPE_CHECKING:
    from rankone.live.report.report import Report

_FEW = 4  # statements that a sentence lists


@dataclasses.dataclass(frozen=True)
class SegmentLevel:
    """A level of a factor among the visitors of a segment."""

    factor: str
    name: str
    ratio: float | None  # clicks for each click of the level that leads overall, drawn towards all segments' ratio;
    # None: too few clicks or outcomes, or nobody can say


@dataclasses.dataclass(frozen=True)
class SegmentReport:
    """One segment."""

    name: str
    attributes: dict[str, str]
    decisions: int
    outcomes: int
    clicks: int
    best: dict[str, str]  # by factor, the best levels that may be shown together, as estimated; empty: too few clicks
    # or outcomes, or nobody can say
    proven: dict[str, str]  # by factor, the level that is proven the best in this segment
    beats: tuple[tuple[str, str, str], ...]  # factor, level that beats, level that is beaten: proven in this segment
    levels: tuple[SegmentLevel, ...]


@dataclasses.dataclass(frozen=True)
class SegmentsReport:
    """What is known of segments; all that is proven about any of them is wrong with the report's error rate at most."""

    attributes: tuple[str, ...]
    answer: str  # does the best level depend on the segment? "depends", "same", "open"; "unknown": nobody can say
    depends: tuple[str, ...]  # factors of which no level is the best in all segments
    segments: tuple[SegmentReport, ...]
    others: tuple[int, int, int]  # decisions, outcomes and clicks of segments that came when there was no room
    unsaid: tuple[int, int, int]  # the same of visitors of whom nothing was said
    ignored: dict[str, int]  # decisions for which another level of an attribute was said; "": another attribute


def restored(kind: Any, value: Any) -> Any:
    """Return a value of a type, such as a report, of what `dataclasses.asdict` and JSON made of it.

    >>> restored(SegmentLevel, {"factor": "headline", "name": "A", "ratio": 1.0, "sentence": "which is not kept"})
    SegmentLevel(factor='headline', name='A', ratio=1.0)
    """
    parts = [part for part in typing.get_args(kind) if part is not type(None)]
    if isinstance(kind, types.UnionType):
        return None if value is None else restored(parts[0], value)
    if hasattr(kind, "__dataclass_fields__"):
        hints = typing.get_type_hints(kind)
        return kind(**{name: restored(hint, value[name]) for name, hint in hints.items() if name in value})
    if typing.get_origin(kind) is tuple:
        each = itertools.repeat(parts[0], len(value)) if parts[-1] is Ellipsis else parts
        return tuple(restored(part, item) for part, item in zip(each, value, strict=True))
    return value


def segments_text(report: Report) -> str:
    """Return the answer to the first question about segments: does what is best depend on them at all?"""
    result = report.segments
    if result is None:
        return ""
    against = leaders_beaten(report)
    if not result.segments:
        said = "No data on segments yet."
    elif result.answer == "unknown":
        why = "outcomes are not reported equally" if report.shortfalls else "traffic was not randomised"
        said = f"Cannot compare segments: {'a fault in the program' if report.fault else why}."
    elif result.answer == "depends":
        said = f"The best {' and '.join(result.depends)} depends on the segment."
    elif result.answer == "same":
        said = f"The same combination is best in all {amount(len(result.segments), 'segment')}."
    elif against:
        said = "The overall leader is not best in every segment."
    else:
        said = "No sign so far that the best combination depends on the segment."
    if against and result.answer != "unknown":
        said += f" {some_of(against, _FEW)}."
    if report.doubted and _proves(report):
        said += " An alarm was raised, so this may be wrong."
    return " ".join([said, *_left_over(result)])


def segment_details(report: Report) -> list[str]:
    """Return how sure what is said of segments is."""
    if not _proves(report):
        return []
    sure = percent(1.0 - report.error_rate)
    return [
        f"Segments: all statements hold together with {sure} confidence, if within each segment the assumptions above "
        "hold; the click rate of each segment may change."
    ]


def _proves(report: Report) -> bool:
    result = report.segments
    if result is None or result.answer == "unknown":
        return False
    return result.answer != "open" or bool(leaders_beaten(report)) or any(each.proven for each in result.segments)


def leaders_beaten(report: Report) -> list[str]:
    """Return where a level that leads overall is proven to be beaten, in words."""
    return [
        f"In {segment.name}, '{better}' beats the overall leader '{worse}'"
        for segment in (report.segments.segments if report.segments is not None and report.leads else ())
        for factor, better, worse in segment.beats
        if worse == report.best.get(factor)
    ]


def _left_over(found: SegmentsReport) -> list[str]:
    said = []
    if found.others[0]:
        visitors = amount(found.others[0], "visitor")
        said.append(f"{visitors} in other segments are counted together; use fewer attributes to tell more apart.")
    if found.unsaid[0]:
        said.append(f"{amount(found.unsaid[0], 'visitor')} came without a segment.")
    if found.ignored:
        named = {name: f"other levels of {name}" if name else "other attributes" for name in sorted(found.ignored)}
        some = ", ".join(f"{what} ({amount(found.ignored[name], 'visitor')})" for name, what in named.items())
        said.append(f"Ignored, not declared: {some}.")
    return said


def segment_table(found: SegmentsReport) -> list[str]:
    """Return the segments as lines of text."""
    by_level = any(len(segment.attributes) < len(found.attributes) for segment in found.segments)
    title = "visitors with" if by_level else ", ".join(found.attributes)
    rows = [[title, "visitors", "clicks", "rate", "looks best (* proven)"]]
    for segment in sorted(found.segments, key=lambda each: each.name) if by_level else found.segments:
        best = ", ".join(f"{name}{'*' * (segment.proven.get(factor) == name)}" for factor, name in segment.best.items())
        rate = percent(segment.clicks / segment.outcomes) if segment.outcomes else "-"
        rows.append([segment.name, f"{segment.decisions:,}", f"{segment.clicks:,}", rate, best or "-"])
    return aligned(rows, "< >9 >9 >6 <")
