"""Compile what a live experiment runs before it does, where nobody else waits for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from rankone.child_processes import SAFE_PATH
from rankone.compiling.cache import can_keep, has_kept
from rankone.compiling.compiled import compile_errors_explained, compiled, source_key
from rankone.evidence.steering import start_steering
from rankone.kernels.decision import Layout
from rankone.live.evidence.weighing import Weighing
from rankone.live.factors import Factors
from rankone.live.fold.unknown_policy import UnknownPolicy, policy_of
from rankone.live.journal.packing import pack_cross
from rankone.live.report.rate_intervals import intervals
from rankone.live.settings import DEFAULT_POLICY, Settings
from rankone.numerics.seeds import generator
from rankone.policies import Policy
from rankone.policies.advance import Stretch, advance

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
    intervals(counts, counts)  # every report has them
    named = tuple((str(factor), ("A", "B")) for factor in range(n_factors))
    settings = Settings("warm", named, goal="both", explore=0.5)
    weighing = Weighing(settings, Factors.new(settings.levels).each)
    outcomes = np.zeros((2, n_factors), np.int64)
    weighing.weigh(outcomes, outcomes[:, 0], [pack_cross(np.ones(2 * n_factors), sizes), None], None, 2, np.arange(2))
    weighing.steer(counts, counts)
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


def compile_apart(used: Iterable[tuple[str, int]], say: Callable[[str], None]) -> None:
    """Fill an empty cache on disk in another process: compiling takes 130 MiB that a process does not give back.

    Where nothing can be kept on disk, or something fails, it is left to `warm_up_all`.
    """
    key = source_key()
    if has_kept(key) or not can_keep(key):
        return
    command, env = [sys.executable, "-m", __name__, json.dumps(sorted(used))], {**os.environ, **SAFE_PATH}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as child:  # noqa: S603  # this module
        for line in child.stdout or ():
            say(line.rstrip())


def _kind(policy: Policy, n_factors: int) -> tuple[type[Policy], str, bool]:
    """Return what is compiled for itself; states may differ between two factors and any other number."""
    return type(policy), policy.label, n_factors == 2


def _print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    warm_up_all([(label, n_factors) for label, n_factors in json.loads(sys.argv[1])], _print_line, lambda _: None)
