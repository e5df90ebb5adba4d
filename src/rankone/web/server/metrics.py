"""Figures for Prometheus. What happened to experiments comes from their journals' folds; what happened at this server
is counted here.
"""

import collections
import os
import platform
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from rankone import __version__
from rankone.errors import Contradiction, UnknownDecision
from rankone.live.evidence.goal_outcomes import BROUGHT, LATE, TOTAL, UNMATCHED
from rankone.live.fold.fold import Fold
from rankone.live.fold.list_fold import ListFold
from rankone.live.messages import Outcome
from rankone.live.report.comparing import shortfalls
from rankone.live.report.goal_report import VIOLATED
from rankone.live.report.make_goals import guardrails, held_back
from rankone.live.report.make_report import exploring, outcome_counts, survivors
from rankone.live.verdict.list_verdict import list_verdict
from rankone.live.verdict.verdict import verdict_of

_PROCESS = ProcessCollector(registry=None)
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


disable_created_metrics()  # type: ignore[no-untyped-call]


class Meters:
    """What this server counts since it started."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counted, timed = "requests answered by this server", "seconds from request to answer"
        group = "seconds of one group of requests, commit included"
        self.answers = Counter("rankone_http_requests", counted, ("operation", "status"), registry=self.registry)
        self.seconds = Histogram(
            "rankone_http_request_seconds", timed, ("operation",), buckets=SECONDS, registry=self.registry
        )
        self.commits = Histogram("rankone_commit_seconds", group, buckets=SECONDS, registry=self.registry)
        self.sizes = Histogram(
            "rankone_commit_requests", "requests committed together", buckets=SIZES, registry=self.registry
        )
        self.refused: collections.Counter[tuple[str, str]] = collections.Counter()  # not everybody may see all of them

    def answered(self, operation: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.answers.labels(operation, status).inc()
        self.seconds.labels(operation).observe(seconds)

    def committed(self, size: int, seconds: float) -> None:
        """Count a group of requests carried out together."""
        self.commits.observe(seconds)
        self.sizes.observe(size)

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
        yield from self.registry.collect()
        text, refused = "outcomes told to this server that changed nothing", sorted(self.refused.items())
        shown = {key: count for key, count in refused if key[0] in visible}
        yield _family(CounterMetricFamily, "outcomes_refused", text, ("experiment", "why"), shown)


def _family(
    kind: type[CounterMetricFamily] | type[GaugeMetricFamily],
    name: str,
    text: str,
    labels: Sequence[str],
    values: Mapping[Any, float],
) -> Metric:
    """Return figures of one name, by the values of their labels."""
    family = kind(f"rankone_{name}", text, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


# Figures of experiments: what they are, and a label beside that of the experiment where there are several.
_FIGURES: dict[str, tuple[type[CounterMetricFamily] | type[GaugeMetricFamily], str, tuple[str, ...]]] = {
    "decisions": (CounterMetricFamily, "decisions given out", ()),
    "fillers": (CounterMetricFamily, "decisions the policy does not learn from", ()),
    "journal_events": (CounterMetricFamily, "events in the journal", ()),
    "stage": (GaugeMetricFamily, "stage of an elimination policy, from 0", ()),
    "doubt": (GaugeMetricFamily, "upper bound of the probability that the leader is not the best", ()),
    "decided": (GaugeMetricFamily, "1 if there is a verdict at the experiment's error rate", ()),
    "exploring": (GaugeMetricFamily, "share of decisions that explore now", ()),
    "sample_ratio_mismatches": (
        GaugeMetricFamily,
        "levels with too few outcomes for what was chosen, or too many late clicks",
        (),
    ),
    "outcomes": (CounterMetricFamily, "outcomes by kind", ("kind",)),
    "levels_left": (GaugeMetricFamily, "levels an elimination policy still has", ("factor",)),
    "open_decisions": (GaugeMetricFamily, "decisions that wait for an outcome", ()),
    "goal_visitors": (GaugeMetricFamily, "visitors who brought something, by goal", ("goal",)),
    "goal_total": (GaugeMetricFamily, "what they brought, each at most the cap", ("goal",)),
    "goal_unmatched": (CounterMetricFamily, "outcomes of visitors without a decision", ("goal",)),
    "goal_late": (CounterMetricFamily, "outcomes after the goal's window", ("goal",)),
    "guardrail_violated": (GaugeMetricFamily, "1 if what leads is proven to be worse than allowed", ("goal",)),
    "guardrail_changes": (CounterMetricFamily, "times that a guardrail was violated, cleared or open again", ("goal",)),
    "held_decisions": (GaugeMetricFamily, "outcomes that wait for a window's end", ()),
}


def figures(fold: Fold) -> dict[str, Any]:
    """Return the figures of an experiment: a number, or numbers by the value of their label."""
    left, stage = survivors(fold)
    counts = outcome_counts(fold)
    return {
        "decisions": fold.decisions,
        "fillers": fold.fillers,
        "journal_events": fold.seq,
        "exploring": exploring(fold),
        "open_decisions": counts.pop("open"),
        "held_decisions": counts.pop("held"),
        "outcomes": counts,
        "levels_left": {factor: len(names) for factor, names in (left or {}).items()},
        "guardrail_changes": {name: known["times"] for name, known in fold.guards.items()},
        **_of_verdict(fold),
        **_of_goals(fold),
    } | ({} if stage is None else {"stage": stage})


def _of_verdict(fold: Fold) -> dict[str, Any]:
    """Return the figures of what is stated."""
    if isinstance(fold, ListFold):
        ranked = list_verdict(fold)
        decided, doubt, short, violated = ranked.decided, ranked.doubt, 0, dict[str, int]()
    else:
        state, short = verdict_of(fold), len(shortfalls(fold))
        decided = not short and min(state.doubt, state.enough) <= fold.evidence.error and not held_back(fold, state)
        doubt = 1.0 if short else state.doubt
        violated = {goal.name: int(status == VIOLATED) for goal, status in guardrails(fold, state)}
    said = {"doubt": doubt, "decided": int(decided), "sample_ratio_mismatches": short}
    return said | {"guardrail_violated": violated}


def _of_goals(fold: Fold) -> dict[str, dict[str, float]]:
    """Return the figures of goals other than a click."""
    known = fold.goals if isinstance(fold, ListFold) else fold.evidence.goals
    each = [] if known is None else [(at, goal) for at, goal in enumerate(known.goals) if at or goal.adds_up]
    result: dict[str, dict[str, float]] = {"goal_visitors": {}, "goal_total": {}, "goal_unmatched": {}, "goal_late": {}}
    for at, goal in each:
        assert known is not None
        brought = known.counts[at, : known.sizes[0]].sum(axis=0)  # each decision has one level of the first factor
        own = (brought[BROUGHT], brought[TOTAL], known.uncounted[at, UNMATCHED], known.uncounted[at, LATE])
        for name, value in zip(result, own, strict=True):
            result[name][goal.name] = float(value)
    return result


class Figures(Collector):
    """All that one caller may see at one moment, for the client library of Prometheus to write down."""

    def __init__(self, meters: Meters, all_figures: Mapping[str, Any], damaged: Iterable[str]) -> None:
        self._meters, self._figures = meters, all_figures
        self._damaged = dict.fromkeys(all_figures, 0) | dict.fromkeys(damaged, 1)

    def collect(self) -> Iterator[Metric]:
        """Yield every figure."""
        for name, (kind, text, labels) in _FIGURES.items():
            values: dict[tuple[str, ...], float] = {}
            for experiment, figures in self._figures.items():
                own = figures.get(name, {})
                several = {(key,): value for key, value in own.items()} if isinstance(own, dict) else {(): own}
                values |= {(experiment, *key): value for key, value in several.items()}
            yield _family(kind, name, text, ("experiment", *labels), values)
        damaged = {(experiment,): value for experiment, value in self._damaged.items()}
        yield _family(GaugeMetricFamily, "damaged", "1 if the experiment cannot be read", ("experiment",), damaged)
        yield from self._meters.families(self._damaged)
        build = {(__version__, platform.python_version(), str(os.getpid())): 1}
        yield _family(GaugeMetricFamily, "build_info", "1; what runs here", ("version", "python", "pid"), build)
        yield from _PROCESS.collect()  # processor time, memory, open files, when it started

    def text(self) -> bytes:
        """Return them in the text format of Prometheus."""
        return generate_latest(self)
