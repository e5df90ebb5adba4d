"""Thompson sampling on the K * L pairs: Thompson (1933); Agrawal, Goyal, "Analysis of Thompson Sampling for the
Multi-armed Bandit Problem" (2012), Algorithm 1 for Bernoulli rewards.

Every pair draws from its posterior Beta(clicks + 1, pulls - clicks + 1); the largest draw is chosen.

Where that is cheaper the draws are not made one by one (`largest_draw`): `rankone.numerics.betas.beta_maximum` draws
the winner with the same law. The pair pulled most is the one held out of the crowd.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.kernels.policy import chances, decide, view
from rankone.numerics.arrays import Ints
from rankone.numerics.betas.beta import draw_beta
from rankone.numerics.betas.beta_maximum import (
    GROUPS_RENEW_AT,
    challenge,
    fields_with_beta_groups,
    is_cheaper,
    note_cost,
    regroup,
    replace,
    start_beta_groups,
)
from rankone.numerics.structures.hash_tables import NOBODY
from rankone.policies.combination_policy import CombinationPolicy, posterior_view
from rankone.policies.engines.combinations import (
    learns_combinations,
    may_show,
    record_outcome,
    write_levels,
)
from rankone.policies.engines.draw_chances import add_all_draws

# Fields of `ThompsonState.counters`.
THOMPSON_HELD_OUT, THOMPSON_STALE = range(2)


class ThompsonState(fields_with_beta_groups("pulls", "clicks", "counters", "sizes", "forbidden")):  # type: ignore[misc]
    """Pulls and clicks of each combination; counters, (2,): combination held out, is the crowd stale; the crowd."""


@dataclass(frozen=True)
class Thompson(CombinationPolicy):
    """Thompson sampling, every pair for itself."""

    name = "thompson"
    use_when = "pairs that need not be rank-1; any horizon, late outcomes"
    keeps_each = True

    def _begin(self, sizes: Ints, forbidden: Ints) -> ThompsonState:
        pulls, clicks = np.zeros((2, math.prod(sizes.tolist())), np.int64)
        members = 1 if len(forbidden) else len(pulls)  # where something is forbidden there is no crowd: all draw
        counters = np.array([len(pulls) - 1, int(len(forbidden) > 0)])
        return ThompsonState(pulls, clicks, counters, sizes, forbidden, *start_beta_groups(members, absent=1))


@noalloc
def largest_draw(state: Any, rng: Any) -> int:
    """Let every pair draw, one by one; return the pair with the largest draw."""
    winner, largest = 0, -1.0
    for combination in range(len(state.pulls)):
        if not may_show(state, combination):
            continue
        draw = draw_beta(state.pulls[combination], state.clicks[combination], rng)
        if draw > largest:
            winner, largest = combination, draw
    return winner


@noalloc
def fill_groups(state: Any) -> None:
    """Tell the crowd the counts of all pairs but the one held out."""
    state.counters[THOMPSON_STALE] = 0
    for combination in range(len(state.pulls)):
        if combination != state.counters[THOMPSON_HELD_OUT]:
            regroup(state, combination, state.pulls[combination], state.clicks[combination])


@inlined
def draw_winner(state: Any, rng: Any) -> int:
    """Return the pair with the largest draw of all, by the cheaper of the two ways."""
    counters = state.counters
    if len(state.forbidden) == 0 and is_cheaper(state, len(state.pulls)):
        if counters[THOMPSON_STALE]:
            fill_groups(state)
        combination = challenge(
            state, state.pulls[counters[THOMPSON_HELD_OUT]], state.clicks[counters[THOMPSON_HELD_OUT]], rng
        )
        if combination == NOBODY:
            combination = counters[THOMPSON_HELD_OUT]
    else:
        counters[THOMPSON_STALE] = 1
        combination = largest_draw(state, rng)
    return combination


@decide.register(ThompsonState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    write_levels(state.sizes, draw_winner(state, rng), shown)
    return 0


@inlined
def tell_groups(state: Any, combination: int) -> None:
    """Let the crowd hear of the new counts of a pair if it is there, or note what that would have cost."""
    pulls, clicks, counters = state.pulls, state.clicks, state.counters
    held_out = counters[THOMPSON_HELD_OUT]
    if combination == held_out or len(state.forbidden) > 0:
        return
    if pulls[combination] > pulls[held_out]:
        replace(state, combination, held_out)
        counters[THOMPSON_HELD_OUT], state.group_counters[GROUPS_RENEW_AT] = combination, 0
        combination = held_out
    if counters[THOMPSON_STALE]:
        note_cost(state)
    else:
        regroup(state, combination, pulls[combination], clicks[combination])


@record_outcome.register(ThompsonState)
def _record_outcome(state: Any, combination: int, clicked: int) -> None:
    state.pulls[combination] += 1
    state.clicks[combination] += clicked
    tell_groups(state, combination)


learns_combinations(ThompsonState)


@chances.register(ThompsonState)
def _chances(state: Any, shown: Any, cross: Any) -> bool:
    cross[:] = 0.0
    # With all of the weight; a best rate of 0 rules nothing out.
    add_all_draws(state.pulls, state.clicks, state.sizes, state.forbidden, 1.0, 0.0, 1, shown, cross)
    return True


view.register(ThompsonState)(posterior_view)
