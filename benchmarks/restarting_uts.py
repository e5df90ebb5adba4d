"""A yardstick: UTS (`rankone.policies.factors.unimodal.uts`) that is told when the world changes and starts anew there.

No policy that has to notice changes can be expected to have less regret.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankone.compiling.dispatch import extends
from rankone.errors import InputError
from rankone.kernels.policy import decide
from rankone.numerics.arrays import Ints
from rankone.numerics.structures.hash_tables import NOBODY
from rankone.policies.engines.combinations import write_levels
from rankone.policies.engines.unimodal import find_leader, forget_leaders
from rankone.policies.factors.unimodal.uts import UTS, UTS_CENTRE, UTSState, choose_on_cross
from rankone.specs import Wholes

RESTART_STEP, RESTART_DONE = range(2)


@extends(UTSState)
class RestartingState:
    """A state of UTS, and when it starts anew."""

    when: Ints  # the decisions, from 0, before which it does
    era: Ints  # (2,) decisions made, restarts made


@dataclass(frozen=True)
class RestartingUTS(UTS):
    """A yardstick that knows when the world changes: it starts UTS anew at just these decisions.

    Args:
        changes: the decisions, counted from 0; a study fills in those of its problem.
    """

    changes: Wholes | None = None
    name = "restarting-uts"
    use_when = "a yardstick: it is told when the world changes"
    keeps_each = True

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.changes or ()
        if list(given) != sorted(set(given)) or any(int(each) != each or each < 1 for each in given):
            raise InputError("changes as decisions from 1 on, in order", self.changes, "try changes=(5000, 20000)")

    def _begin(self, sizes: Ints, forbidden: Ints) -> Any:
        own: UTSState = super()._begin(sizes, forbidden)
        when = np.array(self.changes or (), np.int64)
        values = own._asdict() | {"when": when, "era": np.zeros(2, np.int64)}
        return RestartingState(**values)


@decide.register(RestartingState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    era = state.era
    if era[RESTART_DONE] < len(state.when) and state.when[era[RESTART_DONE]] <= era[RESTART_STEP]:
        era[RESTART_DONE] += 1
        forget_leaders(state)
        state.watch[UTS_CENTRE] = NOBODY
    era[RESTART_STEP] += 1
    write_levels(state.sizes, choose_on_cross(state, find_leader(state, rng), rng), shown)
    return 0
