"""Compile what a live experiment runs before it does, where nobody else waits for it."""

import functools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from rankone.child_processes import SAFE_PATH
from rankone.compiling.compiled import compile_errors_explained, compiled
from rankone.compiling.compilers import say_nothing
from rankone.compiling.folders import can_keep
from rankone.compiling.tiers import compiling_first, looking, tiered
from rankone.evidence.list_lottery import draw_list, start_lottery
from rankone.evidence.steering import start_steering
from rankone.kernels.decision import Layout
from rankone.kernels.policy import believe
from rankone.live.evidence.experiment_evidence import ExperimentEvidence
from rankone.live.evidence.list_evidence import ListEvidence, WeighedList
from rankone.live.evidence.weighed_outcomes import Weighed
from rankone.live.factors import Factors
from rankone.live.fold.unknown_policy import UnknownPolicy, policy_of
from rankone.live.journal.packing import pack_cross
from rankone.live.report.rates import intervals
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
    """Raise `NotCompiled` where decisions would have to wait for the compiler."""
    waits = not isinstance(policy, UnknownPolicy) and tiered(advance, type(policy).__module__).waits
    if waits and _kind(policy, n_factors) not in _compiled:
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
    step = _small_step(policy, n_factors)
    if step is None:
        _compiled.add(_kind(policy, n_factors))
        return None
    with compile_errors_explained(module):
        run(*step)
    with compiling_first():
        _weigh_list_once(policy) if policy.decision_kind == "list" else _weigh_once(n_factors)
    _compiled.add(_kind(policy, n_factors))
    return run


def _weigh_once(n_factors: int) -> None:
    """Weigh outcomes as a live experiment does, whatever its policy."""
    sizes = (2,) * n_factors
    counts = np.zeros(sizes, np.int64)
    intervals(counts, counts)  # every report has them
    named = tuple((str(factor), ("A", "B")) for factor in range(n_factors))
    settings = Settings("warm", named, aim="both", explore=0.5)
    evidence = ExperimentEvidence(settings, Factors.new(settings.levels).each)
    crosses = pack_cross(np.ones(2 * n_factors), sizes), None
    evidence.weigh([Weighed((0,) * n_factors, 0, cross, [], decision) for decision, cross in enumerate(crosses)])
    evidence.steering_note(counts, counts)
    evidence.reversed_levels(0)


def _weigh_list_once(policy: Policy) -> None:
    """Draw a list and weigh a click on it as a ranking does."""
    items, two = np.arange(3), np.full(2, -1)
    rng, evidence = generator(0, "warm"), ListEvidence(Settings("warm", (), positions=2, aim="both", explore=0.3), 3)
    lottery = start_lottery(believe(policy.start(3, 2), rng), items, evidence.shares(0.1, 0), 2)
    shown, chances, allowed = np.zeros(2, np.int64), np.zeros(2), np.ones(3, bool)
    draw = tiered(draw_list, draw_list.__module__)
    branch = int(draw(lottery, np.zeros(2, np.int64), allowed, two, rng, shown, chances))
    evidence.weigh(WeighedList(lottery, allowed, two, shown, branch, [0, 1]))


def warm_up_all(used: Iterable[tuple[str, int]], say: Callable[[str], None], warn: Callable[[str], None]) -> None:
    """Warm up these policies, and the one that a new experiment has if it names none.

    Args:
        used: the policies, as experiments name them, and numbers of factors; those not known here are passed over.
        say: is told which one takes long.
        warn: is told which one does not compile; whoever asks it is told again, and the others go on.
    """
    say_nothing()  # whoever called is told
    for label, n_factors in _with_default(used):
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
    """Compile in another process what the cache on disk lacks of these policies and numbers of factors.

    Where nothing can be kept on disk, or something fails, it is left to `warm_up`.
    """
    missing = [named for named in _with_default(used) if not _is_kept(*named)]
    if not missing or not can_keep():
        return
    command, env = [sys.executable, "-m", __name__, json.dumps(missing)], {**os.environ, **SAFE_PATH}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as child:  # noqa: S603  # this module
        for line in child.stdout or ():
            say(line.rstrip())


def _with_default(used: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted({(policy_of(DEFAULT_POLICY).live().label, 2), *used})


def _is_kept(label: str, n_factors: int) -> bool:
    """Tell whether the cache on disk has what an experiment runs; or another process could not compile it."""
    policy = policy_of(label)
    module = type(policy).__module__
    if isinstance(policy, UnknownPolicy) or not module.startswith("rankone."):
        return True
    step = _small_step(policy, n_factors)
    with looking() as missing:
        if step is not None:
            tiered(advance, module)(*step)
        _weigh_list_once(policy) if policy.decision_kind == "list" else _weigh_once(n_factors)
    return not missing


def _small_step(policy: Policy, n_factors: int) -> tuple[Any, ...] | None:
    """Return arguments of `advance` over no events; None: the policy cannot play on two levels of each factor."""
    if policy.decision_kind == "list":
        return policy.start(3, 2), None, generator(0, "warm"), Stretch.room(Layout(2, 2))
    sizes = (2,) * n_factors
    try:
        state = policy.with_horizon(1_000).for_problem(*(0,) * n_factors).start(*sizes)
    except Exception:  # what is wrong with it is said to who asks
        return None
    layout = Layout(shown=n_factors, outcome=1)
    return state, start_steering(sizes), generator(0, "warm"), Stretch.room(layout)


def _kind(policy: Policy, n_factors: int) -> tuple[type[Policy], str, bool]:
    """Return what is compiled for itself; states may differ between two factors and any other number."""
    return type(policy), policy.label, n_factors == 2


if __name__ == "__main__":
    wanted = [(label, n_factors) for label, n_factors in json.loads(sys.argv[1])]
    warm_up_all(wanted, functools.partial(print, flush=True), lambda _: None)
