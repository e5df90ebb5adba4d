"""Compile what a live experiment runs before it does, where nobody else waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from rankone.compiling.compiled import compile_errors_explained, compiled
from rankone.kernels.advance import Stretch, advance
from rankone.kernels.decision import Layout
from rankone.kernels.steering import start_steering
from rankone.numerics.seeds import generator
from rankone.policies import Policy
from rankone.serving import winner
from rankone.serving.factors import Factors
from rankone.serving.packing import pack_cross
from rankone.serving.settings import DEFAULT_POLICY, Settings
from rankone.serving.unknown_policy import UnknownPolicy, policy_of
from rankone.serving.weighing import Weighing

_PATIENCE = 2.0  # seconds before it is said that something is compiled
_compiled: set[tuple[type[Policy], str, bool]] = set()  # by this process, or cannot be beforehand


class NotCompiled(Exception):
    """A policy has to be compiled, for which the writer's turn has no time."""

    def __init__(self, policy: Policy, n_factors: int) -> None:
        self.policy, self.n_factors = policy, n_factors


def check_compiled(policy: Policy, n_factors: int = 2) -> None:
    """Raise `NotCompiled` unless this process has compiled what a policy needs; one that is not known needs nothing."""
    if _kind(policy, n_factors) not in _compiled and not isinstance(policy, UnknownPolicy):
        raise NotCompiled(policy, n_factors)


def warm_up(policy: Policy, n_factors: int = 2) -> Callable[..., Any] | None:
    """Run what a live experiment runs on a small state that is thrown away.

    Returns:
        The compiled code; None for a policy that cannot play so small a state: it is compiled when it is played.

    Raises:
        RankoneError: its code does not compile. It is tried again the next time: somebody may have mended it.
    """
    module = type(policy).__module__
    run = compiled(advance, module)
    try:
        sizes = (2,) * n_factors
        state = policy.with_horizon(1_000).for_problem(*(0,) * n_factors).start(*sizes)
    except Exception:  # what is wrong with it is said to who asks
        _compiled.add(_kind(policy, n_factors))
        return None
    with compile_errors_explained(module):
        run(state, start_steering(sizes), generator(0, "warm"), Stretch.room(Layout(shown=n_factors, outcome=1)))
    counts = np.zeros(sizes, np.int64)
    winner.standing(counts, counts)  # every report asks who leads
    factors = Factors.new({str(factor): ("A", "B") for factor in range(n_factors)})
    weighing = Weighing(Settings("warm", ("A", "B"), ("A", "B"), policy.label, 0, 0, 0.0, 1), factors.each)
    outcomes = np.zeros((2, n_factors), np.int64)
    weighing.weigh(outcomes, outcomes[:, 0], [pack_cross(np.ones(2 * n_factors), sizes), None], None, 2, np.arange(2))
    weighing.leaders(counts)
    weighing.turned_over(0)
    _compiled.add(_kind(policy, n_factors))
    return run


def warm_up_all(used: Iterable[tuple[str, int]], say: Callable[[str], None], warn: Callable[[str], None]) -> None:
    """Warm up these policies, and the one that a new experiment has if it names none.

    Args:
        used: the policies, as experiments name them, and numbers of factors; those not known here are passed over.
        say: is told which one takes long.
        warn: is told which one does not compile; whoever asks it is told again, and the others go on.
    """
    for label, n_factors in sorted({(policy_of(DEFAULT_POLICY).live().label, 2), *used}):
        policy = policy_of(label)
        if isinstance(policy, UnknownPolicy):
            continue
        late = threading.Timer(_PATIENCE, say, [f"compiling {label} ..."])
        late.start()
        try:
            warm_up(policy, n_factors)
        except Exception as error:
            warn(f"compiling {label}: {error}")
        finally:
            late.cancel()


def _kind(policy: Policy, n_factors: int) -> tuple[type[Policy], str, bool]:
    """Return what is compiled for itself; states may differ between two factors and any other number."""
    return type(policy), policy.label, n_factors == 2
