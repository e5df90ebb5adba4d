"""Compile a policy's kernels before its experiment is made: compiling in the writer's turn would hold up all others."""

from __future__ import annotations

import numpy as np

from rankone.numerics.compiled import compiled
from rankone.numerics.seeds import generator
from rankone.policies import Policy, live


def warm(policy: Policy) -> None:
    """Run what a live experiment runs on a state of no importance; the compiled code is kept."""
    state, nothing = policy.start(2, 2), np.zeros(0, np.int64)
    run = compiled(live.advance, type(policy).__module__)
    run(state, generator(0, "warm"), nothing, nothing, nothing, nothing, nothing)
