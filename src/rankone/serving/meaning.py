"""What the events of a journal mean to the policy that is moved over them, and how its choices are written there."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankone.kernels.advance import ASK, LEARN, NOTHING, RECALL, VOID
from rankone.kernels.steering import EXPLORED
from rankone.serving.journal import DECISION, ROW, TAG, Events, Ints, Kind
from rankone.serving.packing import pack_shown

MEANING = np.full(max(Kind) + 1, NOTHING)  # of each kind of event
MEANING[[Kind.ASK, Kind.TELL, Kind.LEARN, Kind.EXPIRE, Kind.VOID]] = ASK, LEARN, LEARN, LEARN, VOID


def sort_outcomes(numbers: Ints, what: Ints, shown: Ints, tags: Ints, era_first: int) -> None:
    """Change what outcomes mean, in place, where the policy did not choose what was shown, or chose it in another era.

    Args:
        numbers: the events.
        what: what each means so far.
        shown: the levels shown, as the policy counts them; -1: one that is retired.
        tags: the tag of each decision; of outcomes that are recalled, how many they are.
        era_first: the first decision of the era.
    """
    outcomes = what != ASK
    what[outcomes & (tags < 0)] = NOTHING  # of fillers
    explored = outcomes & (tags == EXPLORED)  # not the policy's choice; it learns from their outcomes all the same
    if np.count_nonzero(explored):
        what[explored & (what == VOID)] = NOTHING
        what[explored & (what == LEARN)], tags[explored] = RECALL, 1
    if era_first:
        earlier = outcomes & (numbers[:, DECISION] < era_first)  # their tags mean nothing to this state
        known = earlier & ((what == LEARN) | (what == RECALL)) & (shown >= 0).all(axis=1)
        what[earlier] = NOTHING
        what[known], tags[known] = RECALL, 1


def note_shown(events: Events, places: Ints, levels: Ints, tags: Any) -> None:
    """Write down what decisions show: the first two levels as numbers, and all of them where they are more."""
    events.numbers[places, TAG] = tags
    for column in range(2):
        events.numbers[places, ROW + column] = levels[..., column] if column < levels.shape[-1] else 0
    if levels.shape[-1] > 2:
        each = np.broadcast_to(levels, (len(places), levels.shape[-1])).tolist()
        for place, shown in zip(places.tolist(), each, strict=True):
            events.texts[place] = events.texts[place]._replace(shown=pack_shown(shown))
