"""Thompson sampling for each user alone: Thompson (1933), as in Agrawal, Goyal (2012), Algorithm 1.

Each item draws from its posterior Beta(clicks + 1, pulls - clicks + 1) of this user; the largest draw is shown. The
yardstick of learning nothing from others. Learning everything together is `thompson`, which looks at no user.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from rankone.compiling.dispatch import extends
from rankone.kernels.policy import decide
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.beta import draw_beta
from rankone.numerics.states import start_state
from rankone.policies.arrivals.visits import VisitPolicy, Visits, file_waiting, show_largest, user_in


@extends(Visits)
class UserTSState:
    """Counts of each user and item (`Visits`), and a score of each item."""

    scores: Annotated[Floats, "M"]


@dataclass(frozen=True)
class UserTS(VisitPolicy):
    """Thompson sampling, every user for himself."""

    name = "user-ts"
    use_when = "a yardstick: users who come hundreds of times and have nothing in common"

    def _begin(self, sizes: Ints, forbidden: Ints) -> UserTSState:
        return start_state(UserTSState, **self.tables(sizes, forbidden))


@decide.register(UserTSState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    file_waiting(state)
    user = user_in(state, context)
    for item in range(len(state.scores)):
        state.scores[item] = draw_beta(state.pulls[user, item], state.clicks[user, item], rng)
    show_largest(state, state.scores, rng, shown)
    return user
