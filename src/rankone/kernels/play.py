"""The one loop that plays any policy in any world, whenever its outcomes come.

It is compiled once for each state and world, at once or late, and cached on disk.
"""

import time
from typing import Any

import numpy as np

from rankone.compiling.compiled import compiled
from rankone.kernels.feedback import RUN_NEWS, RUN_OPEN, RUN_PAUSE, RUN_POINT, RUN_STEP, Late, Scratch, deliver, file
from rankone.kernels.policy import decide, learn, room, settled, with_room, withdraw
from rankone.kernels.world import loss, move, observe, respond, steady
from rankone.numerics.arrays import Floats, Ints

_FIRST_STRETCH = 10_000  # steps before Python has a say for the first time
_SPARE_ROOM = 512  # outcomes that a state that grows can take in besides those open
_STRETCH_SECONDS = 0.25  # and about how often later: Ctrl-C is heard then


def play(
    state: Any,
    world: Any,
    late: Any,
    moving: Any,
    rng: Any,
    luck: Any,
    checkpoints: Ints,
    regrets: Floats,
    scratch: Any,
) -> bool:
    """Play up to the last checkpoint; fill `regrets` with the cumulative pseudo-regret at each checkpoint.

    Pseudo-regret adds the loss of a decision, not of its random outcome. Returns False where there is no room for
    another open decision or its outcome, and at the step to pause at; called again, with more room, the loop goes on.

    `late` is None where outcomes come at once, `moving` where the world is steady: what only the others need is then
    not even compiled. Once a policy is settled in a steady world, its remaining regret is arithmetic.

    `luck` are random numbers of the world's own (paired studies); None: world and policy share `rng`.
    """
    source = rng if luck is None else luck
    shown, counters = scratch.shown, scratch.counters
    step, regret = counters[RUN_STEP], scratch.regret[0]
    for index in range(counters[RUN_POINT], len(checkpoints)):
        stop = min(checkpoints[index], counters[RUN_PAUSE])
        spare = room(state) - counters[RUN_OPEN]  # each step takes in one outcome at the most, but for those now open
        if spare < stop - step:
            stop = step + spare
        while step < stop:
            if late is not None and not deliver(late, state, step, scratch):
                counters[RUN_STEP], counters[RUN_POINT], scratch.regret[0] = step, index, regret
                return False
            if moving is not None:
                move(world, step, source)
                observe(world, step, source, scratch.context)
            tag = decide(state, scratch.context, rng, shown)
            lost = loss(world, shown)
            if moving is None and settled(state):
                regret += (checkpoints[index] - step) * lost
                step = checkpoints[index]
                break
            seen = respond(world, shown, scratch.outcome, source)
            regret += lost
            if late is not None:
                file(late, step, tag, seen, source, scratch)
            elif seen:
                learn(state, shown, tag, scratch.outcome)
            else:
                withdraw(state, shown, tag)
            step += 1
        if step < checkpoints[index]:
            counters[RUN_STEP], counters[RUN_POINT], scratch.regret[0] = step, index, regret
            return False
        regrets[index] = regret
    return True


def play_through(
    state: Any,
    world: Any,
    late: Late | None,
    rng: np.random.Generator,
    checkpoints: Ints,
    scratch: Scratch,
    luck: np.random.Generator | None = None,
) -> tuple[Floats, int]:
    """Play a run; return the regret at each checkpoint and how many decisions came after a new outcome.

    Compiled code hears no Ctrl-C, so it pauses now and then; what comes out does not depend on when.
    """
    loop = compiled(play, type(state).__module__, type(world).__module__)
    regrets, moving = np.empty(len(checkpoints)), None if steady(world) else True
    stretch, counters = _FIRST_STRETCH, scratch.counters
    counters[RUN_PAUSE], begin = stretch, time.perf_counter()
    while not loop(state, world, late, moving, rng, luck, checkpoints, regrets, scratch):
        if late is not None and counters[RUN_OPEN] == len(late.waiting):
            late = late.with_room()
        state = with_room(state, int(counters[RUN_OPEN]) + _SPARE_ROOM)
        if counters[RUN_STEP] >= counters[RUN_PAUSE]:  # beyond it: a settled policy goes from checkpoint to checkpoint
            taken = time.perf_counter() - begin
            stretch = max(1, int(stretch * min(10.0, _STRETCH_SECONDS / max(taken, 1e-6))))
            counters[RUN_PAUSE], begin = counters[RUN_STEP] + stretch, time.perf_counter()
    if late is None:  # every decision but the first comes after a new outcome
        return regrets, int(checkpoints[-1]) - 1
    return regrets, int(scratch.counters[RUN_NEWS])
