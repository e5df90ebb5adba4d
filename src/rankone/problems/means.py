"""Any table of click rates, of rank 1 or not."""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from rankone.kernels.world import loss, respond
from rankone.numerics.arrays import Floats
from rankone.problems.base import Problem
from rankone.problems.product_input import Names, level_names, probabilities
from rankone.problems.rank_one import ShownAsTable


class MeansWorld(NamedTuple):
    """What the visitors of a table of click rates do."""

    means: Floats  # (K, L)
    best: Floats  # (1,)


@respond.register(MeansWorld)
def _respond(world: MeansWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    rate = world.means[shown[0], shown[1]]
    outcome[0] = 1 if rng.random() < rate else 0
    return True


@loss.register(MeansWorld)
def _loss(world: MeansWorld, shown: Any) -> float:
    return world.best[0] - world.means[shown[0], shown[1]]


class Means(ShownAsTable, Problem):
    """A problem: pair (i, j) is clicked with probability ``means[i, j]``, whatever that is.

    Args:
        means: ``(n_rows, n_cols)`` click rates; a frame of pandas is named by its index and its columns.
        row_names: optional texts, one per row.
        col_names: optional texts, one per column.
        name: what tables and charts call the problem.

    >>> problem = Means([[0.3, 0.1], [0.1, 0.4]], name="matches")
    >>> problem.best_decision(), problem.peaks
    ((1, 1), 2)
    """

    kind: ClassVar[str] = "means"

    def __init__(
        self, means: Any, *, row_names: Names = None, col_names: Names = None, name: str | None = None
    ) -> None:
        self.means = probabilities(means, "means", dimensions=2)
        self.row_names = level_names(row_names, self.shape[0], "row", means)
        self.col_names = level_names(col_names, self.shape[1], "col", means, "columns")
        self.name = self._named(name)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns: what a policy starts with."""
        return self.means.shape[0], self.means.shape[1]

    def start(self) -> MeansWorld:
        """Return the world before the first decision."""
        return MeansWorld(self.means, np.array([self.means.max()]))

    def best_decision(self) -> tuple[int, int]:
        """Return the first of the best pairs."""
        row, col = np.unravel_index(self.means.argmax(), self.shape)
        return int(row), int(col)

    def loss_at_random(self) -> float:
        """Return how much less a pair drawn at random is clicked than the best, on average."""
        return float(self.means.max() - self.means.mean())

    @property
    def peaks(self) -> int:
        """Pairs that are best in their row and in their column; of more than one, local policies may miss the best."""
        means = self.means
        return int(((means == means.max(axis=0)) & (means == means.max(axis=1, keepdims=True))).sum())

    def facts(self) -> dict[str, float]:
        """Return sizes."""
        return {"lines": sum(self.shape), "pairs": self.means.size}

    def description(self) -> dict[str, Any]:
        """Return sizes, the best pair, and how many pairs look best from where they are."""
        row, col = self.best_decision()
        return {
            "rows": self.shape[0],
            "columns": self.shape[1],
            "best pair": f"{self.row_names[row]} + {self.col_names[col]}",
            "click rate of the best": float(self.means.max()),
            "pairs best in row and column": self.peaks,
        }

    def _sentence(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        return f"<Means {self.name}: {self.shape[0]} x {self.shape[1]}, best {self.means.max():.4g}>"
