"""What the page shows of an experiment. Readers must not slow down writers: the newest state is copied in the writer's
turn, everything else happens outside it, and a view is used again until it is a second old (longer for large ones)."""

import copy
import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankone.live import Database, Experiment
from rankone.live.factors import Levels, margin
from rankone.live.fold.fold import Fold
from rankone.live.fold.unknown_policy import UnknownPolicy
from rankone.live.report.make_report import exploring, make_report, outcome_counts, survivors
from rankone.live.report.report import Report
from rankone.web.encoding import encode
from rankone.web.timeline import Timeline

MAX_SHOWN = 24  # levels of each factor in a heat map
MAX_COMBINATIONS = 500  # in the table of combinations
_FRESH = 1.0  # seconds
_SHARE = 0.05  # of the time, at most, is spent on views of one experiment

Ints = npt.NDArray[np.int64]


class DashboardData:
    """What the page shows of one experiment; for any thread."""

    def __init__(
        self,
        experiment: Experiment,
        reader: Database,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._experiment, self._clock = experiment, clock
        self._making = threading.Lock()
        self._timeline = Timeline(reader, experiment.name)
        self._view = b""
        self._until = float("-inf")

    def settle(self) -> float:
        """End the windows that are over; return for how many seconds there is nothing to do, if nothing happens."""
        return self._experiment.settle()

    def forget(self) -> None:
        """Forget a view that is too old to be shown."""
        if self._clock() >= self._until:
            self._view = b""

    def report(self) -> bytes:
        """Return the report of this moment, as JSON."""
        return encode(self.made_report().to_dict())

    def made_report(self) -> Report:
        """Return the report of this moment."""
        self.settle()
        return make_report(self._experiment.look(_still))

    def view(self) -> bytes:
        """Return what the page shows, at most a little old, as JSON: many may look, it is written once."""
        with self._making:
            began = self._clock()
            view = self._view
            if not view or began >= self._until:
                self._view = view = encode(self._make())
                now = self._clock()
                self._until = now + max(_FRESH, (now - began) / _SHARE)
            return view

    def _make(self) -> dict[str, Any]:
        fold, (left, stage) = self._experiment.look(lambda fold: (_still(fold), survivors(fold)))
        self._timeline.catch_up()
        report = make_report(fold)
        outcomes = int(fold.pulls.sum()) if report.ranking is None else fold.learned
        return {
            "report": report.to_dict(),
            "heat": _heat(fold, report) if len(fold.counted_by) == 2 else None,
            "combinations": _combinations(fold) if len(fold.counted_by) != 2 else None,
            "timeline": self._timeline.to_dict(),
            "stage": stage,
            "left": left,
            "click_rate": (fold.n_clicked if report.ranking else int(fold.clicks.sum())) / outcomes
            if outcomes
            else None,
            "uniform_rate": None if report.even_clicks is None else report.even_clicks / outcomes,
            "simulated": self._timeline.simulated,
        }


def _combinations(fold: Fold) -> dict[str, Any]:
    """Return the busiest combinations."""
    cells = np.argwhere(fold.asked)
    asked = fold.asked[tuple(cells.T)]
    busiest = cells[np.argsort(-asked, kind="stable")[:MAX_COMBINATIONS]]
    counts = [each[tuple(busiest.T)] for each in (fold.asked, fold.pulls, fold.clicks)]
    total = math.prod(sum(levels.live) for levels in fold.factors.values())
    rows = np.column_stack([busiest, *counts]).tolist()
    live = [np.array(levels.live)[own] for levels, own in zip(fold.factors.values(), cells.T, strict=True)]
    retired = len(cells) - int(np.all(live, axis=0).sum())
    return {"rows": rows, "total": total, "n_shown": len(cells), "n_retired": retired}


def shown(fold: Fold) -> bytes:
    """Return an experiment and its settings, as JSON."""
    return encode(_shown(fold))


def _shown(fold: Fold) -> dict[str, Any]:
    settings, counts = fold.settings.to_dict(), outcome_counts(fold)
    settings["context"] = None if fold.segments.declared is None else dict(fold.segments.declared)
    return settings | {
        "policy": fold.policy.label,
        "policy_known": not isinstance(fold.policy, UnknownPolicy),
        "factors": {factor: levels.names_living() for factor, levels in fold.factors.items()},
        "exploring": exploring(fold),
        "decisions": fold.decisions,
        "clicks": counts["clicked"],
        "open": counts["open"],
        "stopped": None if fold.stopped is None else fold.stopped["why"],
        "shown": fold.shown,
        "eras": list(fold.eras),
    }


def _still(fold: Fold) -> Fold:
    """Return a copy of what a report needs, so that it can be made while the experiment goes on."""
    still = copy.copy(fold)
    still.asked, still.pulls, still.clicks = fold.asked.copy(), fold.pulls.copy(), fold.clicks.copy()
    still.tallies, still.evidence = fold.tallies.copy(), fold.evidence.frozen_copy()
    still.open, still.held, still.eras = fold.open.copy(), fold.held.copy(), list(fold.eras)
    still.explored = fold.explored.copy()
    still.alarms, still.earlier, still.guards = list(fold.alarms), fold.earlier.copy(), dict(fold.guards)
    still.state = None
    return still


def _heat(fold: Fold, report: Report) -> dict[str, Any]:
    """Return the counts of the busiest levels, the leading ones always among them, in their own order.

    Of a ranking: items, those of the present list first, at each position.
    """
    if report.ranking is not None:
        return _list_heat(fold, report.ranking.present)
    each = [
        _busiest(levels, margin(fold.asked, axis), report.best[factor])
        for axis, (factor, levels) in enumerate(fold.factors.items())
    ]
    part = np.ix_(*each)
    return {
        "levels": [
            [levels.names[level] for level in own] for levels, own in zip(fold.factors.values(), each, strict=True)
        ],
        "decisions": fold.asked[part].tolist(),
        "outcomes": fold.pulls[part].tolist(),
        "clicks": fold.clicks[part].tolist(),
    }


def _list_heat(fold: Fold, present: Sequence[str]) -> dict[str, Any]:
    items = fold.factors.each[0]
    traffic = fold.asked.sum(axis=0)
    first = [items.names.index(name) for name in present]
    others = sorted(set(items.numbers()) - set(first), key=lambda item: (-traffic[item], item))
    shown = [*first, *others][:MAX_SHOWN]
    counts = {"decisions": fold.asked, "outcomes": fold.pulls, "clicks": fold.clicks}
    levels = [[items.names[item] for item in shown], [str(at + 1) for at in range(len(fold.asked))]]
    return {"levels": levels} | {what: each[:, shown].T.tolist() for what, each in counts.items()}


def _busiest(levels: Levels, traffic: Ints, leader: str) -> list[int]:
    living = levels.numbers()
    by_traffic = sorted(living, key=lambda level: (levels.names[level] != leader, -traffic[level], level))
    return sorted(by_traffic[:MAX_SHOWN])
