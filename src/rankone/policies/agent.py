"""One decision at a time: the driver of a policy outside simulation. It runs the very kernels that studies run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankone.compiling.compiled import compile_errors_explained, compiled
from rankone.errors import DecisionError, InputError
from rankone.kernels.advance import ASK, LEARN, VOID, Stretch, advance
from rankone.numerics.seeds import generator
from rankone.policies.base import Policy, as_policy
from rankone.specs import whole_number


class Decision(NamedTuple):
    """A pair to show. Its number and tag let the outcome come at any time and in any order."""

    row: int
    col: int
    number: int
    tag: int

    @property
    def filler(self) -> bool:
        """True if the policy will not learn from the outcome (it waits for earlier ones)."""
        return self.tag < 0


class Agent:
    """Asks a policy for pairs and tells it outcomes.

    Args:
        policy: the policy to play, or its name.
        n_rows: number of rows.
        n_cols: number of columns.
        seed: seed of the policy's own randomness.

    >>> import rankone
    >>> agent = rankone.UCB1().agent(n_rows=8, n_cols=10, seed=7)
    >>> first, second = agent.ask(), agent.ask()
    >>> agent.tell(second, reward=0)
    >>> agent.tell(first, reward=1)
    """

    def __init__(self, policy: Policy | str, n_rows: int, n_cols: int, seed: int = 0) -> None:
        self.policy, self.n_rows, self.n_cols = as_policy(policy), n_rows, n_cols
        self.state = self.policy.start(n_rows, n_cols)
        self.rng = generator(whole_number("seed", seed, least=0), "agent", self.policy.label)
        self._asked = 0
        self._open: dict[int, Decision] = {}
        self._event = Stretch.empty(2, 1, size=1)

    def ask(self) -> Decision:
        """Return the next decision; any number may be open at a time."""
        self._advance(ASK, (-1, -1))
        (row, col), tag = self._event.shown[0].tolist(), int(self._event.tags[0])
        decision = Decision(row, col, self._asked, tag)
        self._asked += 1
        self._open[decision.number] = decision
        return decision

    def tell(self, decision: Decision, reward: int) -> None:
        """Learn the outcome of a decision: 1 for a click, 0 for none. Once, in any order."""
        if isinstance(reward, (bool, np.bool_)):
            reward = int(reward)
        if not isinstance(reward, (int, float, np.integer, np.floating)) or reward not in (0, 1):
            raise InputError("a reward of 0 or 1", reward, "tell 1 for a click and 0 for none")
        self._close(decision)
        self._advance(LEARN, decision[:2], decision.tag, int(reward))

    def void(self, decision: Decision) -> None:
        """Close a decision that was never shown: nothing is learned from it."""
        self._close(decision)
        self._advance(VOID, decision[:2], decision.tag)

    def _advance(self, what: int, shown: tuple[int, int], tag: int = 0, reward: int = 0) -> None:
        event, module = self._event, type(self.policy).__module__
        event.what[0], event.shown[0], event.tags[0], event.outcomes[0, 0] = what, shown, tag, reward
        with compile_errors_explained(module):
            compiled(advance, module)(self.state, self.rng, event)

    def _close(self, decision: Decision) -> None:
        if not isinstance(decision, Decision):
            raise DecisionError("a decision that ask() returned", decision, "keep what ask() returns and tell that")
        asked = self._open.get(decision.number)
        if asked is None and 0 <= decision.number < self._asked:
            raise DecisionError(
                "a decision still open", f"number {decision.number}, which is closed", "tell each decision once"
            )
        if asked != decision:
            raise DecisionError("a decision of this agent", decision, "tell the agent that was asked")
        del self._open[decision.number]
