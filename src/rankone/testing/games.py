"""What a policy is tested in: small tables of click rates, for pairs and for lists.

A table is (rows, columns) for pairs and (items, positions) for lists; its shape is what the policy starts with. In
a list every position is clicked for itself, with the rate of its item there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankone.kernels.decision import KINDS, Layout, Plays
from rankone.problems import Problem, RankOne
from rankone.problems.lists import PBM
from rankone.testing.suite import expect

Rates = npt.NDArray[np.float64]
Shown = tuple[int, ...]


@dataclass(frozen=True)
class Game:
    """Tables for one kind of decision."""

    plays: Plays
    certain: Rates  # one cell (or one item) is always clicked, the others never
    mixed: Rates
    small: tuple[tuple[int, int], ...]  # shapes that are easily forgotten
    wrong: tuple[tuple[Any, Any], ...]  # shapes that must be refused
    problem: Problem  # what a study plays

    @property
    def layout(self) -> Layout:
        """Lengths of the arrays of a decision."""
        return Layout.of(self.plays, self.certain.shape)

    def known(self, n_positions: int) -> dict[str, tuple[float, ...]]:
        """Return what a policy may be told beforehand in a game of so many positions."""
        if self.plays == "pair":
            return {}
        return {name: tuple(0.9**place for place in range(n_positions)) for name in ("examination", "termination")}

    def check(self, shown: Shown, shape: Sequence[int]) -> None:
        """Refuse a decision that cannot be shown."""
        if self.plays == "pair":
            (row, col), (n_rows, n_cols) = shown, shape
            expect(
                0 <= row < n_rows and 0 <= col < n_cols,
                f"a row from 0 to {n_rows - 1} and a column from 0 to {n_cols - 1}", f"{row}, {col}",
                "see what `choose` returns: row, column, tag",
            )  # fmt: skip
            return
        right = len(set(shown)) == len(shown) == shape[1] and all(0 <= item < shape[0] for item in shown)
        expect(
            right, f"{shape[1]} different items from 0 to {shape[0] - 1}", shown,
            "let `decide` fill in an item at every position",
        )  # fmt: skip

    def outcome(self, rates: Rates, shown: Shown, rng: np.random.Generator) -> list[int]:
        """Draw what is clicked."""
        cells = [shown] if self.plays == "pair" else [(item, place) for place, item in enumerate(shown)]
        return [int(rng.random() < rates[cell]) for cell in cells]

    def told(self, outcome: list[int]) -> Any:
        """Return an outcome as `Agent.tell` takes it."""
        return outcome if len(outcome) > 1 else outcome[0]

    def is_found(self, shown: Shown) -> bool:
        """Tell whether a decision shows what alone is clicked."""
        row, col = np.argwhere(self.certain)[0]
        return shown == (row, col) if self.plays == "pair" else row in shown

    def needle(self) -> str:
        """Say what alone is clicked."""
        row, col = np.argwhere(self.certain)[0]
        return f"the pair ({row}, {col})" if self.plays == "pair" else f"item {row}"


def _in_list(attraction: Sequence[float], examination: Sequence[float]) -> Rates:
    return np.outer(attraction, examination)


_ATTRACTION, _EXAMINATION = [0.9, 0.2, 0.4, 0.6, 0.1, 0.3, 0.5, 0.7], [1.0, 0.9]
_GAMES = {
    "pair": Game(
        "pair", np.outer([0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0]), np.outer([0.9, 0.2, 0.4], [0.8, 0.1, 0.3, 0.5]),
        ((1, 1), (1, 5), (5, 1), (2, 2)), ((0, 3), (3, -1), (2.5, 2)),
        RankOne([0.9, 0.2, 0.4], [0.8, 0.1, 0.3, 0.5]),
    ),
    "list": Game(
        "list", _in_list(np.eye(8)[3].tolist(), [1.0, 1.0]), _in_list(_ATTRACTION, _EXAMINATION),
        ((1, 1), (5, 1), (3, 3), (4, 2)), ((0, 1), (3, 0), (3, 4), (2.5, 2)),
        PBM(_ATTRACTION, _EXAMINATION),
    ),
}  # fmt: skip


def game_of(plays: Plays) -> Game:
    """Return the game for policies that play this; there is none for combinations."""
    expect(
        plays in _GAMES, "a policy that plays pairs or lists", f"one that plays {KINDS[plays]}",
        "test it in a problem that asks for them: ProblemSuite.check(problem=..., policy=...)",
    )  # fmt: skip
    return _GAMES[plays]
