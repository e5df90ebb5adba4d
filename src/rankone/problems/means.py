"""Any table of click rates, of rank 1 or not, and rewards other than clicks by rounding.

A reward between 0 and a cap is made a click or none: a click with probability reward / cap (Bernoulli rounding). That
leaves the mean as it is (divided by the cap), so every policy for clicks can play, and what it sees of a pair is
nothing but clicks at the rate of that mean: a table of means is all there is to simulate. What rounding costs is
noise: clicks at rate m have variance m (1 - m), which no reward of the same mean exceeds.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from rankone.errors import InputError
from rankone.kernels.world import loss, respond
from rankone.numerics.arrays import Floats
from rankone.numerics.seeds import generator
from rankone.problems.base import Problem
from rankone.problems.product_input import Names, checked_name, level_names, probabilities
from rankone.problems.rank_one import ShownAsTable
from rankone.specs import as_whole_number, is_number, number_in, whole_number

Reward = Callable[[int, int, np.random.Generator], float]


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
        self.name = checked_name(name, lambda: f"{self.kind}:{'x'.join(map(str, self.shape))}:{self.digest[:6]}")
        self.rounding_cost: Floats | None = None  # see `of_rewards`

    @classmethod
    def of_rewards(
        cls,
        reward: Reward,
        n_rows: int,
        n_cols: int,
        *,
        cap: float = 1.0,
        draws: int = 1_000,
        seed: int = 0,
        **more: Any,
    ) -> Self:
        """Return the problem of a reward that is drawn by a function, rounded to clicks.

        The means are estimated from draws; the simulated world has exactly the estimated ones.

        Args:
            reward: a function of row, column and a `numpy.random.Generator`; returns a number from 0 to `cap`.
            n_rows: number of rows.
            n_cols: number of columns.
            cap: the largest reward there can be; regret is in units of it.
            draws: draws for each pair.
            seed: seed of the draws.
            more: names, as in `Means`.

        The attribute `rounding_cost` says for each pair how many times the variance of the rewards that of the
        clicks is: about so many times more visitors are needed than by a policy that knew the rewards' variance.

        >>> import rankone
        >>> minutes = rankone.Means.of_rewards(lambda row, col, rng: rng.uniform(0, 2 + row + col), 2, 2, cap=4.0)
        >>> minutes.means.round(2).tolist(), minutes.rounding_cost.round(1).tolist()
        ([[0.25, 0.38], [0.38, 0.48]], [[9.0, 5.0], [5.2, 2.9]])
        """
        n_rows, n_cols = whole_number("n_rows", n_rows), whole_number("n_cols", n_cols)
        draws, cap = as_whole_number("draws", draws, least=2), number_in("cap", cap, "(0, inf)", example=100)
        if not callable(reward):
            raise InputError("a function of (row, col, rng)", reward, "pass lambda row, col, rng: rng.random()")
        drawn = np.empty((n_rows, n_cols, draws))
        for row in range(n_rows):
            for col in range(n_cols):
                rng = generator(whole_number("seed", seed, least=0), "rewards", row, col)
                drawn[row, col] = [_checked_reward(reward(row, col, rng), cap) / cap for _ in range(draws)]
        result = cls(drawn.mean(axis=2), **more)
        with np.errstate(divide="ignore", invalid="ignore"):
            result.rounding_cost = result.means * (1.0 - result.means) / drawn.var(axis=2)
        return result

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns: what a policy starts with."""
        return self.means.shape[0], self.means.shape[1]

    def start(self) -> MeansWorld:
        """Return the world before the first decision."""
        return MeansWorld(self.means, np.array([self.means.max()]))

    def to_dict(self) -> dict[str, Any]:
        """Plain values that ``Means(**values)`` turns back into the same problem."""
        return {name: getattr(self, name) for name in ("name", "row_names", "col_names")} | {
            "means": self.means.tolist()
        }

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


def _checked_reward(reward: Any, cap: float) -> float:
    number = float(reward) if is_number(reward) or isinstance(reward, bool) else float("nan")
    if not 0.0 <= number <= cap:
        raise InputError(f"a reward from 0 to {cap:g}", reward, "raise the cap, or cut larger rewards off at it")
    return number
