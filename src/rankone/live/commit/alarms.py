"""Alarms: clicks of levels changed, or levels interact. What an experiment then writes into its journal.

What raises one is in `rankone.evidence.change_monitor`, and it is folded from the journal like everything else. An
alarm begins an era: its event says what happened, when, what the experiment does about it (`did`) and what led until
then. So a journal that is read again does what was done, even by a program that would raise it at another time. What
was proven before a change stays proven of the time before.
"""

from typing import Any

import numpy as np

from rankone.evidence.change_monitor import CHANGE, MISFIT
from rankone.live.commit.operator_events import era_note
from rankone.live.commit.warm_up import check_compiled
from rankone.live.fold.fold import Fold
from rankone.live.settings import RESTART, TEST_ALL, WARN
from rankone.live.verdict.verdict import verdict_of
from rankone.policies import Policy, as_policy
from rankone.wording.combinations import combination_text

INSURED = "insured-uts"  # the policy that takes over where levels interact
_FEWEST = 3  # clicks from which on a combination is said to do better than what leads


def alarm_note(fold: Fold) -> str | None:
    """Return the note of the era that an alarm begins; None: there is none.

    Raises:
        NotCompiled: another policy takes over, and has to be compiled first.
    """
    raised = fold.evidence.watch.alarm.tolist()
    if not raised[0]:
        restarts = sum(alarm["did"] == RESTART for alarm in fold.alarms)
        changed = any(alarm["what"] == "change" and alarm["did"] == WARN for alarm in fold.since_restart())
        # What was said is not said again; and proofs that two levels beat each other contradict only in a product.
        levels = None if changed or fold.misfit_known else fold.evidence.reversed_levels(restarts)
        if levels is None:
            return None
        raised = [CHANGE, *levels, -1, 0, 0, 0, 0]
    insuring = _insuring(fold)
    alarm = _alarm_facts(fold, raised, can_insure=insuring is not None)
    more: dict[str, Any] = {"alarm": alarm}
    if alarm["did"] == TEST_ALL and insuring is not None:
        check_compiled(insuring, len(fold.factors))  # the writer's turn has no time for that
        more["policy"] = insuring.label
    steering = fold.evidence.steering_note(fold.asked, fold.clicks + fold.late) if alarm["did"] == WARN else None
    if steering is not None:
        more["steer"] = steering
    return era_note(fold, _why(alarm), forget=alarm["did"] != WARN, **more)


def _alarm_facts(fold: Fold, raised: list[int], can_insure: bool) -> dict[str, Any]:
    kind, level, other, beside, tosses_before, heads_before, tosses_after, heads_after = raised
    misfit = kind == MISFIT
    wanted = fold.settings.watch.interaction if misfit else fold.settings.watch.change
    named = [(factor, name) for factor, levels in fold.factors.items() for name in levels.names]
    state = verdict_of(fold)
    return {
        "what": "misfit" if misfit else "change",
        "did": WARN if wanted == TEST_ALL and not can_insure else wanted,
        "at": fold.at,
        "decisions": fold.decisions,
        "outcomes": fold.learned,
        "factor": named[level][0],
        "first": named[level][1],
        "second": named[other][1],
        "beside": dict([named[beside]]) if beside >= 0 else None,
        "before": _ratio(heads_before, tosses_before),
        "after": _ratio(heads_after, tosses_after),
        "led": fold.factors.named(fold.numbers_of(state.leaders)),
        "won": min(state.doubt, state.enough) <= fold.evidence.error,
        "rival": _rival(fold, state.leaders) if misfit else None,
    }


def _why(alarm: dict[str, Any]) -> str:
    levels = f"{alarm['factor']} '{alarm['first']}' against '{alarm['second']}'"
    if alarm["what"] == "misfit":
        return f"alarm: beside {combination_text(alarm['beside'])}, {levels} is clicked at a different rate"
    return f"alarm: clicks of {levels} changed"


def _ratio(heads: int, tosses: int) -> float | None:
    """Return how often one level is clicked for each click of another, a little towards 1; None: nobody counted."""
    return (heads + 0.5) / (tosses - heads + 0.5) if tosses else None


def _rival(fold: Fold, leaders: tuple[int, ...]) -> dict[str, Any] | None:
    """Return the combination off the cross of what leads that has the highest click rate, if that is higher."""
    pulls, clicks = map(fold.of_living, fold.measured())
    differs = np.sum([level != best for level, best in zip(np.indices(pulls.shape), leaders, strict=True)], axis=0)
    rates = np.where((differs > 1) & (clicks >= _FEWEST), clicks / np.maximum(pulls, 1), -1.0)
    best = np.unravel_index(int(np.argmax(rates)), rates.shape)
    if pulls[leaders] == 0 or rates[best] * pulls[leaders] <= clicks[leaders]:
        return None
    levels = fold.factors.named(fold.numbers_of([int(level) for level in best]))
    return {"levels": levels, "rate": float(rates[best]), "led": float(clicks[leaders] / pulls[leaders])}


def _insuring(fold: Fold) -> Policy | None:
    """Return the policy that insures, on these levels; None: it runs already, or cannot play them."""
    policy = as_policy(INSURED)
    policy = policy.live() if fold.settings.explore else policy
    sizes = tuple(len(live) for live in fold.live)
    if policy.label == fold.policy.label or (len(fold.rules) and not policy.supports_forbidden):
        return None
    try:
        policy.check_kind("pair" if len(sizes) == 2 else "combination", sizes, "a live experiment")
        policy.start(*sizes)
    except ValueError:
        return None
    return policy
