"""What a policy is tested in: tables of click rates, (rows, columns) for pairs and (items, positions) for lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankone.kernels.decision import DecisionKind, Layout
from rankone.numerics.arrays import Floats
from rankone.numerics.seeds import generator
from rankone.policies import Agent
from rankone.policies.advance import ASK, LEARN, VOID
from rankone.problems import Problem, RankOne
from rankone.problems.lists import PBM
from rankone.testing.suite import expect

Rates = Floats
Shown = tuple[int, ...]


@dataclass(frozen=True)
class Game:
    """Tables for one kind of decision."""

    decision_kind: DecisionKind
    certain: Rates  # one cell (or one item) is always clicked, the others never
    mixed: Rates
    small: tuple[tuple[int, int], ...]  # shapes that are easily forgotten
    wrong: tuple[tuple[Any, Any], ...]  # shapes that must be refused
    problem: Problem  # what a study plays

    @property
    def layout(self) -> Layout:
        """Lengths of the arrays of a decision."""
        return Layout.of(self.decision_kind, self.certain.shape)

    def known(self, n_positions: int) -> dict[str, tuple[float, ...]]:
        """Return what a policy may be told beforehand in a game of so many positions."""
        if self.decision_kind != "list":
            return {}
        seen = tuple(0.9**position for position in range(n_positions))
        return {"examination": seen, "termination": seen}

    def check(self, shown: Shown, shape: Sequence[int]) -> None:
        """Refuse a decision that cannot be shown."""
        if self.decision_kind != "list":
            within = len(shown) == len(shape) and all(0 <= level < n for level, n in zip(shown, shape, strict=False))
            expected = f"a level of each factor, from 0 on and below {', '.join(map(str, shape))}"
            expect(within, expected, shown, "see what `decide` fills in")
            return
        within = len(set(shown)) == len(shown) == shape[1] and all(0 <= item < shape[0] for item in shown)
        expected = f"{shape[1]} different items from 0 to {shape[0] - 1}"
        expect(within, expected, shown, "let `decide` fill in an item at every position")

    def outcome(self, rates: Rates, shown: Shown, rng: np.random.Generator) -> list[int]:
        """Draw what is clicked."""
        cells = [shown] if self.decision_kind != "list" else [(item, position) for position, item in enumerate(shown)]
        return [int(rng.random() < rates[cell]) for cell in cells]

    def as_told(self, outcome: list[int]) -> Any:
        """Return an outcome as `Agent.tell` takes it."""
        return outcome if len(outcome) > 1 else outcome[0]

    def is_found(self, shown: Shown) -> bool:
        """Tell whether a decision shows what alone is clicked."""
        cell = tuple(np.argwhere(self.certain)[0].tolist())
        return shown == cell if self.decision_kind != "list" else cell[0] in shown

    def needle(self) -> str:
        """Say what alone is clicked."""
        cell = tuple(np.argwhere(self.certain)[0].tolist())
        return f"the pair {cell}" if self.decision_kind != "list" else f"item {cell[0]}"


_ROWS, _COLS = [0.9, 0.2, 0.4], [0.8, 0.1, 0.3, 0.5]
_ATTRACTION, _EXAMINATION = [0.9, 0.2, 0.4, 0.6, 0.1, 0.3, 0.5, 0.7], [1.0, 0.9]
_PAIRS = Game(
    "pair",
    certain=np.outer([0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0]),
    mixed=np.outer(_ROWS, _COLS),
    small=((1, 1), (1, 5), (5, 1), (2, 2)),
    wrong=((0, 3), (3, -1), (2.5, 2)),
    problem=RankOne(_ROWS, _COLS),
)
_LISTS = Game(
    "list",
    certain=np.outer(np.eye(8)[3], [1.0, 1.0]),
    mixed=np.outer(_ATTRACTION, _EXAMINATION),
    small=((1, 1), (5, 1), (3, 3), (4, 2)),
    wrong=((0, 1), (3, 0), (3, 4), (2.5, 2)),
    problem=PBM(_ATTRACTION, _EXAMINATION),
)


def game_of(plays: DecisionKind) -> Game:
    """Return the game for policies that play this; those that play combinations play pairs, too."""
    return _LISTS if plays == "list" else _PAIRS


def play(
    game: Game,
    agent: Agent,
    steps: int,
    rates: Rates,
    seed: int,
    late: int = 0,
    void: float = 0.0,
    events: list[Any] | None = None,
) -> list[Shown]:
    """Ask and tell with up to `late` decisions open, told in random order, some never; return what was shown."""
    rng = generator(seed, "conformance")
    decisions: list[Shown] = []
    waiting: list[Any] = []
    events = [] if events is None else events
    for _ in range(steps):
        decision = agent.ask()
        game.check(decision.shown, rates.shape)
        decisions.append(decision.shown)
        waiting.append(decision)
        events.append((ASK, decision, [0]))
        while len(waiting) > late:
            due = waiting.pop(int(rng.random() * len(waiting)))
            if void and rng.random() < void:
                agent.void(due)
                events.append((VOID, due, [0]))
            else:
                outcome = game.outcome(rates, due.shown, rng)
                agent.tell(due, game.as_told(outcome))
                events.append((LEARN, due, outcome))
    return decisions
