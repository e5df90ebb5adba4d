"""One decision at a time: the driver of a policy outside simulation. It runs the very kernels that studies run."""

import inspect
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import compile_errors_explained
from rankone.compiling.tiers import tiered
from rankone.errors import DecisionError, InputError
from rankone.kernels.decision import Layout, Shape, same_kind
from rankone.kernels.policy import view, with_room
from rankone.notebook import Shown
from rankone.numerics.seeds import generator
from rankone.policies.advance import ASK, LEARN, VOID, Stretch, advance
from rankone.policies.base import Policy, as_policy
from rankone.policies.combination_policy import checked_sizes
from rankone.specs import amount, as_seed

_MOST_SHOWN = 1_000  # pairs of a table of what was learned


class AgentDecision(NamedTuple):
    """What to show: a level of each factor, or a list. Its number and tag let the outcome come at any time."""

    shown: tuple[int, ...]
    number: int
    tag: int

    @property
    def row(self) -> int:
        """Of a pair: the level of the first factor."""
        return self.shown[0]

    @property
    def col(self) -> int:
        """Of a pair: the level of the second factor."""
        return self.shown[1]

    @property
    def filler(self) -> bool:
        """True if the policy will not learn from the outcome (it waits for earlier ones)."""
        return self.tag < 0


class Agent(Shown):
    """Asks a policy what to show and tells it outcomes.

    Args:
        policy: the policy to play, or its name.
        shape: sizes of the decision, in the order of ``policy.start``: n_rows and n_cols for a policy that plays pairs.
            They may be given by these names, too.
        seed: seed of the policy's own randomness; None draws one, which is then the attribute `seed`.
        n_context: how many numbers are known before each decision (`ask` takes them).
        forbidden: combinations that are never shown: rules of one level per factor, -1 where any level will do.

    >>> import rankone
    >>> agent = rankone.UCB1().agent(n_rows=8, n_cols=10, seed=7)
    >>> first, second = agent.ask(), agent.ask()
    >>> agent.tell(second, clicked=False)
    >>> agent.tell(first, clicked=True)
    """

    def __init__(
        self,
        policy: Policy | str,
        *shape: int,
        seed: int | None = 0,
        n_context: int = 0,
        forbidden: Any = (),
        **sizes: int,
    ) -> None:
        self.policy = as_policy(policy)
        self.shape = _sizes(self.policy, shape, sizes)
        if len(forbidden) and not self.policy.supports_forbidden:
            raise InputError("a policy that can leave combinations out", self.policy.label, "choose 'uts'")
        rules = {"forbidden": forbidden} if len(forbidden) else {}
        self.state = self.policy.start(*self.shape, **rules)
        self.policy.check_context(n_context, "the caller of ask")
        self.seed = as_seed(seed)
        self.rng = generator(self.seed, "agent", self.policy.label)
        self._asked = 0
        self._open: dict[int, AgentDecision] = {}
        self._event = Stretch.room(Layout.of(self.policy.decision_kind, self.shape, n_context), size=1)
        self._pairs = same_kind(self.policy.decision_kind, "pair", self.shape)

    def _sentence(self) -> str:
        sizes = " x ".join(map(str, self.shape))
        so_far = f"{amount(self._asked, 'decision')}, {len(self._open):,} without an outcome"
        return f"{self.policy} on {sizes}, seed {self.seed}: {so_far}."

    def _tables(self) -> dict[str, Any]:
        """What the policy says that it has learned, of pairs or of levels; nothing if it does not say."""
        result = view(self.state)
        if result is None or not self._pairs:
            return {}
        n_rows, n_cols = self.shape
        names: dict[str, list[Any]]
        if result.about == "pairs":
            names = {"row": np.arange(n_rows).repeat(n_cols).tolist(), "col": list(range(n_cols)) * n_rows}
        else:
            names = {"side": ["row"] * n_rows + ["column"] * n_cols, "level": [*range(n_rows), *range(n_cols)]}
        return {result.about: names | {"outcomes": result.pulls.tolist(), "clicks": result.clicks.tolist()}}

    def _shown(self) -> Any:
        return super()._shown() if math.prod(self.shape) <= _MOST_SHOWN else {}

    def ask(self, context: Sequence[float] = ()) -> AgentDecision:
        """Return the next decision; any number may be open at a time."""
        self._event.context[0] = self._checked_context(context)
        self._advance(ASK, -1)
        shown, tag = tuple(self._event.shown[0].tolist()), int(self._event.tags[0])
        decision = AgentDecision(shown, self._asked, tag)
        self._asked += 1
        self._open[decision.number] = decision
        return decision

    def tell(self, decision: AgentDecision, clicked: Any) -> None:
        """Learn the outcome of a decision: was it clicked? Of a list, one answer a position. Once, in any order.

        A policy that learns from payoffs is told how many of its `unit` the decision paid: a whole number.
        """
        outcome = _clicks(clicked, self._event.outcomes.shape[1], self.policy.clicks_only)
        self._close(decision)
        self._advance(LEARN, decision.shown, decision.tag, outcome)

    def void(self, decision: AgentDecision) -> None:
        """Close a decision that was never shown: nothing is learned from it."""
        self._close(decision)
        self._advance(VOID, decision.shown, decision.tag)

    def _advance(self, what: int, shown: Any, tag: int = 0, outcome: Any = 0) -> None:
        event, module = self._event, type(self.policy).__module__
        self.state = with_room(self.state, 1)
        event.what[0], event.shown[0], event.tags[0], event.outcomes[0] = what, shown, tag, outcome
        with compile_errors_explained(module):
            tiered(advance, module)(self.state, None, self.rng, event)

    def _checked_context(self, context: Sequence[float]) -> Sequence[float]:
        wanted = self._event.context.shape[1]
        if len(context) != wanted:
            raise InputError(f"{amount(wanted, 'number')} of context", len(context), "pass what n_context says")
        return context

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


def _sizes(policy: Policy, shape: Sequence[int], named: dict[str, int]) -> Shape:
    """Return the sizes in the order of ``policy.start``, whether they were given in that order or by name."""
    if policy.decision_kind == "combination" and named:
        return checked_sizes(shape, named)
    signature = inspect.signature(policy.start)
    try:
        return signature.bind(*shape, **named).args
    except TypeError as error:
        got = f"{amount(len(shape) + len(named), 'size')} ({error})"
        raise InputError(
            f"the sizes {signature.replace(return_annotation=inspect.Signature.empty)} of {policy.name}",
            got,
            "pass these",
        ) from None


def _clicks(clicked: Any, count: int, clicks_only: bool) -> list[int]:
    given = clicked if count > 1 else [clicked]
    if count > 1 and (isinstance(given, str) or not hasattr(given, "__len__") or len(given) != count):
        raise InputError(f"clicked as {count} answers, one per position", clicked, "tell True or False of each")
    for each in given:
        is_payoff = not clicks_only and isinstance(each, int | np.integer)
        if not is_payoff and (not isinstance(each, int | float | np.number | np.bool_) or each not in (0, 1)):
            raise InputError("clicked as True or False", each, "tell True for a click and False for none")
    return [int(each) for each in given]
