"""A Bernoulli rank-1 bandit (paper, section 2): K rows, L columns, click probability u_i * v_j."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from rankone.kernels.decision import DecisionKind
from rankone.notebook import index_names
from rankone.numerics.arrays import Floats
from rankone.problems.product import Product, rank_one_digest
from rankone.problems.product_input import checked_name, level_names, probabilities
from rankone.specs import amount, in_words

_MOST_SHOWN = 30  # rows or columns of a table of means


class RankOne(Product):
    """A product of two factors, rows and columns: pair (i, j) is clicked with probability ``rows[i] * cols[j]``.

    Args:
        rows: ``(n_rows,)`` probabilities u, one per row.
        cols: ``(n_cols,)`` probabilities v, one per column.
        row_names: optional texts, one per row; without them the index of a pandas Series `rows` gives the names.
        col_names: optional texts, one per column; likewise.
        name: what tables and charts call the problem.

    >>> problem = RankOne(rows=[0.9, 0.5, 0.2], cols=[0.8, 0.3])
    >>> problem.best_pairs
    [(0, 0)]
    >>> round(problem.best_mean, 3), problem.p_max
    (0.72, 0.9)
    """

    kind: ClassVar[str] = "rank-one"
    decision_kind: ClassVar[DecisionKind] = "pair"

    def __init__(
        self,
        rows: Sequence[float] | Floats,
        cols: Sequence[float] | Floats,
        *,
        row_names: Sequence[str] | None = None,
        col_names: Sequence[str] | None = None,
        name: str | None = None,
    ) -> None:
        self.rows, self.cols = probabilities(rows, "rows"), probabilities(cols, "cols")
        self.row_names = level_names(index_names(rows) if row_names is None else row_names, len(self.rows), "row")
        self.col_names = level_names(index_names(cols) if col_names is None else col_names, len(self.cols), "col")
        self.n_rows, self.n_cols = len(self.rows), len(self.cols)
        digest = functools.partial(rank_one_digest, self.rows, self.cols)  # of the probabilities, whatever the world is
        super().__init__(
            {"row": self.rows, "col": self.cols}, level_names={"row": self.row_names, "col": self.col_names},
            name=checked_name(name, lambda: f"{self.kind}:{self.n_rows}x{self.n_cols}:{digest()[:6]}"),
        )  # fmt: skip

    @property
    def title(self) -> str:
        """The name in words; of a problem that was given none, what it looks like.

        >>> RankOne([0.9, 0.5, 0.2], [0.8, 0.3]).title
        '3 rows x 2 columns, best click rate 0.72'
        """
        if not self.name.startswith(self._unnamed):
            return in_words(self.name)
        size = f"{amount(self.n_rows, 'row')} x {amount(self.n_cols, 'column')}"
        return f"{size}, best click rate {self.best_mean:.3g}"

    def as_rank_one(self) -> RankOne:
        """Return the problem itself."""
        return self

    @functools.cached_property
    def means(self) -> Floats:
        """``(n_rows, n_cols)`` click probability of each pair."""
        return np.outer(self.rows, self.cols)

    def _tables(self) -> dict[str, Any]:
        """Click probabilities: a row of the table is one of the problem."""
        columns = zip(self.col_names, self.means.T.tolist(), strict=True)
        return {"means": {"": self.row_names, **dict(columns)}}

    def _shown(self) -> Any:
        return self._tables()["means"] if max(self.shape) <= _MOST_SHOWN else {}

    @property
    def best_pairs(self) -> list[tuple[int, int]]:
        """Every pair whose click probability is the highest (more than one if rows or columns tie)."""
        if self.best_mean == 0.0:  # one side is all zeros, and then the other makes no difference
            return [(row, col) for row in range(self.n_rows) for col in range(self.n_cols)]
        rows, cols = np.flatnonzero(self.row_gaps == 0.0), np.flatnonzero(self.col_gaps == 0.0)
        return [(row, col) for row in rows.tolist() for col in cols.tolist()]

    def best_decision(self) -> tuple[int, int]:
        """Return the first of the best pairs."""
        return self.best_pairs[0]

    def facts(self) -> dict[str, float]:
        """Return sizes and hardness."""
        return super().facts() | {"mu": self.mu}

    def description(self) -> dict[str, Any]:
        """Return sizes, the best pair and how hard it is to find."""
        row, col = self.best_decision()
        return {
            "rows": self.n_rows, "columns": self.n_cols, "best pair": f"{self.row_names[row]} + {self.col_names[col]}",
            "click rate of the best": self.best_mean, "smallest row gap": self.min_row_gap,
            "smallest column gap": self.min_col_gap, "mu": self.mu,
        }  # fmt: skip

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
        return _smallest_positive(self.row_gaps)

    @property
    def min_col_gap(self) -> float:
        """Smallest positive column gap (infinite if all columns tie)."""
        return _smallest_positive(self.col_gaps)

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
        sides = {"rows": self.rows.tolist(), "cols": self.cols.tolist()}
        return {"name": self.name, **sides, "row_names": self.row_names, "col_names": self.col_names}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as plain values: a copy has read-only arrays again, whoever made it."""
        own = () if self.kind == RankOne.kind else (type(self),)  # a subclass may have another world
        return _from_dict, (self.to_dict(), *own)


def _from_dict(values: dict[str, Any], own: type[RankOne] = RankOne) -> RankOne:
    return own(**values)


def _smallest_positive(gaps: Floats) -> float:
    positive = gaps[gaps > 0.0]
    return float(positive.min()) if len(positive) else float("inf")
