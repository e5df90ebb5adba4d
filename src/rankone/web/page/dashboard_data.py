"""What the page shows of an experiment. Readers must not slow down writers: the newest state is copied in the writer's
turn, everything else happens outside it, and a view is used again until it is a second old (longer for large ones)."""

from __future__ import annotations

import copy
import math
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from rankone.serving import Database, Experiment
from rankone.serving.factors import Levels
from rankone.serving.fold import Fold
from rankone.serving.make_report import exploring, make_report, outcome_counts, survivors
from rankone.serving.report import Report
from rankone.serving.unknown_policy import UnknownPolicy
from rankone.web.page.timeline import Timeline
from rankone.web.server.encoding import encode

MAX_SHOWN = 24  # rows, and columns, of a heat map
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

    def settle(self) -> None:
        """End the windows that are over."""
        if self._experiment.look(lambda fold: fold.settings.window and len(fold.open)):
            self._experiment.settle()

    def show(self) -> bytes:
        """Return the experiment and its settings, as JSON."""
        return encode(self._experiment.look(_show))

    def report(self) -> bytes:
        """Return the report of this moment, as JSON."""
        self.settle()
        return encode(make_report(self._experiment.look(_still)).to_dict())

    def view(self) -> bytes:
        """Return what the page shows, at most a little old, as JSON: many may look, it is written once."""
        with self._making:
            began = self._clock()
            if not self._view or began >= self._until:
                self._view = encode(self._make())
                now = self._clock()
                self._until = now + max(_FRESH, (now - began) / _SHARE)
            return self._view

    def _make(self) -> dict[str, Any]:
        fold, (rows_left, cols_left, stage) = self._experiment.look(lambda fold: (_still(fold), survivors(fold)))
        self._timeline.catch_up()
        report = make_report(fold)
        outcomes = int(fold.pulls.sum())
        return {
            "report": report.to_dict(),
            "heat": _heat(fold, report) if len(fold.factors) == 2 else None,
            **_of_factors(fold),
            "timeline": self._timeline.to_dict(),
            "stage": stage,
            "rows_left": rows_left,
            "cols_left": cols_left,
            "click_rate": int(fold.clicks.sum()) / outcomes if outcomes else None,
            "uniform_rate": None if report.even_clicks is None else report.even_clicks / outcomes,
            "simulated": self._timeline.simulated,
            "window": fold.settings.window / 1e6 or None,
        }


def _of_factors(fold: Fold) -> dict[str, Any]:
    """Return the busiest combinations of other than two factors."""
    factors = [
        {"name": name, "levels": levels.names, "living": sum(levels.live)} for name, levels in fold.factors.items()
    ]
    if len(factors) == 2:
        return {"factors": factors, "combinations": None}
    cells = np.argwhere(fold.asked)
    asked = fold.asked[tuple(cells.T)]
    busiest = cells[np.argsort(-asked, kind="stable")[:MAX_COMBINATIONS]]
    counts = [each[tuple(busiest.T)] for each in (fold.asked, fold.pulls, fold.clicks)]
    total = math.prod(sum(levels.live) for levels in fold.factors.values())
    rows = np.column_stack([busiest, *counts]).tolist()
    live = [np.array(levels.live)[own] for levels, own in zip(fold.factors.values(), cells.T, strict=True)]
    retired = len(cells) - int(np.all(live, axis=0).sum())
    return {
        "factors": factors,
        "combinations": {"rows": rows, "total": total, "n_shown": len(cells), "n_retired": retired},
    }


def _show(fold: Fold) -> dict[str, Any]:
    settings, counts, shown = fold.settings, outcome_counts(fold), list((fold.shown or {}).values())
    living = [levels.names_living() for levels in fold.factors.values()]
    named = {"factors": dict(zip(fold.factors, living, strict=True)), "shown_levels": fold.shown}
    return {
        "name": settings.name,
        "policy": fold.policy.label,
        "policy_known": not isinstance(fold.policy, UnknownPolicy),
        "rows": living[0] if len(living) == 2 else [],
        "cols": living[1] if len(living) == 2 else [],
        "window": settings.window / 1e6 or None,
        "auto_stop": settings.auto_stop or None,
        "max_open": settings.max_open,
        "max_age": None if settings.window else settings.max_age / 1e6,
        "goal": settings.goal,
        "explore": settings.explore,
        "exploring": exploring(fold),
        "margin": settings.margin or None,
        "on_change": settings.on_change,
        "on_misfit": settings.on_misfit,
        "control": None if settings.control is None else list(settings.control),
        "share": settings.share or None,
        "decisions": fold.decisions,
        "clicks": counts["clicked"],
        "open": counts["open"],
        "stopped": None if fold.stopped is None else fold.stopped["why"],
        "shown_row": shown[0] if len(shown) == 2 else None,
        "shown_col": shown[1] if len(shown) == 2 else None,
        "eras": list(fold.eras),
    } | ({} if fold.factors.are_pair else named)


def _still(fold: Fold) -> Fold:
    """Return a copy of what a report needs, so that it can be made while the experiment goes on."""
    still = copy.copy(fold)
    still.asked, still.pulls, still.clicks = fold.asked.copy(), fold.pulls.copy(), fold.clicks.copy()
    still.tallies, still.weighing = fold.tallies.copy(), fold.weighing.still()
    still.open, still.held, still.eras = fold.open.copy(), fold.held.copy(), list(fold.eras)
    still.alarms, still.earlier = list(fold.alarms), fold.earlier.copy()
    still.state = None
    return still


def _heat(fold: Fold, report: Report) -> dict[str, Any]:
    """Return the counts of the busiest levels, the leading ones always among them, in their own order."""
    (row_factor, row_levels), (col_factor, col_levels) = fold.factors.items()
    rows = _busiest(row_levels, fold.asked.sum(axis=1), report.best[row_factor])
    cols = _busiest(col_levels, fold.asked.sum(axis=0), report.best[col_factor])
    part = np.ix_(rows, cols)
    return {
        "rows": [row_levels.names[row] for row in rows],
        "cols": [col_levels.names[col] for col in cols],
        "n_rows": len(fold.live[0]),
        "n_cols": len(fold.live[1]),
        "decisions": fold.asked[part].tolist(),
        "outcomes": fold.pulls[part].tolist(),
        "clicks": fold.clicks[part].tolist(),
    }


def _busiest(levels: Levels, traffic: Ints, leader: str) -> list[int]:
    living = levels.numbers()
    by_traffic = sorted(living, key=lambda level: (levels.names[level] != leader, -traffic[level], level))
    return sorted(by_traffic[:MAX_SHOWN])
