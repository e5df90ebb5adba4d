"""Lists for a table of users and items: each visitor is a row of it, and clicks the first item that pleases.

What pleases one visitor goes together, so that 1 - product(1 - mean) is not the share of visitors who click. The reward
of a list is its *coverage*, that share. The best list is hard to find: regret is against the greedy one, which adds the
item that pleases most of those whom none above it pleases (at least 1 - 1/e of the best; a better list has a negative
regret). The protocol is that of Zong et al., "Cascading Bandits for Large-Scale Recommendation Problems" (UAI 2016),
section 5: half of the users give the features of items, the other half visit (`rankone.problems.arrivals.table`).
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankone.compiling.dispatch import extends
from rankone.kernels.world import loss, respond
from rankone.numerics.arrays import Floats
from rankone.problems.contextual.feature_lists import FeatureWorld, FixedFeatures
from rankone.problems.product_input import Names, probabilities


@extends(FeatureWorld)
class CoverageWorld:
    """What pleases whom; `best` is the coverage of the greedy list."""

    rates: Floats  # (users, L)


@respond.register(CoverageWorld)
def _respond(world: Any, shown: Any, outcome: Any, rng: Any) -> bool:
    user = int(rng.random() * len(world.rates))
    for position in range(len(outcome)):
        outcome[position] = 0
    for position in range(len(shown)):
        if rng.random() < world.rates[user, shown[position]]:
            outcome[position] = 1
            break
    return True


@loss.register(CoverageWorld)
def _loss(world: Any, shown: Any) -> float:
    missed = 0.0
    for user in range(len(world.rates)):
        none = 1.0
        for position in range(len(shown)):
            none *= 1.0 - world.rates[user, shown[position]]
        missed += none
    return world.best[0] - (1.0 - missed / len(world.rates))


class Coverage(FixedFeatures):
    """Lists for users of whom it is known what pleases them.

    Args:
        rates: ``(users, items)`` probability that an item pleases a user who looks at it; each list is shown to one.
        features: ``(items, d)`` features of each item, which policies see.
        positions: length of the list, K.
        item_names, name: see `ListProblem`.

    >>> Coverage([[1, 1, 0], [1, 1, 0], [0, 0, 1]], [[1.0], [0.9], [0.2]], positions=2).best_decision()
    (0, 2)
    """

    kind: ClassVar[str] = "coverage"

    def __init__(
        self, rates: Any, features: npt.ArrayLike, positions: int, *, item_names: Names = None, name: str | None = None
    ) -> None:
        self.rates = probabilities(rates, "rates", dimensions=2)
        super().__init__(self.rates.mean(axis=0), features, positions, item_names=item_names, name=name)

    def best_decision(self) -> tuple[int, ...]:
        """Return the greedy list."""
        missed, shown = np.ones(len(self.rates)), list[int]()
        for _ in range(self.n_positions):
            gains = missed @ self.rates
            gains[shown] = -1.0
            shown.append(int(gains.argmax()))
            missed *= 1.0 - self.rates[:, shown[-1]]
        return tuple(shown)

    def value(self, shown: Sequence[int]) -> float:
        """Return the share of users whom an item of the list pleases."""
        return float(1.0 - np.prod(1.0 - self.rates[:, list(shown)], axis=1).mean())

    def start(self) -> Any:
        """Return the world before the first visitor."""
        world: Any = CoverageWorld
        return world(*super().start()._replace(best=np.array([self.best_value])), self.rates.copy())
