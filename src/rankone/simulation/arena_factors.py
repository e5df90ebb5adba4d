"""The named problems of two to eight factors that policies on combinations are judged on: ``rankone arena --factors``.

Two fixed halves of the same kinds. Best click rates are 1 % to 81 %; in some worlds levels of two factors are better
together than their product says, in others effects are added. A *trap* is one whose best combination is hard to get to
by single changes, or where a policy that pools evidence by level can stay with a wrong level for long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from rankone.numerics.seeds import generator
from rankone.problems import Problem, Product, as_problem
from rankone.simulation.arena_problems import ArenaProblem, Half


def effects(sizes: Sequence[int], seed: int, rate: float = 0.05, spread: float = 0.3) -> Product:
    """Return a problem of random log effects whose best combination is clicked at a given rate.

    >>> effects([4, 5, 3], seed=1).shape
    (4, 5, 3)
    """
    drawn = [np.exp(spread * generator(seed, "practical", place).standard_normal(n)) for place, n in enumerate(sizes)]
    parts: dict[str, Any] = {f"factor {place + 1}": values / values.max() for place, values in enumerate(drawn)}
    parts["factor 1"] = rate * parts["factor 1"]
    return Product(parts)


def second_best_together(times: float) -> Product:
    """Return a problem where two levels, each second best, are clicked so many times more often together."""
    parts = {name: [0.6, 0.5, 0.3, 0.2] for name in "abc"}
    return Product(parts, interactions={("a", "b"): {("a 2", "b 2"): times}})


def added(sizes: Sequence[int], base: float, step: float) -> Product:
    """Return a problem where each level adds to the click rate, the first one most."""
    parts = {f"factor {place + 1}": step * np.linspace(1.0, 0.0, size) for place, size in enumerate(sizes)}
    return Product(parts, scale="additive", base=base)


def _entry(
    name: str, half: Half, make: Callable[[], Problem], horizon: int = 20_000, trap: bool = False
) -> ArenaProblem:
    return ArenaProblem(name, horizon, half, make, trap=trap)


_TRAP = {"a": [0.9, 0.8] + [0.1] * 6, "b": [0.9] + [0.05] * 7, "c": [1.0] + [0.3] * 7}
_DIM_TRAP = {"a": [0.9] + [0.3] * 5, "b": [0.5, 0.45] + [0.05] * 4, "c": [0.8, 0.7] + [0.1] * 4}

FACTOR_PROBLEMS: tuple[ArenaProblem, ...] = (
    _entry("needle-4x4x4", "tune", partial(as_problem, "needle:4x4x4")),
    _entry("needle-10x10x10", "report", partial(as_problem, "needle:10x10x10")),
    _entry("effects-4x5x3", "tune", partial(effects, [4, 5, 3], 1)),
    _entry("effects-4x4x4x4", "report", partial(effects, [4, 4, 4, 4], 2)),
    _entry("product-6x6x6", "tune", partial(as_problem, "product:6x6x6:seed=1")),
    _entry("effects-10x10x10-often", "report", partial(effects, [10, 10, 10], 3, rate=0.3)),
    _entry("effects-2^8", "tune", partial(effects, [2] * 8, 1)),
    _entry("needle-2^8", "report", partial(as_problem, "needle:2x2x2x2x2x2x2x2")),
    _entry("effects-5x5x5-high", "tune", partial(effects, [5, 5, 5], 5, rate=0.7)),
    _entry("effects-3^5-rare", "report", partial(effects, [3] * 5, 4, rate=0.01), horizon=50_000),
    _entry("together-1.2", "tune", partial(second_best_together, 1.2), trap=True),
    _entry("together-1.5", "report", partial(second_best_together, 1.5), trap=True),
    _entry("added-4x4x4", "tune", partial(added, [4, 4, 4], base=0.02, step=0.01), horizon=50_000),
    _entry("added-3x3x3x3-high", "report", partial(added, [3] * 4, base=0.2, step=0.1)),
    _entry("random-16x16", "tune", partial(as_problem, "random:16x16:seed=5")),
    _entry("product-8x8", "report", partial(as_problem, "product:8x8:seed=2")),
    _entry("trap-8x8x8", "tune", partial(Product, _TRAP), trap=True),
    _entry("trap-6x6x6-dim", "report", partial(Product, _DIM_TRAP), trap=True),
)
