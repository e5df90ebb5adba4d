"""The world of a Bernoulli rank-1 bandit (paper, section 2): K rows, L columns, click probability u_i * v_j."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.deprecation import old_positions
from rankone.errors import InputError
from rankone.kernels.world import loss, respond
from rankone.notebook import Shown, index_names
from rankone.problems.base import Problem
from rankone.specs import amount, in_words

Vector = npt.NDArray[np.float64]
_MOST_SHOWN = 30  # rows or columns of a table of means


class RankOneWorld(NamedTuple):
    """What the visitors of a rank-1 problem do."""

    rows: Vector  # (K,)
    cols: Vector  # (L,)
    best: Vector  # (1,) click probability of the best pair


@respond.register(RankOneWorld)
def _respond(world: RankOneWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    rate = world.rows[shown[0]] * world.cols[shown[1]]  # before the draw, which the compiler takes to change anything
    outcome[0] = 1 if rng.random() < rate else 0
    return True


@loss.register(RankOneWorld)
def _loss(world: RankOneWorld, shown: Any) -> float:
    return world.best[0] - world.rows[shown[0]] * world.cols[shown[1]]


def _no_third_factor(names: Sequence[Any]) -> None:
    """Refuse a third list of probabilities, which would otherwise be taken for names."""
    if not all(isinstance(given, str | None) or _are_texts(given) for given in names):
        do = "leave it out (names are row_names=['a', 'b']), or take rankone.Product, which has any number of factors"
        raise InputError("two factors, rows and cols: a problem has no third one here", names[0], do)


def _are_texts(given: Any) -> bool:
    return isinstance(given, Iterable) and all(isinstance(name, str) for name in given)


class RankOne(Problem, Shown):
    """A problem: pair (i, j) is clicked with probability ``rows[i] * cols[j]``.

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

    @old_positions("row_names", "col_names", "name", check=_no_third_factor)
    def __init__(
        self,
        rows: Sequence[float] | Vector,
        cols: Sequence[float] | Vector,
        *,
        row_names: Sequence[str] | None = None,
        col_names: Sequence[str] | None = None,
        name: str | None = None,
    ) -> None:
        row_names = index_names(rows) if row_names is None else row_names
        col_names = index_names(cols) if col_names is None else col_names
        self.rows = probabilities(rows, "rows")
        self.cols = probabilities(cols, "cols")
        self.row_names = level_names(row_names, self.n_rows, "row")
        self.col_names = level_names(col_names, self.n_cols, "col")
        if not isinstance(name, str | None):
            raise InputError("the name as a text", name, "try name='shoes'")
        self.name = name if name is not None else f"{self.kind}:{self.n_rows}x{self.n_cols}:{self._hash()[:6]}"

    @property
    def title(self) -> str:
        """The name in words; of a problem that was given none, what it looks like.

        >>> RankOne([0.9, 0.5, 0.2], [0.8, 0.3]).title
        '3 rows x 2 columns, best click rate 0.72'
        """
        if not self.name.startswith(f"{self.kind}:{self.n_rows}x{self.n_cols}:"):
            return in_words(self.name)
        size = f"{amount(self.n_rows, 'row')} x {amount(self.n_cols, 'column')}"
        return f"{size}, best click rate {self.best_mean:.3g}"

    @property
    def n_rows(self) -> int:
        """Number of rows, K."""
        return len(self.rows)

    @property
    def n_cols(self) -> int:
        """Number of columns, L."""
        return len(self.cols)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns: what a policy starts with."""
        return self.n_rows, self.n_cols

    def start(self) -> RankOneWorld:
        """Return the world before the first decision."""
        return RankOneWorld(self.rows, self.cols, np.array([self.best_mean]))

    @property
    def digest(self) -> str:
        """Hash of the probabilities: two problems with the same digest are the same world."""
        return self._hash() if self.kind == RankOne.kind else super().digest  # a subclass may have another world

    def _hash(self) -> str:
        data = np.concatenate([[self.n_rows], self.rows, self.cols]).astype("<f8").tobytes()
        return hashlib.sha256(data).hexdigest()[:16]

    @functools.cached_property
    def means(self) -> Vector:
        """``(n_rows, n_cols)`` click probability of each pair."""
        return np.outer(self.rows, self.cols)

    def _sentence(self) -> str:
        return repr(self)

    def _tables(self) -> dict[str, Any]:
        """Click probabilities: a row of the table is one of the problem."""
        columns = zip(self.col_names, self.means.T.tolist(), strict=True)
        return {"means": {"": self.row_names, **dict(columns)}}

    def _shown(self) -> Any:
        return self._tables()["means"] if max(self.shape) <= _MOST_SHOWN else {}

    @property
    def best_mean(self) -> float:
        """Click probability of the best pair."""
        return float(self.rows.max() * self.cols.max())

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

    def loss_at_random(self) -> float:
        """Return how much less a pair drawn at random is clicked than the best, on average."""
        return self.best_mean - float(self.rows.mean() * self.cols.mean())

    def lower_bound_constant(self) -> float:
        """Return C(u, v) of Graves and Lai."""
        from rankone.problems.bounds import lower_bound_constant

        return lower_bound_constant(self)

    def facts(self) -> dict[str, float]:
        """Return sizes and hardness."""
        return {
            "lines": self.n_rows + self.n_cols,
            "pairs": self.n_rows * self.n_cols,
            "min_gap": min(self.min_row_gap, self.min_col_gap),
            "mu": self.mu,
        }

    def description(self) -> dict[str, Any]:
        """Return sizes, the best pair and how hard it is to find."""
        row, col = self.best_decision()
        return {
            "rows": self.n_rows,
            "columns": self.n_cols,
            "best pair": f"{self.row_names[row]} + {self.col_names[col]}",
            "click rate of the best": self.best_mean,
            "smallest row gap": self.min_row_gap,
            "smallest column gap": self.min_col_gap,
            "mu": self.mu,
        }

    @property
    def row_gaps(self) -> Vector:
        """``(n_rows,)`` distance of each row's probability from the best row's."""
        return self.rows.max() - self.rows

    @property
    def col_gaps(self) -> Vector:
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
        return {
            "name": self.name,
            "rows": self.rows.tolist(),
            "cols": self.cols.tolist(),
            "row_names": self.row_names,
            "col_names": self.col_names,
        }

    def save(self, path: str | Path) -> None:
        """Write the problem to a ``.json`` or ``.csv`` file that `rankone.as_problem` reads."""
        from rankone.problems.files import save_problem

        save_problem(self, path)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as plain values: a copy has read-only arrays again, whoever made it."""
        own = () if self.kind == RankOne.kind else (type(self),)  # a subclass may have another world
        return _from_dict, (self.to_dict(), *own)

    def __repr__(self) -> str:
        return f"<RankOne {self.name}: {self.n_rows} x {self.n_cols}, best {self.best_mean:.4g}>"


def _from_dict(values: dict[str, Any], own: type[RankOne] = RankOne) -> RankOne:
    return own(**values)


def probabilities(values: Sequence[float] | Vector, side: str) -> Vector:
    """Return the probabilities of the levels of a side or factor."""
    try:
        vector = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{side} as a list of numbers", values, f"try {side}=[0.9, 0.5]") from None
    if vector.ndim != 1 or len(vector) == 0:
        raise InputError(f"{side} as a list of at least one number", f"shape {vector.shape}", f"try {side}=[0.9, 0.5]")
    wrong = ~((vector >= 0.0) & (vector <= 1.0))  # written so that NaN is wrong too
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InputError(
            f"probabilities in [0, 1] in {side}",
            f"{vector[place]} at index {place}",
            "divide counts by their totals first",
        )
    vector.flags.writeable = False
    return vector


def level_names(names: Sequence[str] | None, length: int, side: str) -> list[str]:
    """Return the names of the levels of a side, numbered where nobody named them."""
    if names is None:
        return [f"{side} {index + 1}" for index in range(length)]
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"{side}_names as a list of texts", names, f"try {side}_names=['a', 'b']")
    found = list(names)
    for name in found:
        if not isinstance(name, str):
            raise InputError(f"{side}_names as texts", name, f"try {side}_names=['a', 'b']")
    if len(found) != length:
        raise InputError(f"{length} {side}_names, one each", len(found), f"leave {side}_names out, or name every one")
    check_distinct(f"{side}_names", found)
    return found


def check_distinct(what: str, names: list[str]) -> None:
    """Refuse names of which two are the same."""
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InputError(f"distinct {what}", f"'{twice}' more than once", "give each its own name")


def _smallest_positive(gaps: Vector) -> float:
    positive = gaps[gaps > 0.0]
    return float(positive.min()) if len(positive) else float("inf")
