"""A Bernoulli rank-1 bandit (paper, section 2): K rows, L columns, click probability u_i * v_j."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from rankone.kernels.decision import DecisionKind
from rankone.notebook import Shown
from rankone.numerics.arrays import Floats
from rankone.problems.base import RANK_ONE, Problem
from rankone.problems.product import Product
from rankone.problems.product_input import Given, Names

_MOST_SHOWN = 30  # rows or columns


class ShownAsTable(Shown):
    """What has a table of click rates with named rows and columns, and is shown as that table."""

    means: Floats
    row_names: list[str]
    col_names: list[str]

    def _tables(self) -> dict[str, Any]:
        """Click probabilities: a row of the table is one of the problem."""
        columns = zip(self.col_names, self.means.T.tolist(), strict=True)
        return {"means": {"": self.row_names, **dict(columns)}}

    def _shown(self) -> Any:
        return self._tables()["means"] if max(len(self.row_names), len(self.col_names)) <= _MOST_SHOWN else {}


class RankOne(ShownAsTable, Product):
    """A product of two factors, rows and columns: pair (i, j) is clicked with probability ``rows[i] * cols[j]``.

    Args:
        rows: ``(n_rows,)`` probabilities u, one per row.
        cols: ``(n_cols,)`` probabilities v, one per column.
        row_names: optional texts, one per row; without them the index of a pandas Series `rows` gives the names.
        col_names: optional texts, one per column; likewise.
        name: what tables and charts call the problem.

    >>> problem = RankOne(rows=[0.9, 0.5, 0.2], cols=[0.8, 0.3])
    >>> problem.best_pairs, problem.title
    ([(0, 0)], 'row (3) x col (2), best click rate 0.72')
    >>> round(problem.best_mean, 3), problem.p_max
    (0.72, 0.9)
    """

    kind: ClassVar[str] = RANK_ONE
    decision_kind: ClassVar[DecisionKind] = "pair"

    def __init__(
        self, rows: Given, cols: Given, *, row_names: Names = None, col_names: Names = None, name: str | None = None
    ) -> None:
        super().__init__({"row": rows, "col": cols}, level_names={"row": row_names, "col": col_names}, name=name)
        self.rows, self.cols = self.factors.values()
        self.row_names, self.col_names = self.level_names.values()
        self.n_rows, self.n_cols = self.shape

    def as_rank_one(self) -> RankOne:
        """Return the problem itself."""
        return self

    @property
    def best_pairs(self) -> list[tuple[int, int]]:
        """Every pair whose click probability is the highest (more than one if rows or columns tie)."""
        if self.best_mean == 0.0:  # one side is all zeros, and then the other makes no difference
            return [(row, col) for row in range(self.n_rows) for col in range(self.n_cols)]
        rows, cols = np.flatnonzero(self.row_gaps == 0.0), np.flatnonzero(self.col_gaps == 0.0)
        return [(row, col) for row in rows.tolist() for col in cols.tolist()]

    def facts(self) -> dict[str, float]:
        """Return sizes and hardness."""
        return super().facts() | {"mu": self.mu}

    def description(self) -> dict[str, Any]:
        """Return sizes, the best pair and how hard it is to find."""
        gaps = {"smallest row gap": self.min_row_gap, "smallest column gap": self.min_col_gap}
        return super().description() | gaps | {"mu": self.mu}

    @property
    def row_gaps(self) -> Floats:
        """``(n_rows,)`` distance of each row's probability from the best row's."""
        return self.rows.max() - self.rows

    @property
    def col_gaps(self) -> Floats:
        """``(n_cols,)`` distance of each column's probability from the best column's."""
        return self.cols.max() - self.cols

    @property
    def min_row_gap(self) -> float:
        """Smallest positive row gap (infinite if all rows tie)."""
        return min((gap for gap in self.row_gaps.tolist() if gap > 0.0), default=math.inf)

    @property
    def min_col_gap(self) -> float:
        """Smallest positive column gap (infinite if all columns tie)."""
        return min((gap for gap in self.col_gaps.tolist() if gap > 0.0), default=math.inf)

    @property
    def mu(self) -> float:
        """Hardness of the paper's eq. 3: the smaller of the mean row and the mean column probability."""
        return float(min(self.rows.mean(), self.cols.mean()))

    @property
    def p_max(self) -> float:
        """Largest row or column probability (paper, eq. 4)."""
        return float(max(self.rows.max(), self.cols.max()))

    @property
    def gamma(self) -> float:
        """``max(mu, 1 - p_max)`` (paper, eq. 5): the second hardness of Theorem 1."""
        return max(self.mu, 1.0 - self.p_max)

    def to_dict(self) -> dict[str, Any]:
        """Plain values that `RankOne(**values)` turns back into the same problem."""
        return Problem.to_dict(self)

    def __reduce__(self) -> tuple[Callable[[], RankOne], tuple[()]]:
        """Pickle as plain values: a copy has read-only arrays again, whoever made it."""
        return functools.partial(type(self), **self.to_dict()), ()
