"""Unimodal Thompson sampling: Trinh, Kaufmann, Vernade, Combes, "Solving Bernoulli Rank-One Bandits with Unimodal
Thompson Sampling" (ALT 2020), Algorithm 1; first proposed by Paladino et al. (2017).

The leader is the pair with the best empirical mean. Every gamma-th time that a pair leads, it is chosen. At other times
the leader and each pair of its cross draw from their posterior Beta(clicks + 1, pulls - clicks + 1), and the largest
draw is chosen. The regret is asymptotically optimal for every gamma >= 2.

Lazy start: the paper pulls all K * L pairs first; here pairs without an outcome cannot lead and draw from Beta(1, 1) on
the leader's cross (less than half the regret on the paper's needle at K = L = 128). With ``coin=True``, the form in
which it runs live, the leader is chosen with probability 1 / gamma each time: no decision is certain beforehand.

Where that is cheaper the draws are not made one by one: `rankone.numerics.betas.beta_maximum` draws the winner with the
same law. Its crowd is the cross of the leader; when another pair leads, the crowd moves there.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.kernels.policy import chances, decide, grown, room, view
from rankone.numerics.arrays import Ints
from rankone.numerics.betas.beta import draw_beta, draw_beta_above
from rankone.numerics.betas.beta_maximum import (
    GROUPS_RENEW_AT,
    challenge,
    fields_with_beta_groups,
    is_cheaper,
    note_cost,
    regroup,
    start_beta_groups,
)
from rankone.numerics.structures.hash_tables import NOBODY, number_at
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.combinations import (
    learns_combinations,
    on_cross,
    position_on_cross,
    record_outcome,
    write_levels,
)
from rankone.policies.engines.draw_chances import counts_of, fill_cross_draws
from rankone.policies.engines.leader_chances import fill_evenly, leaders_among, nothing_known
from rankone.policies.engines.unimodal import (
    LEADER_CHAMPION,
    LEADER_CROSS,
    LEADER_LAST,
    LeaderState,
    clicks_of,
    count_outcome,
    find_leader,
    leading_posterior_view,
    led_of,
    pulls_of,
    reached,
    start_leaders,
)

# Fields of `UTSState.watch`.
UTS_CENTRE, UTS_GAMMA, UTS_COIN = range(3)


class UTSState(fields_with_beta_groups(*LeaderState._fields, "watch")):  # type: ignore[misc]
    """The leader; watch, (3,): combination on whose cross the crowd is, gamma, coin; the crowd, of places there."""


@dataclass(frozen=True)
class UTS(CombinationPolicy):
    """Thompson sampling on the cross of the leader: needs no horizon, copes with delay, close to the lower bound.

    Args:
        gamma: the leader is chosen every gamma-th time that it leads.
        coin: it is chosen with probability 1 / gamma instead, every time that it leads.

    >>> UTS().label, UTS(gamma=5).label, UTS().live().label
    ('uts', 'uts:gamma=5', 'uts:coin=true')
    """

    gamma: Annotated[int, "[2, inf)"] = 2
    coin: bool = False
    name = "uts"
    use_when = "most uses: little regret, horizon unknown, outcomes late or in batches"

    def _begin(self, sizes: Ints, forbidden: Ints) -> UTSState:
        leaders = start_leaders(LeaderState, sizes, forbidden)
        # Where something is forbidden, all draw.
        crowd = start_beta_groups(0 if len(forbidden) else int((sizes - 1).sum()))
        centre = NOBODY if len(forbidden) else 0
        return UTSState(*leaders, np.array([centre, self.gamma, self.coin]), *crowd)


@noalloc
def largest_draw(state: Any, leader: int, rng: Any) -> int:
    """Let the leader and its cross draw, one by one; return the combination with the largest draw."""
    winner, largest = leader, draw_beta(pulls_of(state, leader), clicks_of(state, leader), rng)
    for index in range(reached(state, leader)):
        combination = state.reach[index]
        draw = draw_beta_above(pulls_of(state, combination), clicks_of(state, combination), largest, rng)
        if draw > largest:
            winner, largest = combination, draw
    return winner


@noalloc
def move_groups(state: Any, leader: int) -> None:
    """Let the crowd be the cross of another leader."""
    state.watch[UTS_CENTRE], state.group_counters[GROUPS_RENEW_AT] = leader, 0
    for index in range(reached(state, leader)):
        combination = state.reach[index]
        regroup(state, index, pulls_of(state, combination), clicks_of(state, combination))


@noalloc
def is_forced(state: Any, leader: int, rng: Any) -> bool:
    """Tell whether the leader is chosen without draws."""
    if state.watch[UTS_COIN]:
        return rng.random() * state.watch[UTS_GAMMA] < 1.0
    return led_of(state, leader) % state.watch[UTS_GAMMA] == 0


@inlined
def choose_on_cross(state: Any, leader: int, rng: Any) -> int:
    """Return the leader, where it is forced, or else the winner of the draws on its cross."""
    combination = leader
    if not is_forced(state, leader, rng):
        if len(state.forbidden) == 0 and is_cheaper(state, state.counters[LEADER_CROSS]):
            if leader != state.watch[UTS_CENTRE]:
                move_groups(state, leader)
            index = challenge(state, pulls_of(state, leader), clicks_of(state, leader), rng)
            if index != NOBODY:
                combination = on_cross(state.sizes, leader, index)
        else:
            state.watch[UTS_CENTRE] = NOBODY
            combination = largest_draw(state, leader, rng)
    return combination


@decide.register(UTSState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    write_levels(state.sizes, choose_on_cross(state, find_leader(state, rng), rng), shown)
    return 0


@record_outcome.register(UTSState)
def record_of_uts(state: Any, combination: int, clicked: int) -> None:
    """Count an outcome; the crowd hears of it if it is there, or what it would have cost."""
    count_outcome(state, combination, clicked)
    centre = state.watch[UTS_CENTRE]
    if centre == NOBODY:
        if combination != number_at(state.keys, state.counters[LEADER_CHAMPION]):
            note_cost(state)
    elif combination != centre:
        index = position_on_cross(state.sizes, centre, combination)
        if index != NOBODY:
            regroup(state, index, pulls_of(state, combination), clicks_of(state, combination))


learns_combinations(UTSState)


@chances.register(UTSState)
def chances_of_uts(state: Any, shown: Any, cross: Any) -> bool:
    """Fill in the probabilities of a step of UTS."""
    if nothing_known(state):
        return fill_evenly(state, cross)
    first, end, best, _ = leaders_among(state)
    last, every = state.counters[LEADER_LAST], (state.watch[UTS_GAMMA], state.watch[UTS_COIN])
    fill_cross_draws(counts_of(state), (first, end, best), state.led, last, every, len(state.reach), shown, cross)
    return True


view.register(UTSState)(leading_posterior_view)
room.register(UTSState)(room.of(LeaderState))
grown.register(UTSState)(grown.of(LeaderState))
