"""What a compiled call takes it gives back: a service lives for months, at hundreds of calls a second."""

from __future__ import annotations

import subprocess
import sys

import pytest

# A call that kept the 64 bytes Numba allocates to pass a generator in, or the generator, would add megabytes here.
MANY_CALLS = """
import sys
from pathlib import Path

import numpy as np

from rankone import RankOne, as_policy
from rankone.policies.advance import ASK, LEARN, Stretch, advance
from rankone.kernels.decision import Layout
from rankone.compiling.compiled import compiled
from rankone.numerics.seeds import generator
from rankone.simulation.work_unit import play_run

policy = as_policy(sys.argv[1]).with_horizon(1_000_000)


def pairs(count):
    agent = policy.agent(4, 4)
    for number in range(count):
        agent.tell(agent.ask(), number % 3 == 0)


def events(count):
    move, state, rng = compiled(advance, type(policy).__module__), policy.start(4, 4), generator(1)
    event = Stretch.room(Layout(shown=2, outcome=1), size=1)
    for _ in range(count):
        event.what[0], event.shown[0] = ASK, -1
        move(state, None, rng, event)
        event.what[0] = LEARN
        move(state, None, rng, event)


def runs(count):
    problem = RankOne([0.5, 0.1, 0.1, 0.1], [0.5, 0.1, 0.1, 0.1])
    for run in range(count // 10):
        play_run(policy.start(4, 4), problem, np.array([2]), generator(run))


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


for work in (pairs, events, runs):
    work(2_000)  # what is made once, and room for what comes and goes
    before = resident()
    work(20_000)
    print(work.__name__, resident() - before)
"""


@pytest.mark.parametrize("name", ["uts", "rank1elim-kl"])
def test_memory_stays_where_it_is(name: str) -> None:
    for _ in range(2):  # the first compiles, and what a compiler frees would be filled before the process grows
        done = subprocess.run(
            [sys.executable, "-c", MANY_CALLS, name], capture_output=True, text=True, check=True, timeout=300
        )
    grown = {work: int(size) for work, size in (line.split() for line in done.stdout.splitlines())}
    assert list(grown) == ["pairs", "events", "runs"]
    assert max(grown.values()) < 2**19, grown
