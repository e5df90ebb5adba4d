"""Compile what a live experiment runs before it does, where nobody else waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankone.compiling.compiled import compile_errors_explained, compiled
from rankone.kernels.advance import Stretch, advance
from rankone.numerics.seeds import generator
from rankone.policies import Policy
from rankone.serving import winner
from rankone.serving.unknown_policy import UnknownPolicy

_warm: set[tuple[type[Policy], str]] = set()  # what was compiled by this process, or cannot be beforehand


class Cold(Exception):
    """A policy has to be compiled, for which the writer's turn has no time."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy


def check_warm(policy: Policy) -> None:
    """Raise `Cold` unless this process has compiled what a policy needs; one that is not known needs nothing."""
    if _kind(policy) not in _warm and not isinstance(policy, UnknownPolicy):
        raise Cold(policy)


def warm(policy: Policy) -> Callable[..., Any] | None:
    """Run what a live experiment runs on a small state that is thrown away.

    Returns:
        The compiled code; None for a policy that cannot play so small a state: it is compiled when it is played.

    Raises:
        RankoneError: its code does not compile. It is tried again the next time: somebody may have mended it.
    """
    module = type(policy).__module__
    run = compiled(advance, module)
    try:
        state = policy.with_horizon(1_000).for_problem(0, 0).start(2, 2)
    except Exception:  # what is wrong with it is said to who asks
        _warm.add(_kind(policy))
        return None
    with compile_errors_explained(module):
        run(state, generator(0, "warm"), Stretch.empty(2, 1))
    counts = np.zeros((2, 2), np.int64)
    winner.standing(counts, counts)  # every report asks who leads
    _warm.add(_kind(policy))
    return run


def _kind(policy: Policy) -> tuple[type[Policy], str]:
    return type(policy), policy.label
