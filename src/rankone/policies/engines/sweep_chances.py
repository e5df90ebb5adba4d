"""How probable a decision of an eliminating policy was.

Most of its decisions are certain: a sweep plays its levels one after another with the partners drawn at its beginning.
What is drawn is these partners, and ties where outcomes are waited for. Eliminations, and the partners that an opening
stage of rank1elim-kl-anytime lays down, count as made before the decision that they come with.
"""

from __future__ import annotations

from typing import Any

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import dispatched
from rankone.kernels.policy import chance
from rankone.policies.engines.elimination import LEADING, SURE, SWEEP_HOW, SWEEP_LAST, SweepState


@dispatched
def partner_share(state: Any, factor: int, level: int) -> float:
    """Probability that a level of a factor is drawn as a partner of a sweep."""
    raise NotImplementedError


@partner_share.register(SweepState)
def _partner_share(state: SweepState, factor: int, level: int) -> float:
    """Return the share of the draws that lead to this level, be it directly or because it defeated who was drawn."""
    drawn = 0
    for other in range(state.first[factor], state.first[factor + 1]):
        drawn += state.defeated_by[other] == level
    return drawn / state.sizes[factor]


@noalloc
def leading_share(state: Any, factor: int, level: int) -> float:
    """Return the probability that `find_leading` finds this level of a factor."""
    first = state.first[factor]
    best, tied, its = -1.0, 0, -2.0
    for place in range(first, first + state.left[factor]):
        other = state.remaining[place]
        mean = state.clicks[other] / (state.pulls[other] + (state.pulls[other] == 0))
        tied = 1 if mean > best else tied + (mean == best)
        best = max(best, mean)
        if other == level:
            its = mean
    return 1.0 / tied if its == best else 0.0


def sweep_chance(state: Any, shown: Any) -> float:
    """`chance` of a policy that sweeps."""
    how, found = state.counters[SWEEP_HOW], 1.0
    for factor in range(len(state.sizes)):
        level = state.first[factor] + shown[factor]
        if how == LEADING:
            found *= leading_share(state, factor, level)
        elif how == SURE or factor == state.counters[SWEEP_LAST]:
            found *= level == state.shown_last[factor]
        elif found > 0.0:
            found *= partner_share(state, factor, level)
    return found


chance.register(SweepState)(sweep_chance)
