"""What UCB1 and KL-UCB share: choose the pair with the largest index, by the exact engine of `numerics.index_race`.

A policy registers its index for its class of state (see `numerics.index_race`); choosing and learning come with
`IndexState`. A pair without an outcome comes first. Ties go to the pair chosen longest ago, and among pairs never
chosen to a random one.
"""

from __future__ import annotations

from rankone.numerics.index_groups import IndexState
from rankone.numerics.index_race import choose_largest, count_outcome
from rankone.policies.kernels import chooses, updates

chooses.register(IndexState)(choose_largest)
updates.register(IndexState)(count_outcome)
