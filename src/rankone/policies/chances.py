"""Probabilities of decisions, asked from Python: the table of all pairs, and whether a policy's own can be true.

Live experiments ask for them inside compiled code (`chances` of `rankone.kernels.policy`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankone.compiling.compiled import compile_errors_explained, compiled
from rankone.errors import InputError
from rankone.kernels.policy import Floats, chances, has_chances
from rankone.policies.agent import Agent
from rankone.policies.base import Policy

_DECISIONS, _OPEN = 60, 5  # played to check a policy, and outcomes that are late meanwhile
_ROUNDING = 1e-6


def _fill(state: Any, shown: Any, found: Any, table: Any) -> bool:
    """Ask for each row with every column."""
    for row in range(table.shape[0]):
        shown[0], shown[1] = row, 0
        if not chances(state, shown, found):
            return False
        for col in range(table.shape[1]):
            table[row, col] = found[table.shape[0] + col]
    return True


def chance_table(agent: Agent) -> Floats | None:
    """Return the probability of each pair, (K, L), at the last decision of an agent, before it learns anything more.

    None: its policy cannot say.

    >>> from rankone import as_policy
    >>> agent = as_policy("uniform").agent(n_rows=2, n_cols=5)
    >>> _ = agent.ask()
    >>> chance_table(agent).tolist()
    [[0.1, 0.1, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.1, 0.1]]
    """
    if not has_chances(type(agent.state)):
        return None
    (n_rows, n_cols), module = agent.shape, type(agent.policy).__module__
    table = np.empty((n_rows, n_cols))
    with compile_errors_explained(module):
        known = compiled(_fill, module)(agent.state, np.zeros(2, np.int64), np.empty(n_rows + n_cols), table)
    return table if known else None


def cross_of(agent: Agent, row: int, col: int) -> Floats | None:
    """Return what `chances` fills in for one pair: each row with its column, then each column with its row."""
    module, found = type(agent.policy).__module__, np.full(sum(agent.shape), np.nan)
    with compile_errors_explained(module):
        known = compiled(_ask, module)(agent.state, np.array([row, col]), found)
    return found if known else None


def _ask(state: Any, shown: Any, found: Any) -> bool:
    return chances(state, shown, found)


def check_chances(policy: Policy, n_rows: int, n_cols: int) -> None:
    """Refuse a policy whose probabilities cannot be true, after a short run with random outcomes.

    A policy that cannot say passes: it makes no statement. So do the package's own, which are tested.

    >>> from rankone import as_policy
    >>> check_chances(as_policy("uniform"), n_rows=2, n_cols=5)
    """
    if policy.plays != "pair" or type(policy).__module__.startswith("rankone."):
        return
    agent, rng = policy.with_horizon(1_000).for_problem(0, 0).agent(n_rows, n_cols), np.random.default_rng(0)
    waiting = []
    for _ in range(_DECISIONS):
        waiting.append(agent.ask())
        table = chance_table(agent)
        if table is None:
            return
        refuse_wrong_chances(table, cross_of(agent, *waiting[-1].shown), waiting[-1].shown, policy.label)
        if len(waiting) > _OPEN:
            agent.tell(waiting.pop(int(rng.random() * len(waiting))), bool(rng.random() < 0.3))


def refuse_wrong_chances(table: Floats, cross: Floats | None, shown: tuple[int, ...], label: str) -> None:
    """Refuse probabilities that are negative, do not sum to 1, or call impossible what was just decided."""
    what, do = f"probabilities of '{label}'", "see `chances` in rankone.kernels.policy, or register none"
    if not (table >= 0.0).all():
        raise InputError(f"{what} of at least 0", float(np.min(table)), do)
    if not abs(table.sum() - 1.0) <= _ROUNDING:
        raise InputError(f"{what} of all pairs that sum to 1", float(table.sum()), do)
    if table[shown] <= 0.0:
        raise InputError(f"{what} above 0 for what it decided", f"0 for the pair {shown}", do)
    wanted = np.concatenate([table[:, shown[1]], table[shown[0]]])
    if cross is None or not np.allclose(cross, wanted, rtol=1e-6, atol=1e-12):
        raise InputError(f"{what} that are the same whichever pair is asked for", f"{cross} and {wanted}", do)
