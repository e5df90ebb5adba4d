"""Alarms: the world has changed, or levels are no product. What an experiment then writes into its journal.

What rings is in `rankone.evidence.change_monitor`, and it is folded from the journal like everything else. An alarm
begins an
era: its event says what rang, when, what the experiment does about it (`did`) and what led until then. So a journal
that is read again does what was done, even by a program that would ring otherwise.

A verdict belongs to its era: what was proven before a change stays proven of the time before, and is told as such.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from rankone.evidence.change_monitor import (
    ALARM_KIND,
    BESIDE,
    CHANGE,
    HEADS_1,
    HEADS_2,
    LEVEL_1,
    LEVEL_2,
    MISFIT,
    TOSSES_1,
    TOSSES_2,
)
from rankone.live.commit.era_notes import era_note
from rankone.live.commit.warm_up import check_compiled
from rankone.live.fold.fold import Fold
from rankone.live.names import combination_text
from rankone.live.settings import RESTART, TEST_ALL, WARN
from rankone.live.verdict.verdict import verdict_of
from rankone.policies import Policy, as_policy

INSURED = "insured-uts"  # the policy that takes over where levels are no product
_FEWEST = 3  # clicks from which on a combination is said to do better than what leads


def alarm_note(fold: Fold) -> str | None:
    """Return the note of the era that an alarm begins; None: nothing rang.

    Raises:
        NotCompiled: another policy takes over, and has to be compiled first.
    """
    rang = fold.weighing.watch.alarm.tolist()
    if rang[ALARM_KIND] == 0:
        told = [alarm["did"] == RESTART for alarm in fold.alarms]
        changed = any(alarm["what"] == "change" and alarm["did"] == WARN for alarm in fold.since_restart())
        # What is told is not told again; and proofs that two levels beat each other contradict only in a product.
        found = None if changed or fold.misfit_known else fold.weighing.turned_over(sum(told))
        if found is None:
            return None
        rang = [CHANGE, *found, -1, 0, 0, 0, 0]
    alarm = _told(fold, rang)
    more: dict[str, Any] = {"alarm": alarm}
    insuring = _insuring(fold) if alarm["did"] == TEST_ALL else None
    if insuring is not None:
        check_compiled(insuring, len(fold.factors))  # the writer's turn has no time for that
        more["policy"] = insuring.label
    steering = fold.weighing.steer(fold.asked, fold.clicks + fold.late) if alarm["did"] == WARN else None
    if steering is not None:
        more["steer"] = steering
    return era_note(fold, _why(alarm), forget=alarm["did"] != WARN, **more)


def _told(fold: Fold, rang: list[int]) -> dict[str, Any]:
    """Return what there is to say of an alarm, in plain values."""
    misfit = rang[ALARM_KIND] == MISFIT
    asked = fold.settings.watch.interaction if misfit else fold.settings.watch.change
    did = WARN if asked == TEST_ALL and _insuring(fold) is None else asked
    factor, first = _level(fold, rang[LEVEL_1])
    beside = _level(fold, rang[BESIDE]) if rang[BESIDE] >= 0 else None
    state = verdict_of(fold)
    return {
        "what": "misfit" if misfit else "change",
        "did": did,
        "at": fold.at,
        "decisions": fold.decisions,
        "outcomes": fold.learned,
        "factor": factor,
        "first": first,
        "second": _level(fold, rang[LEVEL_2])[1],
        "beside": None if beside is None else {beside[0]: beside[1]},
        "before": _ratio(rang[HEADS_1], rang[TOSSES_1]),
        "after": _ratio(rang[HEADS_2], rang[TOSSES_2]),
        "led": fold.factors.named([int(live[place]) for live, place in zip(fold.live, state.leaders, strict=True)]),
        "won": min(state.doubt, state.enough) <= fold.weighing.error,
        "rival": _rival(fold, state.leaders) if misfit else None,
    }


def _why(alarm: dict[str, Any]) -> str:
    """Return why an era began, as `Report.eras` lists it."""
    levels = f"{alarm['factor']} '{alarm['first']}' against '{alarm['second']}'"
    if alarm["what"] == "misfit":
        return f"alarm: beside {combination_text(alarm['beside'])}, {levels} is clicked otherwise"
    return f"alarm: clicks of {levels} changed"


def _level(fold: Fold, number: int) -> tuple[str, str]:
    """Return the factor and the name of a level, numbered factor after factor."""
    for factor, levels in fold.factors.items():
        if number < len(levels.names):
            return factor, levels.names[number]
        number -= len(levels.names)
    raise ValueError(number)


def _ratio(heads: int, tosses: int) -> float | None:
    """Return how often one level is clicked for each click of another, a little towards 1; None: nobody counted."""
    return (heads + 0.5) / (tosses - heads + 0.5) if tosses else None


def _rival(fold: Fold, leaders: tuple[int, ...]) -> dict[str, Any] | None:
    """Return the combination off the cross of what leads that has the highest click rate, if that is higher."""
    known = np.ix_(*fold.live)
    pulls, clicks = fold.pulls[known], fold.clicks[known]
    cells = np.indices(pulls.shape)
    differs = sum((place != best).astype(np.int64) for place, best in zip(cells, leaders, strict=True))
    rates = np.where((differs > 1) & (clicks >= _FEWEST), clicks / np.maximum(pulls, 1), -1.0)
    best = np.unravel_index(int(np.argmax(rates)), rates.shape)
    if pulls[leaders] == 0 or rates[best] * pulls[leaders] <= clicks[leaders]:
        return None
    levels = fold.factors.named([int(live[place]) for live, place in zip(fold.live, best, strict=True)])
    return {"levels": levels, "rate": float(rates[best]), "led": float(clicks[leaders] / pulls[leaders])}


def _insuring(fold: Fold) -> Policy | None:
    """Return the policy that insures, on these levels; None: it runs already, or cannot play them."""
    found = as_policy(INSURED)
    found = found.live() if fold.settings.explore else found
    sizes = tuple(len(live) for live in fold.live)
    forbids = len(fold.rules) and "forbidden" not in inspect.signature(found.start).parameters
    if found.label == fold.policy.label or forbids:
        return None
    try:
        found.check_kind("pair" if len(sizes) == 2 else "combination", sizes, "a live experiment")
        found.start(*sizes)
    except ValueError:
        return None
    return found
