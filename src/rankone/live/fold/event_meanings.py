"""What the events of a journal mean to the policy that is moved over them, to goals, and to published weights."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from rankone.evidence.steering import EXPLORED
from rankone.live.evidence.experiment_evidence import ExperimentEvidence
from rankone.live.evidence.goal_outcomes import LATE, UNMATCHED, GoalOutcomes, Pending
from rankone.live.fold.fold_facts import FoldFacts
from rankone.live.journal.events import AT, BY_AGE, DECISION, KIND, LEARNED, TAG, Events, Kind
from rankone.live.journal.packing import pack_cross, settle_rounding
from rankone.numerics.arrays import Floats
from rankone.policies.advance import ASK, LEARN, NOTHING, RECALL, VOID

_GOAL, _VOID = int(Kind.GOAL), int(Kind.VOID)
_OF_KIND = {Kind.ASK: ASK, Kind.VOID: VOID} | dict.fromkeys(LEARNED, LEARN)
_MEANINGS = [_OF_KIND.get(kind, NOTHING) for kind in (None, *Kind)]  # by the number of the kind


def meaning(head: Sequence[int], shown: Sequence[int], era_first: int) -> tuple[int, int]:
    """Return what an event means, and its tag; of outcomes that are recalled, how many they are.

    The policy did not choose everything that was shown, or chose it in another era: its first decision is `era_first`.
    `shown` are levels as the policy counts them (-1: retired).
    """
    what, tag = _MEANINGS[head[KIND]], head[TAG]
    if what == ASK:
        return what, tag
    if tag < 0:  # of fillers
        return NOTHING, tag
    if tag == EXPLORED:  # not the policy's choice; it learns from their outcomes all the same
        what, tag = RECALL if what == LEARN else NOTHING, 1
    if head[DECISION] < era_first:  # their tags mean nothing to this state
        known = what in (LEARN, RECALL) and min(shown) >= 0
        return (RECALL, 1) if known else (NOTHING, tag)
    return what, tag


def note_chances(events: Events, index: int, evidence: ExperimentEvidence, cross: Floats, shown: int) -> None:
    """Write down the probabilities of a decision; where they are none, that: decisions never wait for them."""
    texts = events.texts[index]
    if cross[0] == -1.0:  # the policy cannot say
        return
    if settle_rounding(cross):
        packed = pack_cross(evidence.full_cross(cross), evidence.sizes)
        events.texts[index] = texts._replace(chance=float(cross[shown]), cross_chances=packed)
    else:
        fault = f"probabilities from {np.min(cross):.6g} to {np.max(cross):.6g}"
        events.texts[index] = texts._replace(note=json.dumps(texts.details() | {"fault": fault}))


def follow_goals(fold: FoldFacts, goals: GoalOutcomes, events: Events) -> None:
    """Take in the outcomes of goals among events, and end windows up to the last of them."""
    for head, texts in zip(events.heads, events.texts, strict=True):
        _, kind, at, decision, goal, units = head
        if kind == _VOID and units != BY_AGE:
            goals.pass_time(at)
            goals.void(decision)
        if kind != _GOAL:
            continue
        goals.pass_time(at)
        details = texts.details()
        if decision < 0 or details.get("late"):
            goals.uncounted[goal, UNMATCHED if decision < 0 else LATE] += 1
            continue
        if fold.exclusions.spare(head, texts) and decision >= fold.restarted_at:
            hidden = tuple(fold.exclusions.hidden(head, texts, goals.sizes))
            told = Pending(0, details["due"], texts.shown or b"", texts.cross_chances, hidden)
            goals.add(goal, decision, units, told)
    goals.pass_time(events.heads[-1][AT])


def follow_published(fold: FoldFacts, kind: Kind, details: dict[str, Any]) -> None:
    """Take over a version of the weights, or what was counted of some."""
    published = fold.published
    assert published is not None
    if kind is Kind.PUBLISH:
        published.publish(details, fold.at)
        return
    published.add(details, fold.pulls, fold.clicks)
    fold.asked, fold.decisions = fold.pulls.copy(), int(fold.pulls.sum())
    fold.learned = fold.evidence.weighed = fold.decisions
    fold.evidence.follow_sums(published)
