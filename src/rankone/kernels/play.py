"""The one loop that plays any policy in any world, whenever its outcomes come.

It is compiled once for each triple of types (state, world, feedback) and cached on disk.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankone.compiling.compiled import compiled
from rankone.kernels.feedback import RUN_NEWS, RUN_PLACE, RUN_STEP, AtOnce, Floats, Ints, Scratch, deliver, file
from rankone.kernels.policy import decide, settled
from rankone.kernels.world import loss, move, observe, respond, steady


def play(state: Any, world: Any, feedback: Any, rng: Any, checkpoints: Ints, regrets: Floats, scratch: Any) -> bool:
    """Play up to the last checkpoint; fill `regrets` with the cumulative pseudo-regret at each checkpoint.

    Pseudo-regret adds the loss of a decision, not of its random outcome. Once a policy is settled in a world that does
    not move, its remaining regret is arithmetic. Returns False where the feedback has no room for another open
    decision; called again with more room, the loop goes on from there.
    """
    shown, clock = scratch.shown, scratch.clock
    step, regret = clock[RUN_STEP], scratch.regret[0]
    for place in range(clock[RUN_PLACE], len(checkpoints)):
        while step < checkpoints[place]:
            if not deliver(feedback, state, step, scratch):
                clock[RUN_STEP], clock[RUN_PLACE], scratch.regret[0] = step, place, regret
                return False
            move(world, step, rng)
            observe(world, step, rng, scratch.context)
            tag = decide(state, scratch.context, rng, shown)
            lost = loss(world, shown)
            if settled(state) and steady(world):
                regret += (checkpoints[place] - step) * lost
                step = checkpoints[place]
                break
            seen = respond(world, shown, scratch.outcome, rng)
            regret += lost
            file(feedback, state, step, tag, seen, rng, scratch)
            step += 1
        regrets[place] = regret
    return True


def play_through(
    state: Any, world: Any, feedback: Any, rng: np.random.Generator, checkpoints: Ints, scratch: Scratch
) -> tuple[Floats, int]:
    """Play a run; return the regret at each checkpoint and how many decisions came after a new outcome."""
    loop = compiled(play, type(state).__module__, type(world).__module__)
    regrets = np.empty(len(checkpoints))
    while not loop(state, world, feedback, rng, checkpoints, regrets, scratch):
        feedback = feedback.with_room()
    at_once = isinstance(feedback, AtOnce)  # every decision but the first comes after a new outcome
    return regrets, int(checkpoints[-1]) - 1 if at_once else int(scratch.clock[RUN_NEWS])
