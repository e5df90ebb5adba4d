"""What is written down where an era begins: why, with which levels, who is out of the race, and what is shown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from rankone.kernels.policy import check_relearns, defeats
from rankone.live.fold.unknown_policy import UnknownPolicy
from rankone.live.names import combination_text

if TYPE_CHECKING:
    from rankone.live.factors import Factors
    from rankone.live.fold.fold import Fold


def era_note(fold: Fold, why: str, factors: Factors | None = None, forget: bool = False, **more: Any) -> str:
    """Return the note of an event that begins a new era with these levels; None: those there are.

    A level that another eliminated stays out, unless that other one is retired: then it is back in the race.
    `forget` brings all back. A stop lasts, unless a level of it is retired: then there is nothing to show but what
    the policy chooses.
    """
    factors = factors or fold.factors
    if isinstance(fold.policy, UnknownPolicy):
        raise fold.policy.error()  # whom it has eliminated, it alone can tell
    if fold.state is not None:
        check_relearns(type(fold.state))
    living = [(factor, int(level)) for factor, live in enumerate(factors.living()) for level in live]
    places = {level: place for place, level in enumerate(living)}
    levels = [(factor, int(level)) for factor, live in enumerate(fold.live) for level in live]
    defeated_by = defeats(fold.state, len(levels)) if fold.state is not None and not forget else np.arange(len(levels))
    defeated = list(range(len(places)))
    for level, by in zip(levels, (levels[winner] for winner in defeated_by), strict=True):
        if level in places and by in places:
            defeated[places[level]] = places[by]
    note = {"why": why, **factors.note(), "policy": fold.policy.label, "defeats": defeated}
    return json.dumps(note | _stop_after(fold, factors) | more)


def _stop_after(fold: Fold, factors: Factors) -> dict[str, Any]:
    """Return what becomes of a stop when the levels are these."""
    shown, stopped = fold.shown, fold.stopped_on()
    if shown is None or stopped is None:
        return {}
    for (factor, levels), level in zip(factors.items(), stopped, strict=False):  # some factor may be new
        if not levels.live[level]:
            on, gone = combination_text(shown), combination_text({factor: levels.names[level]})
            return {"resumed": f"it was stopped on {on} until {gone} was retired"}
    return {"stopped": fold.stopped}
