"""What the events of a journal mean to the policy that is moved over them."""

import json
from collections.abc import Sequence

import numpy as np

from rankone.evidence.steering import EXPLORED
from rankone.live.evidence.experiment_evidence import ExperimentEvidence
from rankone.live.journal.events import DECISION, KIND, LEARNED, TAG, Events, Kind
from rankone.live.journal.packing import pack_cross, settle_rounding
from rankone.numerics.arrays import Floats
from rankone.policies.advance import ASK, LEARN, NOTHING, RECALL, VOID

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
