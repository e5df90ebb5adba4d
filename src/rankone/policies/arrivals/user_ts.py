"""Thompson sampling for each user alone: Thompson (1933), as in Agrawal, Goyal (2012), Algorithm 1.

Each item draws from its posterior Beta(clicks + 1, pulls - clicks + 1) of this user; the largest draw is shown. The
yardstick of learning nothing from others. Learning everything together is `thompson`, which looks at no user.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rankone.kernels.policy import decide
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.beta import draw_beta
from rankone.policies.arrivals.visits import VisitPolicy, file_waiting, learns_visits, show_largest, user_in


class UserTSState(NamedTuple):
    """Counts of each user and item (`VisitPolicy.tables`), and a score of each item."""

    pulls: Floats
    clicks: Floats
    waiting: Ints
    counters: Ints
    sizes: Ints
    forbidden: Ints
    scores: Floats


@dataclass(frozen=True)
class UserTS(VisitPolicy):
    """Thompson sampling, every user for himself.

    >>> UserTS(users=50).label
    'user-ts:users=50'
    """

    name = "user-ts"
    use_when = "a yardstick: users who come hundreds of times and have nothing in common"

    def _begin(self, sizes: Ints, forbidden: Ints) -> UserTSState:
        tables = self.tables(sizes, forbidden)
        return UserTSState(**tables, scores=np.zeros(tables["pulls"].shape[1]))


@decide.register(UserTSState)
def _decide(state: UserTSState, context: Any, rng: Any, shown: Any) -> int:
    file_waiting(state)
    user = user_in(state, context)
    for item in range(len(state.scores)):
        state.scores[item] = draw_beta(state.pulls[user, item], state.clicks[user, item], rng)
    show_largest(state, state.scores, rng, shown)
    return user


learns_visits(UserTSState)
