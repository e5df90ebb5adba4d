"""Corrected factored Thompson sampling, experimental: what it gains on UTS and where it locks in is measured in
`docs/more-than-two-factors.md`. No theory covers it.

Every level of every factor draws from a Beta of what it has been clicked, corrected by how good its partners were
(`rankone.policies.engines.pooling`, without trust); the levels with the largest draws are shown together. With
probability `plain` draws are as wide as the evidence says, otherwise they are drawn from twice the evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankone.errors import InputError
from rankone.kernels.policy import decide, grown, room
from rankone.numerics.arrays import Ints
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.combinations import learns_combinations, record_outcome, write_levels
from rankone.policies.engines.pooling import draw_levels, fields_with_pool, pool_outcome, start_pool
from rankone.policies.engines.unimodal import LeaderState, find_leader
from rankone.specs import is_number

_PRIOR = 2.0


class MVTState(fields_with_pool("mix")):  # type: ignore[misc]
    """The leader; evidence of levels; mix, (1,): how often draws are as wide as the evidence says."""


@dataclass(frozen=True)
class MVT(CombinationPolicy):
    """Thompson sampling by level, partners taken into account (experimental): less regret, rare runs lock in.

    Args:
        plain: share of decisions whose draws are as wide as the evidence says; the others' are narrower.

    >>> MVT().label, MVT(plain=0.5).label
    ('mvt', 'mvt:plain=0.5')
    """

    plain: float = 0.2
    name: ClassVar[str] = "mvt"
    use_when: ClassVar[str] = "experimental: much to pool, where a rare run that never recovers is no harm"

    def __post_init__(self) -> None:
        check_share("plain", self.plain)

    def _begin(self, sizes: Ints, forbidden: Ints) -> MVTState:
        return MVTState(*start_pool(sizes, forbidden, _PRIOR, 0.0, 0.0), np.array([self.plain]))


def check_share(what: str, share: Any) -> None:
    """Refuse a share that is none."""
    if not is_number(share) or not 0.0 <= share <= 1.0:  # written so that NaN is wrong too
        raise InputError(f"{what} as a share from 0 to 1", share, f"leave {what} out")


@decide.register(MVTState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    sharpness = 1.0 if rng.random() < state.mix[0] else 2.0
    if not draw_levels(state, sharpness, rng, shown):
        write_levels(state.sizes, find_leader(state, rng), shown)
    return 0


record_outcome.register(MVTState)(pool_outcome)
learns_combinations(MVTState)
room.register(MVTState)(room.of(LeaderState))
grown.register(MVTState)(grown.of(LeaderState))
