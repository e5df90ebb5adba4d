"""Figures for Prometheus. What happened to experiments comes from their journals' folds; what happened at this server
is counted here, in plain numbers, which the client library of Prometheus writes down when somebody looks.

Its own counters take locks: to count a request in them costs 3.1 us (1.2 us where its labels are looked up beforehand),
here 0.4 us, thousands of times a second, for what is looked at every few seconds.
"""

from __future__ import annotations

import bisect
import itertools
import os
import platform
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from rankone import __version__
from rankone.errors import Contradiction, UnknownDecision
from rankone.live.fold.fold import Fold
from rankone.live.messages import Outcome
from rankone.live.report.comparing import shortfalls
from rankone.live.report.make_report import exploring, outcome_counts, survivors
from rankone.live.verdict.verdict import verdict_of

_PROCESS = ProcessCollector(registry=None)
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

    def buckets(self) -> list[tuple[str, float]]:
        """Return how many values were at most as large as each bound."""
        bounds = [str(bound) for bound in self.bounds]
        return list(zip([*bounds, "+Inf"], itertools.accumulate(self.counts), strict=True))


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

    def families(self, visible: Container[str]) -> Iterator[Metric]:
        """Yield the figures of this server; those of experiments for the visible ones only."""
        text = "requests answered by this server"
        requests = CounterMetricFamily("rankone_http_requests", text, labels=("operation", "status"))
        for (operation, status), count in sorted(self.answers.items()):
            requests.add_metric((operation, str(status)), count)
        yield requests
        text = "seconds from request to answer"
        seconds = HistogramMetricFamily("rankone_http_request_seconds", text, labels=("operation",))
        for operation, histogram in sorted(self.seconds.items()):
            seconds.add_metric((operation,), histogram.buckets(), histogram.total)
        yield seconds
        for name, text, histogram in (
            ("rankone_commit_seconds", "seconds of one group of requests, commit included", self.commits),
            ("rankone_commit_requests", "requests committed together", self.sizes),
        ):
            yield HistogramMetricFamily(name, text, histogram.buckets(), histogram.total)
        text = "outcomes told to this server that changed nothing"
        refused = CounterMetricFamily("rankone_outcomes_refused", text, labels=("experiment", "why"))
        for (experiment, why), count in sorted(self.refused.items()):
            if experiment in visible:
                refused.add_metric((experiment, why), count)
        yield refused


def figures(fold: Fold) -> dict[str, Any]:
    """Return the figures of an experiment."""
    left, stage = survivors(fold)
    found = {"decisions": fold.decisions, "fillers": fold.fillers, "events": fold.seq, "outcomes": outcome_counts(fold)}
    if stage is not None:
        found["stage"] = stage
    if left is not None:
        found["left"] = {factor: len(names) for factor, names in left.items()}
    state, short = verdict_of(fold), len(shortfalls(fold))
    decided = not short and min(state.doubt, state.enough) <= fold.evidence.error
    found |= {"doubt": 1.0 if short else state.doubt, "decided": int(decided), "exploring": exploring(fold)}
    return found | {"shortfalls": short}


_FIGURES: dict[str, tuple[type[CounterMetricFamily] | type[GaugeMetricFamily], str, str]] = {
    "decisions": (CounterMetricFamily, "rankone_decisions", "decisions given out"),
    "fillers": (CounterMetricFamily, "rankone_fillers", "decisions the policy does not learn from"),
    "events": (CounterMetricFamily, "rankone_journal_events", "events in the journal"),
    "stage": (GaugeMetricFamily, "rankone_stage", "stage of an elimination policy, from 0"),
    "doubt": (GaugeMetricFamily, "rankone_doubt", "probability at most that what leads is not the best"),
    "decided": (GaugeMetricFamily, "rankone_decided", "1 if there is a verdict at the experiment's error rate"),
    "exploring": (GaugeMetricFamily, "rankone_exploring", "share of decisions that explore now"),
    "shortfalls": (
        GaugeMetricFamily,
        "rankone_sample_ratio_mismatches",
        "levels of which fewer outcomes came back than they were chosen, or more clicks came too late",
    ),
}
_WAITING = {"open": "decisions that wait for an outcome", "held": "outcomes that wait for a window's end"}


def experiment_families(all_figures: Mapping[str, dict[str, Any]]) -> Iterator[Metric]:
    """Yield the figures of experiments, by name."""
    for key, (kind_of, name, text) in _FIGURES.items():
        family = kind_of(name, text, labels=("experiment",))
        for experiment, found in all_figures.items():
            if key in found:
                family.add_metric((experiment,), found[key])
        yield family
    outcomes = CounterMetricFamily("rankone_outcomes", "outcomes by kind", labels=("experiment", "kind"))
    for experiment, found in all_figures.items():
        for kind, count in found["outcomes"].items():
            if kind not in _WAITING:
                outcomes.add_metric((experiment, kind), count)
    yield outcomes
    left = GaugeMetricFamily(
        "rankone_levels_left", "levels an elimination policy still has", labels=("experiment", "factor")
    )
    for experiment, found in all_figures.items():
        for factor, count in found.get("left", {}).items():
            left.add_metric((experiment, factor), count)
    yield left
    for kind, text in _WAITING.items():
        waiting = GaugeMetricFamily(f"rankone_{kind}_decisions", text, labels=("experiment",))
        for experiment, found in all_figures.items():
            waiting.add_metric((experiment,), found["outcomes"][kind])
        yield waiting


class Figures(Collector):
    """All that one caller may see at one moment, for the client library of Prometheus to write down."""

    def __init__(
        self, meters: Meters, found: Mapping[str, dict[str, Any]], damaged: Container[str], names: Sequence[str]
    ) -> None:
        self._meters, self._found, self._damaged, self._names = meters, found, damaged, names

    def collect(self) -> Iterator[Metric]:
        """Yield every figure."""
        yield from experiment_families(self._found)
        damage = GaugeMetricFamily("rankone_damaged", "1 if the experiment cannot be read", labels=("experiment",))
        for experiment in self._names:
            damage.add_metric((experiment,), int(experiment in self._damaged))
        yield damage
        yield from self._meters.families(self._names)
        build = GaugeMetricFamily("rankone_build_info", "1; what runs here", labels=("version", "python", "pid"))
        build.add_metric((__version__, platform.python_version(), str(os.getpid())), 1)
        yield build
        yield from _PROCESS.collect()  # processor time, memory, open files, when it started

    def text(self) -> bytes:
        """Return them in the text format of Prometheus."""
        return generate_latest(self)
