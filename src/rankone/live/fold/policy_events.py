"""What the events of a journal mean to the policy that is moved over them, and how its choices are written there."""

from typing import Any

import numpy as np

from rankone.evidence.steering import EXPLORED
from rankone.live.journal.events import DECISION, TAG, Events, Kind
from rankone.numerics.arrays import Ints
from rankone.policies.advance import ASK, LEARN, NOTHING, RECALL, VOID

POLICY_EVENTS = np.full(max(Kind) + 1, NOTHING)  # of each kind of event
POLICY_EVENTS[[Kind.ASK, Kind.TELL, Kind.LEARN, Kind.EXPIRE, Kind.VOID]] = ASK, LEARN, LEARN, LEARN, VOID


def sort_outcomes(numbers: Ints, what: Ints, shown: Ints, tags: Ints, era_first: int) -> None:
    """Change what outcomes mean, in place, where the policy did not choose what was shown, or chose it in another era.

    `shown` are levels as the policy counts them (-1: retired), `tags` those of the decisions; of outcomes that are
    recalled, how many they are. `era_first` is the first decision of the era.
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


def note_shown(events: Events, indices: Ints, levels: Ints, tags: Any) -> None:
    """Write down what decisions show."""
    events.numbers[indices, TAG] = tags
    events.show(indices, levels)
