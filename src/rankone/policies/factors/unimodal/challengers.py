"""Random challengers, a policy of our own and experimental: what it gains on UTS and what it misses is measured in
`docs/our-policy.md`. No theory covers it.

It is UTS (`rankone.policies.factors.unimodal.uts`) in which only a few pairs of the leader's cross draw at a time::

    leader <- pair with the best empirical mean, ties afresh at random
    every second time that a pair leads: choose it
    otherwise
        the leader draws from its posterior Beta(clicks + 1, pulls - clicks + 1)
        for rows and for columns
            challengers <- `window` levels other than the leader's, in a row from a random start
                         + the levels on the side's shortlist, unless they are hopeless: those leave it
            each challenger's pair on the leader's cross draws from its posterior
        choose the pair with the largest draw; if it is a challenger's, its level joins the side's shortlist
            (in a free place, or in that of a random other)

A level is hopeless when the posterior mean of its pair plus `patience` standard deviations is below the leader's mean.
So levels that may be best draw every time, as in UTS, and the others take turns: the more levels there are, the less
often a level that looks bad is tried again. That is where regret is saved, and what makes the rare bad run worse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import with_fields
from rankone.errors import InputError
from rankone.kernels.policy import decide, view
from rankone.numerics.betas.beta import draw_beta
from rankone.numerics.structures.rekeyable_table import NOBODY
from rankone.policies.base import Policy, check_sizes
from rankone.policies.combination_policy import check_kept
from rankone.policies.engines.combinations import write_levels
from rankone.policies.engines.unimodal import (
    LeaderState,
    find_leader,
    leading_posterior_view,
    mean_of,
    start_leaders,
)
from rankone.specs import is_number, whole_number

ROWS = 0  # a side; columns are 1
# Fields of `ChallengersState.constants`.
CHALLENGERS_WINDOW, CHALLENGERS_PATIENCE = range(2)


class ChallengersState(with_fields(LeaderState, "shortlist")):  # type: ignore[misc]
    """The leader; constants, (2,): window, patience; shortlist, (2, memory): rows, then columns, that draw every time,
    `NOBODY` in a free place."""


@dataclass(frozen=True)
class Challengers(Policy):
    """UTS with a few random challengers at a time (experimental): less regret on large problems, rare bad runs worse.

    Args:
        window: random levels a side that draw at a time.
        memory: places on the shortlist of each side.
        patience: standard deviations below the leader at which a level leaves the shortlist.

    >>> Challengers().label, Challengers(window=8).label
    ('challengers', 'challengers:window=8')
    """

    window: int = 4
    memory: int = 16
    patience: float = 3.0
    name: ClassVar[str] = "challengers"
    use_when: ClassVar[str] = "experimental: many rows or columns, where a rare bad run is no harm; horizon unknown"

    def __post_init__(self) -> None:
        whole_number("window", self.window)
        whole_number("memory", self.memory)
        if not is_number(self.patience) or not self.patience >= 0.0:  # written so that NaN is wrong too
            raise InputError("patience of at least 0", self.patience, "leave patience=3")

    def start(self, n_rows: int, n_cols: int) -> ChallengersState:
        """Return the state before the first decision."""
        check_sizes(n_rows, n_cols)
        sizes, nothing = np.array([n_rows, n_cols]), np.empty((0, 2), np.int64)
        check_kept(sizes, self.name)
        leaders = start_leaders(LeaderState, sizes, nothing, self.window, self.patience)
        return ChallengersState(**leaders._asdict(), shortlist=np.full((2, self.memory), NOBODY))


@noalloc
def hopeless(state: Any, combination: int, leader: int) -> bool:
    """Tell whether a pair is too far below the leader to draw every time."""
    pulls = state.pulls[combination]
    mean = (state.clicks[combination] + 1.0) / (pulls + 2.0)
    deviation = math.sqrt(mean * (1.0 - mean) / (pulls + 3.0))
    return mean + state.constants[CHALLENGERS_PATIENCE] * deviation < mean_of(state, leader)


@noalloc
def remember(shortlist: Any, level: int, rng: Any) -> None:
    """Put a level on a side's shortlist, if need be in the place of a random other."""
    free = NOBODY
    for place in range(len(shortlist)):
        if shortlist[place] == level:
            return
        if shortlist[place] == NOBODY:
            free = place
    shortlist[free if free != NOBODY else int(rng.random() * len(shortlist))] = level


@noalloc
def best_challenger(state: Any, leader: int, rng: Any) -> int:
    """Let the leader and the challengers draw; return the pair with the largest draw."""
    n_cols = state.sizes[1]
    winner, winning_side, largest = leader, NOBODY, draw_beta(state.pulls[leader], state.clicks[leader], rng)
    for side in range(2):
        shortlist = state.shortlist[side]
        own = leader // n_cols if side == ROWS else leader % n_cols
        others = (len(state.pulls) // n_cols if side == ROWS else n_cols) - 1
        window = min(int(state.constants[CHALLENGERS_WINDOW]), others)
        start = int(rng.random() * others)
        for place in range(window + (len(shortlist) if window < others else 0)):
            if place < window:
                level = (start + place) % others
                level += level >= own
            else:
                level = shortlist[place - window]
                if level in (NOBODY, own) or (level - (level > own) - start) % others < window:
                    continue
            combination = level * n_cols + leader % n_cols if side == ROWS else leader - own + level
            if place >= window and hopeless(state, combination, leader):
                shortlist[place - window] = NOBODY
                continue
            draw = draw_beta(state.pulls[combination], state.clicks[combination], rng)
            if draw > largest:
                winner, winning_side, largest = combination, side, draw
    if winning_side != NOBODY:
        remember(state.shortlist[winning_side], winner // n_cols if winning_side == ROWS else winner % n_cols, rng)
    return winner


@decide.register(ChallengersState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    leader = find_leader(state, rng)
    combination = leader if state.led[leader] % 2 == 0 else best_challenger(state, leader, rng)
    write_levels(state.sizes, combination, shown)
    return 0


view.register(ChallengersState)(leading_posterior_view)
