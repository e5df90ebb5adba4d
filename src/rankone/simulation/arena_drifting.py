"""The named worlds that change which policies are judged in: ``rankone arena --drifting``.

Two fixed halves of the same kinds: sudden changes, slow drift, days and weeks of the whole site in which nothing else
changes, levels that wear out, published rates, and one that stays as it is. A *trap* is one in which a policy that
restarts, or forgets, has no reason to.
"""

from __future__ import annotations

from functools import partial

from rankone.problems import as_problem
from rankone.simulation.arena_problems import ArenaProblem, Half


def _entry(name: str, half: Half, spec: str, horizon: int = 100_000, trap: bool = False) -> ArenaProblem:
    return ArenaProblem(name, horizon, half, partial(as_problem, spec), trap=trap)


DRIFTING_PROBLEMS: tuple[ArenaProblem, ...] = (
    _entry("changes-8", "tune", "random:8x8:low=0.3,seed=1|changes=3"),
    _entry("changes-8-other", "report", "random:8x8:low=0.3,seed=2|changes=3,seed=1"),
    _entry("needle-moves-8", "tune", "needle:8x8|changes=3"),
    _entry("needle-moves-16", "report", "needle:16x16|changes=2"),
    _entry("changes-rare-clicks", "tune", "headlines:4x4:rate=0.05,spread=0.5|changes=2"),
    _entry("changes-rare-clicks-6", "report", "headlines:6x6:rate=0.05,spread=0.5|changes=2"),
    _entry("drift-6", "tune", "random:6x6:low=0.3,seed=3|drift=3"),
    _entry("drift-8", "report", "random:8x8:low=0.3,seed=4|drift=2"),
    _entry("yahoo-slow", "tune", "yahoo-slow:5x3"),
    _entry("yahoo-abrupt", "report", "yahoo-abrupt:6x3"),
    _entry("wears-out-6", "tune", "random:6x6:low=0.3,seed=5|wear=20000"),
    _entry("wears-out-8", "report", "random:8x8:low=0.3,seed=6|wear=30000"),
    _entry("steady-8", "tune", "random:8x8:low=0.3,seed=7", trap=True),
    _entry("steady-needle-8", "report", "needle:8x8", trap=True),
    _entry("days-8", "tune", "random:8x8:low=0.3,seed=8|daily=0.6", trap=True),
    _entry("days-and-weeks-8", "report", "random:8x8:low=0.3,seed=9|daily=0.6,weekly=0.3", trap=True),
)
