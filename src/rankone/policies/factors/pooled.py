"""Pooling with trust, a policy of our own and experimental: what it gains on UTS and what it misses is measured in
`docs/more-than-two-factors.md`. No theory covers it.

Most decisions show the levels with the largest draws, each factor by itself, from evidence that is pooled over
combinations; an outcome counts for a level only as far as its partners are known
(`rankone.policies.engines.pooling`). The rest of the decisions follow UTS's rule on the plain counts, which nothing can
lock in: a share of them where the pooled evidence and the plain counts do not agree on who is best, none (`agree=0`)
where they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankone.kernels.policy import decide, grown, room
from rankone.numerics.arrays import Ints
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.combinations import learns_combinations, record_outcome, write_levels
from rankone.policies.engines.pooling import draw_levels, fields_with_pool, pool_outcome, pooled_best, start_pool
from rankone.policies.engines.unimodal import LeaderState, find_leader, led_of
from rankone.policies.factors.mvt import check_share
from rankone.policies.factors.unimodal.uts import largest_draw

_PRIOR, _DISTRUST, _GROWTH = 1.0, 30.0, 0.03
_NARROW = 0.5  # share of the pooled decisions that draw from twice the evidence
POOLED_AGREE, POOLED_DOUBT = range(2)  # fields of `mix`


class PooledState(fields_with_pool("mix")):  # type: ignore[misc]
    """The leader; evidence of levels; mix, (2,): shares of UTS steps where the two rules agree, and where not."""


@dataclass(frozen=True)
class Pooled(CombinationPolicy):
    """Levels draw from evidence pooled over combinations, some decisions by UTS's rule (experimental).

    Args:
        agree: share of decisions by UTS's rule while the pooled evidence and the plain counts agree on the best.
        doubt: share of decisions by UTS's rule while they do not.

    >>> Pooled().label, Pooled(agree=0.1, doubt=0.1).label
    ('pooled', 'pooled:agree=0.1,doubt=0.1')
    """

    agree: float = 0.0
    doubt: float = 0.3
    name: ClassVar[str] = "pooled"
    use_when: ClassVar[str] = "experimental: several factors or many levels, clicks rare; horizon unknown"

    def __post_init__(self) -> None:
        check_share("agree", self.agree)
        check_share("doubt", self.doubt)

    def _begin(self, sizes: Ints, forbidden: Ints) -> PooledState:
        pool = start_pool(sizes, forbidden, _PRIOR, _DISTRUST, _GROWTH)
        return PooledState(*pool, np.array([self.agree, self.doubt]))


@decide.register(PooledState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    leader = find_leader(state, rng)
    share = state.mix[POOLED_AGREE] if leader == pooled_best(state) else state.mix[POOLED_DOUBT]
    if rng.random() >= share and draw_levels(state, 2.0 if rng.random() < _NARROW else 1.0, rng, shown):
        return 0
    chosen = leader if led_of(state, leader) % 2 == 0 else largest_draw(state, leader, rng)
    write_levels(state.sizes, chosen, shown)
    return 0


record_outcome.register(PooledState)(pool_outcome)
learns_combinations(PooledState)
room.register(PooledState)(room.of(LeaderState))
grown.register(PooledState)(grown.of(LeaderState))
