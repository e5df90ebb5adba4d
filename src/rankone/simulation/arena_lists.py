"""The named problems of lists that every policy on lists is judged on: ``rankone arena --lists``.

Each belongs to a *world*: how visitors read and click. A policy made for one world plays in all of them, so that the
table shows what becomes of it where its assumptions are wrong. Two worlds are *traps*: there the first position is not
the one at which an item is worth most, and a policy that takes that for granted loses in every list, for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from rankone.numerics.seeds import generator
from rankone.problems import Problem, as_problem
from rankone.problems.lists import DCM, PBM
from rankone.problems.lists.base import ListProblem, low_rates
from rankone.problems.lists.pbm import examined
from rankone.simulation.arena_problems import ArenaProblem, Half

#: The worlds, by the name that tables use, and what is special about each.
WORLDS = {
    "cascade": "read from the top, up to the first click",
    "pbm": "positions examined less and less",
    "pbm, any order": "positions examined in another order than from the top",
    "dcm": "several clicks; after each some leave",
    "dcm, rising": "several clicks; further down more leave",
}
STANDARD = (0.3, 0.2, 0.15, 0.15, 0.15, 0.1, 0.05, 0.05, 0.01, 0.01)  # with ties, on purpose


def _low(kind: type[PBM] | type[DCM], n_items: int, positions: Sequence[float], mean: float) -> Problem:
    return kind(low_rates(n_items, len(positions), mean, seed=1), positions)


def _entry(name: str, world: str, half: Half, horizon: int, make: Callable[[], Problem]) -> ArenaProblem:
    return ArenaProblem(name, horizon, half, make, trap=world in ("pbm, any order", "dcm, rising"), world=world)


_CAROUSEL = (0.5, 0.9, 0.9, 0.5, 1.0, 1.0, 0.4, 0.6, 0.6, 0.4)  # two lines of a grid: the middle is seen most
_RISING_10 = tuple(np.linspace(0.1, 0.9, 10).round(2).tolist())

LIST_PROBLEMS: tuple[ArenaProblem, ...] = (
    _entry("cascade-10x5", "cascade", "tune", 20_000, partial(as_problem, "cascade-low:10x5")),
    _entry("cascade-10x3-close", "cascade", "report", 20_000, partial(as_problem, "cascade:10x3:p=0.2,gap=0.05")),
    _entry("cascade-100x5", "cascade", "report", 20_000, partial(as_problem, "cascade-low:100x5")),
    _entry("cascade-1000x10", "cascade", "tune", 10_000, partial(as_problem, "cascade-low:1000x10:mean=0.03")),
    _entry("pbm-10x5", "pbm", "report", 20_000, partial(as_problem, "pbm-low:10x5")),
    _entry("pbm-10x5-ties", "pbm", "tune", 20_000, lambda: PBM(STANDARD, (1.0, 0.75, 0.6, 0.3, 0.1))),
    _entry("pbm-10x3-steep", "pbm", "report", 20_000, lambda: PBM(np.linspace(0.5, 0.14, 10), (1.0, 0.2, 0.1))),
    _entry("pbm-100x5", "pbm", "tune", 20_000, partial(as_problem, "pbm-low:100x5")),
    _entry("pbm-1000x10-rare", "pbm", "report", 10_000, partial(as_problem, "pbm-low:1000x10:mean=0.02")),
    _entry("pbm-10x5-middle", "pbm, any order", "tune", 20_000, partial(_low, PBM, 10, (0.3, 0.6, 1, 0.6, 0.3), 0.06)),
    _entry("pbm-10x3-last", "pbm, any order", "report", 20_000, partial(_low, PBM, 10, (0.3, 0.6, 1.0), 0.1)),
    _entry("pbm-100x10-grid", "pbm, any order", "tune", 20_000, partial(_low, PBM, 100, _CAROUSEL, 0.06)),
    _entry("dcm-10x5", "dcm", "tune", 20_000, partial(as_problem, "dcm-low:10x5")),
    _entry("dcm-100x3", "dcm", "report", 20_000, partial(as_problem, "dcm-low:100x3")),
    _entry(
        "dcm-10x5-rising", "dcm, rising", "report", 20_000, partial(_low, DCM, 10, (0.2, 0.35, 0.5, 0.65, 0.8), 0.1)
    ),
    _entry("dcm-100x10-rising", "dcm, rising", "tune", 20_000, partial(_low, DCM, 100, _RISING_10, 0.06)),
)


def random_loss(problem: Problem) -> float:
    """Return what a random list loses on average: the mean of 4,000, as not every world has a formula for it."""
    assert isinstance(problem, ListProblem)
    rng = generator(0, "arena lists", problem.digest)
    lists = (rng.permutation(problem.n_items)[: problem.n_positions].tolist() for _ in range(4_000))
    return problem.best_value - float(np.mean([problem.value(shown) for shown in lists]))


def told_wrongly(problem: Problem) -> dict[str, tuple[float, ...]]:
    """Return what policies that have to be told something are told in a world that has no such thing.

    >>> told_wrongly(as_problem("cascade:4x2"))
    {'examination': (1.0, 0.96)}
    """
    assert isinstance(problem, ListProblem)
    return {"examination": tuple(examined(problem.n_positions))}
