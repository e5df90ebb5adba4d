"""A yardstick: UTS (`rankone.policies.pairs.uts`) that is told when the world changes and starts anew there.

No policy that has to notice changes can be expected to have less regret.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankone.errors import InputError
from rankone.kernels.policy import chances, decide, learn, relearn, view
from rankone.numerics.beta_maximum import fields_with_crowd
from rankone.numerics.rekeyable_table import NOBODY
from rankone.policies.combination_policy import check_kept
from rankone.policies.engines.combinations import number_of, write_levels
from rankone.policies.engines.unimodal import Ints, LeaderState, find_leader, forget_leaders, leading_posterior_view
from rankone.policies.pairs.uts import UTS, UTS_CENTRE, UTSState, choose_on_cross, fill_chances, take_in
from rankone.specs import Wholes

RESTART_STEP, RESTART_DONE = range(2)


class RestartingState(fields_with_crowd(*LeaderState._fields, "watch", "when", "era")):  # type: ignore[misc]
    """A state of UTS; the decisions, from 0, before which it starts anew; era, (2,): decisions made, restarts made."""


@dataclass(frozen=True)
class RestartingUTS(UTS):
    """A yardstick that knows when the world changes: it starts UTS anew at just these decisions.

    Args:
        changes: the decisions, counted from 0; a study fills in those of its problem.

    >>> RestartingUTS(changes=(5000, 20000)).label
    'restarting-uts:changes=5000x20000'
    """

    changes: Wholes | None = None
    name: ClassVar[str] = "restarting-uts"
    suits: ClassVar[str] = "a yardstick: it is told when the world changes"

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.changes or ()
        if list(given) != sorted(set(given)) or any(int(each) != each or each < 1 for each in given):
            raise InputError("changes as decisions from 1 on, in order", self.changes, "try changes=(5000, 20000)")

    def begin(self, sizes: Ints, forbidden: Ints) -> RestartingState:
        """Return the state before the first decision."""
        check_kept(sizes, self.name)
        own: UTSState = super().begin(sizes, forbidden)
        when = np.array(self.changes or (), np.int64)
        return RestartingState(**own._asdict(), when=when, era=np.zeros(2, np.int64))


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


@learn.register(RestartingState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    take_in(state, number_of(state.sizes, shown), outcome[0])


@relearn.register(RestartingState)
def _relearn(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    pair = number_of(state.sizes, shown)
    for place in range(pulls):
        take_in(state, pair, 1 if place < clicks else 0)


@chances.register(RestartingState)
def _chances(state: Any, shown: Any, found: Any) -> bool:
    return fill_chances(state, shown, found)


view.register(RestartingState)(leading_posterior_view)
