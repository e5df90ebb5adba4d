"""The named worlds that change which policies are judged in: ``rankone arena --drifting``.

Two fixed halves of the same kinds: sudden changes, slow drift, days and weeks of the whole site in which nothing else
changes, levels that wear out, published rates, and one that stays as it is. A *trap* is one in which a policy that
restarts, or forgets, has no reason to.

Changes and drift are spread over the horizon that is played, also if that is a quick or a stretched one; days are as
long as they are.
"""

from __future__ import annotations

from functools import partial

from rankone.problems import Problem, as_problem
from rankone.simulation.arena_problems import ArenaProblem, Half

_HORIZON = 100_000


def _world(spec: str, span: int) -> Problem:
    return as_problem(spec.format(span=span))


def _entry(name: str, half: Half, spec: str, trap: bool = False) -> ArenaProblem:
    spread = partial(_world, spec)
    return ArenaProblem(name, _HORIZON, half, partial(spread, _HORIZON), trap=trap, spread=spread)


DRIFTING_PROBLEMS: tuple[ArenaProblem, ...] = (
    _entry("changes-8", "tune", "random:8x8:low=0.3,seed=1|changes=3,span={span}"),
    _entry("changes-8-other", "report", "random:8x8:low=0.3,seed=2|changes=3,span={span},seed=1"),
    _entry("needle-moves-8", "tune", "needle:8x8|changes=3,span={span}"),
    _entry("needle-moves-16", "report", "needle:16x16|changes=2,span={span}"),
    _entry("changes-rare-clicks", "tune", "headlines:4x4:rate=0.05,spread=0.5|changes=2,span={span}"),
    _entry("changes-rare-clicks-6", "report", "headlines:6x6:rate=0.05,spread=0.5|changes=2,span={span}"),
    _entry("drift-6", "tune", "random:6x6:low=0.3,seed=3|drift=3,span={span}"),
    _entry("drift-8", "report", "random:8x8:low=0.3,seed=4|drift=2,span={span}"),
    _entry("yahoo-slow", "tune", "yahoo-slow:5x3:span={span}"),
    _entry("yahoo-abrupt", "report", "yahoo-abrupt:6x3:span={span}"),
    _entry("wears-out-6", "tune", "random:6x6:low=0.3,seed=5|wear=20000"),
    _entry("wears-out-8", "report", "random:8x8:low=0.3,seed=6|wear=30000"),
    _entry("steady-8", "tune", "random:8x8:low=0.3,seed=7", trap=True),
    _entry("steady-needle-8", "report", "needle:8x8", trap=True),
    _entry("days-8", "tune", "random:8x8:low=0.3,seed=8|daily=0.6", trap=True),
    _entry("days-and-weeks-8", "report", "random:8x8:low=0.3,seed=9|daily=0.6,weekly=0.3", trap=True),
)
