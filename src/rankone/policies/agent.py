"""One decision at a time: the driver of a policy outside simulation. It runs the very kernels that studies run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankone.compiling.compiled import compile_errors_explained, compiled
from rankone.deprecation import old_arguments
from rankone.errors import DecisionError, InputError
from rankone.kernels.advance import ASK, LEARN, VOID, Stretch, advance
from rankone.numerics.seeds import generator
from rankone.policies.base import Policy, as_policy
from rankone.specs import whole_number


class AgentDecision(NamedTuple):
    """A pair to show, as an agent chose it. Its number and tag let the outcome come at any time and in any order."""

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
    >>> agent.tell(second, clicked=False)
    >>> agent.tell(first, clicked=True)
    """

    def __init__(self, policy: Policy | str, n_rows: int, n_cols: int, seed: int = 0) -> None:
        self.policy, self.n_rows, self.n_cols = as_policy(policy), n_rows, n_cols
        self.state = self.policy.start(n_rows, n_cols)
        self.rng = generator(whole_number("seed", seed, least=0), "agent", self.policy.label)
        self._asked = 0
        self._open: dict[int, AgentDecision] = {}
        self._event = Stretch.empty(2, 1, size=1)

    def ask(self) -> AgentDecision:
        """Return the next decision; any number may be open at a time."""
        self._advance(ASK, (-1, -1))
        (row, col), tag = self._event.shown[0].tolist(), int(self._event.tags[0])
        decision = AgentDecision(row, col, self._asked, tag)
        self._asked += 1
        self._open[decision.number] = decision
        return decision

    @old_arguments(reward="clicked")
    def tell(self, decision: AgentDecision, clicked: bool | int) -> None:
        """Learn the outcome of a decision: was it clicked? Once, in any order."""
        if not isinstance(clicked, (int, float, np.integer, np.floating, np.bool_)) or clicked not in (0, 1):
            raise InputError("clicked as True or False", clicked, "tell True for a click and False for none")
        self._close(decision)
        self._advance(LEARN, decision[:2], decision.tag, int(clicked))

    def void(self, decision: AgentDecision) -> None:
        """Close a decision that was never shown: nothing is learned from it."""
        self._close(decision)
        self._advance(VOID, decision[:2], decision.tag)

    def _advance(self, what: int, shown: tuple[int, int], tag: int = 0, clicked: int = 0) -> None:
        event, module = self._event, type(self.policy).__module__
        event.what[0], event.shown[0], event.tags[0], event.outcomes[0, 0] = what, shown, tag, clicked
        with compile_errors_explained(module):
            compiled(advance, module)(self.state, self.rng, event)

    def _close(self, decision: AgentDecision) -> None:
        if not isinstance(decision, AgentDecision):
            raise DecisionError("a decision that ask() returned", decision, "keep what ask() returns and tell that")
        asked = self._open.get(decision.number)
        if asked is None and 0 <= decision.number < self._asked:
            raise DecisionError(
                "a decision still open", f"number {decision.number}, which is closed", "tell each decision once"
            )
        if asked != decision:
            raise DecisionError("a decision of this agent", decision, "tell the agent that was asked")
        del self._open[decision.number]
