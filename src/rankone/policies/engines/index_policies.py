"""What UCB1 and KL-UCB share: choose the pair with the largest index, by the exact engine of `engines.index_race`.

A policy registers its index for its class of state (see `engines.index_race`); choosing and learning come with
`IndexState`. A pair without an outcome comes first. Ties go to the pair chosen longest ago, and among pairs never
chosen to a random one. In a live experiment that starts afresh, time goes on: outcomes known from before count as
decisions made.
"""

from __future__ import annotations

import numpy as np

from rankone.kernels.policy import View, choose, prepare, recall, update, view
from rankone.policies.beliefs import pair_view
from rankone.policies.engines.index_groups import RACE_ASKED, IndexState
from rankone.policies.engines.index_race import choose_largest, count_outcome, exploration_level, hold_any, index_at

choose.register(IndexState)(choose_largest)
update.register(IndexState)(count_outcome)
prepare.register(IndexState)(hold_any)


@recall.register(IndexState)
def _recall(state: IndexState, row: int, col: int, pulls: int, clicks: int) -> None:
    for place in range(pulls):
        update(state, row, col, 0, 1 if place < clicks else 0)
    state.clock[RACE_ASKED] += pulls


@view.register(IndexState)
def _view(state: IndexState) -> View:
    level = exploration_level(state, int(state.clock[RACE_ASKED]))
    counts = zip(state.pulls.tolist(), state.clicks.tolist(), strict=True)
    index = np.array([index_at(state, pulls, clicks, level) if pulls else np.inf for pulls, clicks in counts])
    return pair_view(state, np.full(len(index), np.nan), index, "mean and index: the largest index is shown next")
