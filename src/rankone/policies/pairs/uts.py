"""Unimodal Thompson sampling: Trinh, Kaufmann, Vernade, Combes, "Solving Bernoulli Rank-One Bandits with Unimodal
Thompson Sampling" (ALT 2020), Algorithm 1; first proposed by Paladino et al. (2017).

The leader is the pair with the best empirical mean. Every gamma-th time that a pair leads, it is chosen. At other times
the leader and each pair of its cross draw from their posterior Beta(clicks + 1, pulls - clicks + 1), and the largest
draw is chosen. The regret is asymptotically optimal for every gamma >= 2.

Lazy start: the paper pulls all K * L pairs first; here pairs without an outcome cannot lead and draw from Beta(1, 1) on
the leader's cross, which measures better (less than half the regret on the paper's needle at K = L = 128).

With ``coin=True`` the leader is not chosen every gamma-th time but with probability 1 / gamma each time: as often on
average, and no decision is certain beforehand, so that decisions can be compared with those that might have been. That
is the form in which it runs live.

Where that is cheaper the draws are not made one by one (`largest_draw`): `rankone.numerics.beta_maximum` draws the
winner with the same law. Its crowd is the cross of the leader; when another pair leads, the crowd moves there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.errors import InputError
from rankone.kernels.policy import chances, choose, update, view
from rankone.numerics.beta import draw_beta
from rankone.numerics.beta_maximum import (
    CROWD_RENEW_AT,
    challenge,
    charge,
    fields_with_crowd,
    pays,
    regroup,
    start_crowd,
)
from rankone.numerics.rekeyable_table import NOBODY
from rankone.policies.base import Policy, check_coin
from rankone.policies.engines.draw_chances import fill_cross_draws
from rankone.policies.engines.leader_chances import leaders_among
from rankone.policies.engines.unimodal import (
    LEADER_CHAMPION,
    LEADER_LAST,
    LEADER_N_COLS,
    LeaderState,
    as_decision,
    cross_size,
    find_leader,
    leading_posterior_view,
    learn,
    on_cross,
    place_on_cross,
    start_leaders,
)

# Fields of `UTSState.watch`.
UTS_CENTRE, UTS_GAMMA, UTS_COIN = range(3)


class UTSState(fields_with_crowd(*LeaderState._fields, "watch")):  # type: ignore[misc]
    """The leader; watch, (3,): pair on whose cross the crowd is, gamma, coin; the crowd, of places on that cross."""


@dataclass(frozen=True)
class UTS(Policy):
    """Thompson sampling on the cross of the leader: needs no horizon, copes with delay, close to the lower bound.

    Args:
        gamma: the leader is chosen every gamma-th time that it leads.
        coin: it is chosen with probability 1 / gamma instead, every time that it leads.

    >>> UTS().label, UTS(gamma=5).label, UTS().live().label
    ('uts', 'uts:gamma=5', 'uts:coin=true')
    """

    gamma: int = 2
    coin: bool = False
    name: ClassVar[str] = "uts"
    suits: ClassVar[str] = "most uses: little regret, horizon unknown, outcomes late or in batches"

    def __post_init__(self) -> None:
        if not isinstance(self.gamma, int) or isinstance(self.gamma, bool) or self.gamma < 2:
            raise InputError("gamma as a whole number of at least 2", self.gamma, "leave gamma=2, the paper's choice")
        check_coin(self.coin)

    def live(self) -> Self:
        """Return the form that tosses a coin."""
        return replace(self, coin=True)

    def start(self, n_rows: int, n_cols: int) -> UTSState:
        """Return the state before the first decision."""
        leaders = start_leaders(LeaderState, n_rows, n_cols)
        return UTSState(*leaders, np.array([0, self.gamma, self.coin]), *start_crowd(n_rows + n_cols - 2))


@noalloc
def largest_draw(state: Any, leader: int, rng: Any) -> int:
    """Let the leader and its cross draw, one by one; return the pair with the largest draw."""
    winner, largest = leader, draw_beta(state.pulls[leader], state.clicks[leader], rng)
    for place in range(cross_size(state)):
        pair = on_cross(state, leader, place)
        draw = draw_beta(state.pulls[pair], state.clicks[pair], rng)
        if draw > largest:
            winner, largest = pair, draw
    return winner


@noalloc
def move_crowd(state: Any, leader: int) -> None:
    """Let the crowd be the cross of another leader."""
    state.watch[UTS_CENTRE], state.tally[CROWD_RENEW_AT] = leader, 0
    for place in range(cross_size(state)):
        pair = on_cross(state, leader, place)
        regroup(state, place, state.pulls[pair], state.clicks[pair])


@noalloc
def is_forced(state: Any, leader: int, rng: Any) -> bool:
    """Tell whether the leader is chosen without draws."""
    if state.watch[UTS_COIN]:
        return rng.random() * state.watch[UTS_GAMMA] < 1.0
    return state.led[leader] % state.watch[UTS_GAMMA] == 0


@choose.register(UTSState)
def _choose(state: Any, rng: Any) -> tuple[int, int, int]:
    leader = pair = find_leader(state, rng)
    if not is_forced(state, leader, rng):
        if pays(state, cross_size(state)):
            if leader != state.watch[UTS_CENTRE]:
                move_crowd(state, leader)
            place = challenge(state, state.pulls[leader], state.clicks[leader], rng)
            if place != NOBODY:
                pair = on_cross(state, leader, place)
        else:
            state.watch[UTS_CENTRE] = NOBODY
            pair = largest_draw(state, leader, rng)
    return as_decision(state, pair)


@update.register(UTSState)
def _update(state: Any, row: int, col: int, tag: int, reward: int) -> None:
    pair = row * state.clock[LEADER_N_COLS] + col
    learn(state, pair, reward)
    centre = state.watch[UTS_CENTRE]
    if centre == NOBODY:
        if pair != state.clock[LEADER_CHAMPION]:
            charge(state)
    elif pair != centre:
        place = place_on_cross(state, centre, pair)
        if place != NOBODY:
            regroup(state, place, state.pulls[pair], state.clicks[pair])


@chances.register(UTSState)
def _chances(state: Any, shown: Any, found: Any) -> bool:
    first, end, best, _ = leaders_among(state)
    clock, watch = state.clock, state.watch
    fill_cross_draws(
        state.pulls, state.clicks, state.led, first, end, best, clock[LEADER_LAST], watch[UTS_GAMMA], watch[UTS_COIN],
        clock[LEADER_N_COLS], shown, found,
    )  # fmt: skip
    return True


view.register(UTSState)(leading_posterior_view)
