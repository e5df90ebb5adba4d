"""Probabilities of decisions, asked from Python: can those that a policy says be true?

Live experiments ask for them inside compiled code (`chances` of `rankone.kernels.policy`).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rankone.compiling.compiled import compile_errors_explained
from rankone.compiling.tiers import tiered
from rankone.errors import InputError
from rankone.kernels.decision import same_kind
from rankone.kernels.policy import chances, has_chances
from rankone.numerics.arrays import Floats
from rankone.numerics.seeds import generator
from rankone.policies.agent import Agent
from rankone.policies.base import Policy
from rankone.policies.engines.combinations import write_levels

_DECISIONS, _OPEN = 60, 5  # played to check a policy, and outcomes that are late meanwhile
_ROUNDING = 1e-6


def _ask(state: Any, sizes: Any, shown: Any, cross: Any, scratch: Any, table: Any) -> bool:
    """Ask for what was shown, and for each combination of the other factors with every level of the last one."""
    known = chances(state, shown, cross)
    for row in range(len(table)):
        write_levels(sizes, row * sizes[-1], shown)
        known = known and chances(state, shown, scratch)
        for col in range(sizes[-1]):
            table[row, col] = scratch[len(scratch) - sizes[-1] + col]
    return known


def chances_asked(agent: Agent, shown: tuple[int, ...]) -> tuple[Floats, Floats] | None:
    """Return the probability of each combination, and what `chances` fills in for one."""
    if not has_chances(type(agent.state)):
        return None
    sizes, module = np.array(agent.shape), type(agent.policy).__module__
    table, (cross, scratch) = np.empty((sizes[:-1].prod(), sizes[-1])), np.empty((2, sizes.sum()))
    with compile_errors_explained(module):
        known = tiered(_ask, module)(agent.state, sizes, np.array(shown), cross, scratch, table)
    return (table.reshape(sizes), cross) if known else None


def watch(agent: Agent, steps: int, rates: Floats, seed: int) -> Iterator[tuple[tuple[int, ...], Floats]]:
    """Play an agent, some outcomes late; yield what it shows and how probable everything was.

    Probabilities that cannot be true are refused. Nothing is yielded if the policy cannot say.
    """
    rng, waiting = generator(seed, "watch"), []
    for _ in range(steps):
        waiting.append(agent.ask())
        shown = waiting[-1].shown
        result = chances_asked(agent, shown)
        if result is None:
            return
        _refuse_wrong(*result, shown, agent.policy.label)
        yield shown, result[0]
        if len(waiting) > _OPEN:
            decision = waiting.pop(int(rng.random() * len(waiting)))
            agent.tell(decision, bool(rng.random() < rates[decision.shown]))


def check_chances(policy: Policy, n_rows: int, n_cols: int) -> None:
    """Refuse a policy whose probabilities cannot be true, after a short run with random outcomes.

    A policy that cannot say passes: it makes no statement. So do the package's own, which are tested.

    >>> from rankone import as_policy
    >>> check_chances(as_policy("uniform"), n_rows=2, n_cols=5)
    """
    if same_kind(policy.decision_kind, "pair", (n_rows, n_cols)) and not type(policy).__module__.startswith("rankone."):
        agent = policy.with_horizon(1_000).for_problem(0, 0).agent(n_rows, n_cols)
        for _ in watch(agent, _DECISIONS, np.full((n_rows, n_cols), 0.3), seed=0):
            pass


def _refuse_wrong(table: Floats, cross: Floats, shown: tuple[int, ...], label: str) -> None:
    kind = "pair" if len(shown) == 2 else "combination"
    what, do = f"probabilities of '{label}'", "see `chances` in rankone.kernels.policy, or register none"
    if not (table >= 0.0).all():
        raise InputError(f"{what} of at least 0", f"{np.min(table):.6g}", do)
    if not abs(table.sum() - 1.0) <= _ROUNDING:
        raise InputError(f"{what} of all {kind}s that sum to 1", f"{table.sum():.6g}", do)
    if table[shown] <= 0.0:
        raise InputError(f"{what} above 0 for what it decided", f"0 for the {kind} {shown}", do)
    others = [(*shown[:index], slice(None), *shown[index + 1 :]) for index in range(len(shown))]
    wanted = np.concatenate([table[other] for other in others])  # type: ignore[index]
    if not np.allclose(cross, wanted, rtol=1e-6, atol=1e-12):
        raise InputError(f"{what} that are the same whichever decision is asked for", f"{cross} and {wanted}", do)
