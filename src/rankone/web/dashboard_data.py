"""What the page shows of an experiment. Readers must not slow down writers: the newest state is copied in the writer's
turn, everything else happens outside it.
"""

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankone.live import Experiment
from rankone.live.factors import Levels, margin
from rankone.live.fold.fold import Fold
from rankone.live.fold.unknown_policy import UnknownPolicy
from rankone.live.report.make_report import exploring, make_report, outcome_counts, survivors
from rankone.live.report.report import Report
from rankone.web.encoding import encode
from rankone.web.timeline import Timeline

MAX_SHOWN = 24  # levels of each factor in a heat map
MAX_COMBINATIONS = 500  # in the table of combinations

Ints = npt.NDArray[np.int64]


def report_of(experiment: Experiment) -> Report:
    """Return the report of this moment; for any thread."""
    experiment.settle()
    return make_report(experiment.look(_still))


def view_of(experiment: Experiment, timeline: Timeline) -> dict[str, Any]:
    """Return what the page shows; for any thread, one at a time."""
    fold, (left, stage) = experiment.look(lambda fold: (_still(fold), survivors(fold)))
    timeline.catch_up()
    report = make_report(fold)
    outcomes = int(fold.pulls.sum()) if report.ranking is None else fold.learned
    clicks = fold.n_clicked if report.ranking else int(fold.clicks.sum())
    return {
        "report": report.to_dict(),
        "heat": _heat(fold, report) if len(fold.counted_by) == 2 else None,
        "combinations": _combinations(fold) if len(fold.counted_by) != 2 else None,
        "timeline": timeline.to_dict(),
        "stage": stage,
        "left": left,
        "click_rate": clicks / outcomes if outcomes else None,
        "uniform_rate": None if report.even_clicks is None else report.even_clicks / outcomes,
        "simulated": timeline.simulated,
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
