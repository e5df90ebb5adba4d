"""Thompson sampling on the K * L pairs: Thompson (1933); Agrawal, Goyal, "Analysis of Thompson Sampling for the
Multi-armed Bandit Problem" (2012), Algorithm 1 for Bernoulli rewards.

Every pair draws from its posterior Beta(clicks + 1, pulls - clicks + 1); the largest draw is chosen.

Where that is cheaper the draws are not made one by one (`largest_draw`): `rankone.numerics.beta_maximum` draws the
winner with the same law. The pair pulled most is the one held out of the crowd.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.kernels.policy import chances, decide, learn, relearn, view
from rankone.numerics.beta import draw_beta
from rankone.numerics.beta_maximum import (
    CROWD_RENEW_AT,
    challenge,
    charge,
    fields_with_crowd,
    pays,
    regroup,
    replace,
    start_crowd,
)
from rankone.numerics.rekeyable_table import NOBODY
from rankone.policies.beliefs import posterior_view
from rankone.policies.combination_policy import CombinationPolicy, Ints, check_kept
from rankone.policies.engines.combinations import clear_chances, is_forbidden, number_of, write_levels
from rankone.policies.engines.draw_chances import add_all_draws

# Fields of `ThompsonState.clock`.
THOMPSON_HELD_OUT, THOMPSON_STALE = range(2)


class ThompsonState(fields_with_crowd("pulls", "clicks", "clock", "sizes", "forbidden")):  # type: ignore[misc]
    """Pulls and clicks of each combination; clock, (2,): combination held out, is the crowd stale; the crowd."""


@dataclass(frozen=True)
class Thompson(CombinationPolicy):
    """Thompson sampling, every pair for itself.

    >>> Thompson().label
    'thompson'
    """

    name: ClassVar[str] = "thompson"
    suits: ClassVar[str] = "pairs that need not be rank-1; any horizon, late outcomes"

    def begin(self, sizes: Ints, forbidden: Ints) -> ThompsonState:
        """Return the state before the first decision."""
        check_kept(sizes, self.name)
        pulls, clicks = np.zeros((2, math.prod(sizes.tolist())), np.int64)
        members = 1 if len(forbidden) else len(pulls)  # where something is forbidden there is no crowd: all draw
        clock = np.array([len(pulls) - 1, int(len(forbidden) > 0)])
        return ThompsonState(pulls, clicks, clock, sizes, forbidden, *start_crowd(members, absent=1))


@noalloc
def largest_draw(state: Any, rng: Any) -> int:
    """Let every pair draw, one by one; return the pair with the largest draw."""
    winner, largest = 0, -1.0
    for pair in range(len(state.pulls)):
        if len(state.forbidden) > 0 and is_forbidden(state.sizes, state.forbidden, pair):
            continue
        draw = draw_beta(state.pulls[pair], state.clicks[pair], rng)
        if draw > largest:
            winner, largest = pair, draw
    return winner


@noalloc
def gather_crowd(state: Any) -> None:
    """Tell the crowd the counts of all pairs but the one held out."""
    state.clock[THOMPSON_STALE] = 0
    for pair in range(len(state.pulls)):
        if pair != state.clock[THOMPSON_HELD_OUT]:
            regroup(state, pair, state.pulls[pair], state.clicks[pair])


@inlined
def draw_winner(state: Any, rng: Any) -> int:
    """Return the pair with the largest draw of all, by the cheaper of the two ways."""
    clock = state.clock
    if len(state.forbidden) == 0 and pays(state, len(state.pulls)):
        if clock[THOMPSON_STALE]:
            gather_crowd(state)
        pair = challenge(state, state.pulls[clock[THOMPSON_HELD_OUT]], state.clicks[clock[THOMPSON_HELD_OUT]], rng)
        if pair == NOBODY:
            pair = clock[THOMPSON_HELD_OUT]
    else:
        clock[THOMPSON_STALE] = 1
        pair = largest_draw(state, rng)
    return pair


@decide.register(ThompsonState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    write_levels(state.sizes, draw_winner(state, rng), shown)
    return 0


@inlined
def take_in(state: Any, pair: int, reward: int) -> None:
    """Count an outcome."""
    state.pulls[pair] += 1
    state.clicks[pair] += reward
    tell_crowd(state, pair)


@inlined
def tell_crowd(state: Any, pair: int) -> None:
    """Let the crowd hear of the new counts of a pair if it is there, or note what that would have cost."""
    pulls, clicks, clock = state.pulls, state.clicks, state.clock
    held_out = clock[THOMPSON_HELD_OUT]
    if pair == held_out or len(state.forbidden) > 0:
        return
    if pulls[pair] > pulls[held_out]:
        replace(state, pair, held_out)
        clock[THOMPSON_HELD_OUT], state.tally[CROWD_RENEW_AT] = pair, 0
        pair = held_out
    if clock[THOMPSON_STALE]:
        charge(state)
    else:
        regroup(state, pair, pulls[pair], clicks[pair])


@learn.register(ThompsonState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    take_in(state, number_of(state.sizes, shown), outcome[0])


@relearn.register(ThompsonState)
def _relearn(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    pair = number_of(state.sizes, shown)
    for place in range(pulls):
        take_in(state, pair, 1 if place < clicks else 0)


@chances.register(ThompsonState)
def _chances(state: Any, shown: Any, found: Any) -> bool:
    clear_chances(found)
    # With all of the weight; a best rate of 0 rules nothing out.
    add_all_draws(state.pulls, state.clicks, state.sizes, state.forbidden, 1.0, 0.0, 1, shown, found)
    return True


view.register(ThompsonState)(posterior_view)
