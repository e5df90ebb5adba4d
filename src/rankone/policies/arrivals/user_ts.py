"""Thompson sampling for each user alone: Thompson (1933), as in Agrawal, Goyal (2012), Algorithm 1.

Each item draws from its posterior Beta(clicks + 1, pulls - clicks + 1) of this user; the largest draw is shown. The
yardstick of learning nothing from others. Learning everything together is `thompson`, which looks at no user.
"""

from dataclasses import dataclass
from typing import Any

from rankone.compiling.dispatch import extends
from rankone.numerics.arrays import Ints
from rankone.numerics.betas.beta import draw_beta
from rankone.policies.arrivals.visits import VisitPolicy, Visits, score


@extends(Visits)
class UserTSState:
    """Counts of each user and item (`Visits`)."""


@dataclass(frozen=True)
class UserTS(VisitPolicy):
    """Thompson sampling, every user for himself."""

    name = "user-ts"
    use_when = "a yardstick: users who come hundreds of times and have nothing in common"

    def known_at_start(self, sizes: Ints, forbidden: Ints) -> dict[str, Any]:
        """Return the start; nothing is known."""
        return self.tables(UserTSState, sizes, forbidden)


@score.register(UserTSState)
def _score(state: Any, user: int, rng: Any) -> None:
    for item in range(len(state.scores)):
        state.scores[item] = draw_beta(state.pulls[user, item], state.clicks[user, item], rng)
