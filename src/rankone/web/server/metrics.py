"""Figures for Prometheus, in its text format. What happened to experiments comes from their journals' folds; what
happened at this server is counted here."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from typing import Any

from rankone.errors import Contradiction, UnknownDecision
from rankone.serving.fold import Fold
from rankone.serving.make_report import outcome_counts, survivors
from rankone.serving.messages import Outcome

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Histogram:
    """Counts of values up to each bound, their sum and their number."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds, self.counts, self.total = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect.bisect_left(self.bounds, value)] += 1
        self.total += value

    def lines(self, name: str, labels: str = "") -> Iterator[str]:
        """Return it as Prometheus reads it."""
        comma, seen = ("," if labels else ""), 0
        for bound, count in zip((*self.bounds, "+Inf"), self.counts, strict=True):
            seen += count
            yield f'{name}_bucket{{{labels}{comma}le="{bound}"}} {seen}'
        yield f"{name}_sum{{{labels}}} {self.total!r}"
        yield f"{name}_count{{{labels}}} {seen}"


class Meters:
    """What this server counts since it started."""

    def __init__(self) -> None:
        self.answers: Counter[tuple[str, int]] = Counter()
        self.seconds: dict[str, Histogram] = {}
        self.commits, self.sizes = Histogram(SECONDS), Histogram(SIZES)
        self.refused: Counter[tuple[str, str]] = Counter()

    def answered(self, operation: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.answers[operation, status] += 1
        histogram = self.seconds.get(operation)
        if histogram is None:
            histogram = self.seconds[operation] = Histogram(SECONDS)
        histogram.add(seconds)

    def committed(self, size: int, seconds: float) -> None:
        """Count a group of requests carried out together."""
        self.commits.add(seconds)
        self.sizes.add(size)

    def told(self, experiment: str, answers: Iterable[Any]) -> None:
        """Count outcomes that changed nothing: the journal does not know of them."""
        for answer in answers:
            if isinstance(answer, Contradiction):
                self.refused[experiment, "conflict"] += 1
            elif isinstance(answer, UnknownDecision):
                self.refused[experiment, "unknown"] += 1
            elif isinstance(answer, Outcome) and answer.repeated:
                self.refused[experiment, "duplicate"] += 1

    def lines(self, visible: set[str]) -> Iterator[str]:
        """Return the figures of this server; those of experiments for the visible ones only."""
        yield from _head("rankone_http_requests_total", "counter", "requests answered by this server")
        for (operation, status), count in sorted(self.answers.items()):
            yield f'rankone_http_requests_total{{operation="{operation}",status="{status}"}} {count}'
        yield from _head("rankone_http_request_seconds", "histogram", "seconds from request to answer")
        for operation, histogram in sorted(self.seconds.items()):
            yield from histogram.lines("rankone_http_request_seconds", f'operation="{operation}"')
        yield from _head("rankone_commit_seconds", "histogram", "seconds of one group of requests, commit included")
        yield from self.commits.lines("rankone_commit_seconds")
        yield from _head("rankone_commit_requests", "histogram", "requests committed together")
        yield from self.sizes.lines("rankone_commit_requests")
        yield from _head(
            "rankone_outcomes_refused_total", "counter", "outcomes told to this server that changed nothing"
        )
        for (experiment, why), count in sorted(self.refused.items()):
            if experiment in visible:
                yield f'rankone_outcomes_refused_total{{{_label(experiment)},why="{why}"}} {count}'


def figures(fold: Fold) -> dict[str, Any]:
    """Return the figures of an experiment."""
    rows_left, cols_left, stage = survivors(fold)
    found = {"decisions": fold.decisions, "fillers": fold.fillers, "events": fold.seq, "outcomes": outcome_counts(fold)}
    if stage is not None:
        found["stage"] = stage
    if rows_left is not None and cols_left is not None:
        found |= {"rows_left": len(rows_left), "cols_left": len(cols_left)}
    return found


_FIGURES = {
    "decisions": ("rankone_decisions_total", "counter", "decisions given out"),
    "fillers": ("rankone_fillers_total", "counter", "decisions the policy does not learn from"),
    "events": ("rankone_journal_events_total", "counter", "events in the journal"),
    "stage": ("rankone_stage", "gauge", "stage of an elimination policy, from 0"),
    "rows_left": ("rankone_rows_left", "gauge", "rows an elimination policy still has"),
    "cols_left": ("rankone_cols_left", "gauge", "columns an elimination policy still has"),
}


def experiment_lines(all_figures: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Return the figures of experiments, by name."""
    for key, (name, kind, text) in _FIGURES.items():
        yield from _head(name, kind, text)
        for experiment, found in all_figures.items():
            if key in found:
                yield f"{name}{{{_label(experiment)}}} {found[key]}"
    yield from _head("rankone_outcomes_total", "counter", "outcomes by kind")
    for experiment, found in all_figures.items():
        for kind, count in found["outcomes"].items():
            if kind not in ("open", "held"):
                yield f'rankone_outcomes_total{{{_label(experiment)},kind="{kind}"}} {count}'
    for kind, text in (
        ("open", "decisions that wait for an outcome"),
        ("held", "outcomes that wait for a window's end"),
    ):
        yield from _head(f"rankone_{kind}_decisions", "gauge", text)
        for experiment, found in all_figures.items():
            yield f"rankone_{kind}_decisions{{{_label(experiment)}}} {found['outcomes'][kind]}"


def damage_lines(names: Iterable[str], damaged: Container[str]) -> Iterator[str]:
    """Return which experiments have a journal that cannot be read."""
    yield from _head("rankone_damaged", "gauge", "1 if the journal cannot be read")
    for experiment in names:
        yield f"rankone_damaged{{{_label(experiment)}}} {int(experiment in damaged)}"


def _head(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"


def _label(experiment: str) -> str:
    escaped = experiment.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'experiment="{escaped}"'
