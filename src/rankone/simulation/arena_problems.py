"""The named problems every policy is judged on, each with a horizon at which telling policies apart makes sense.

They come in two fixed halves of the same kinds: a policy is tuned on one half and reported on the other. A *trap* is a
problem on which a policy can stay with a wrong row or column for long; there the tail of the regret matters. A third
part, as large as a half, is like real tests of headlines and images: many clicks are needed there to learn a little.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from rankone.numerics.seeds import generator
from rankone.problems import Problem, RankOne, as_problem

Half = Literal["tune", "report", "headlines"]


@dataclass(frozen=True)
class ArenaProblem:
    """A problem of the arena: how to make it, how long to play it, which half it belongs to."""

    name: str
    horizon: int
    half: Half | None
    make: Callable[[], Problem]
    trap: bool = False
    world: str | None = None  # of a problem of lists: how visitors read
    spread: Callable[[int], Problem] | None = None  # of one that changes: the same, over so many decisions

    def problem(self, horizon: int | None = None) -> Problem:
        """Return the problem under its name in the arena; what changes while it is played does so within `horizon`."""
        made = self.make() if self.spread is None else self.spread(horizon or self.horizon)
        return type(made)(**made.to_dict() | {"name": self.name})


def _spec(text: str) -> Callable[[], RankOne]:
    return lambda: as_problem(text)


def _lines(rows: npt.ArrayLike, cols: npt.ArrayLike) -> Callable[[], RankOne]:
    return lambda: RankOne(np.asarray(rows, np.float64), np.asarray(cols, np.float64))


def _ranking(n_items: int, attraction: float, decay: float) -> Callable[[], RankOne]:
    """Ten positions, examined less and less; most items attract little (Beta(1, b) with mean `attraction`)."""

    def make() -> RankOne:
        items = generator(0, "arena ranking", n_items).beta(1.0, 1.0 / attraction - 1.0, n_items)
        return RankOne((1.0 / (1.0 + decay * np.arange(10))).tolist(), items)

    return make


PROBLEMS: tuple[ArenaProblem, ...] = (
    ArenaProblem("needle-32", 100_000, "tune", _spec("needle:32x32")),
    ArenaProblem("needle-64", 200_000, "report", _spec("needle:64x64")),
    ArenaProblem("needle-128", 300_000, "tune", _spec("needle:128x128")),
    ArenaProblem("needle-high", 50_000, "report", _spec("needle:16x16:p=0.7,gap=0.2")),
    ArenaProblem("extreme-needle-8", 20_000, "tune", _spec("needle:8x8:p=0,gap=0.7")),
    ArenaProblem("extreme-needle-16", 50_000, "report", _spec("needle:16x16:p=0,gap=0.5")),
    ArenaProblem("near-tie-8", 100_000, "tune", _lines([0.6, 0.57] + [0.3] * 6, [0.6, 0.57] + [0.3] * 6)),
    ArenaProblem("near-tie-16", 100_000, "report", _lines(np.linspace(0.5, 0.35, 16), np.linspace(0.5, 0.35, 16))),
    ArenaProblem("trap-6", 20_000, "tune", _lines([0.9, 0.8] + [0.1] * 4, [0.9] + [0.05] * 5), trap=True),
    ArenaProblem("trap-10", 50_000, "report", _lines([0.9, 0.85] + [0.1] * 8, [0.8, 0.7] + [0.05] * 8), trap=True),
    ArenaProblem("trap-16", 50_000, "tune", _lines([0.9, 0.8] + [0.1] * 14, [0.9] + [0.05] * 15), trap=True),
    ArenaProblem("trap-12-dim", 50_000, "report", _lines([0.9] + [0.3] * 11, [0.3, 0.25] + [0.02] * 10), trap=True),
    ArenaProblem("one-row-20", 50_000, "tune", _lines([0.5], np.linspace(0.8, 0.2, 20)), trap=True),
    ArenaProblem("one-column-50", 50_000, "report", _lines(np.linspace(0.9, 0.1, 50), [0.4]), trap=True),
    ArenaProblem("tiny-8", 200_000, "tune", _lines(np.linspace(0.1, 0.02, 8), np.linspace(0.1, 0.02, 8))),
    ArenaProblem("tiny-needle-16", 200_000, "report", _spec("needle:16x16:p=0.02,gap=0.06")),
    ArenaProblem("ranking-800", 100_000, "tune", _ranking(800, attraction=0.2, decay=0.3)),
    ArenaProblem("ranking-800-rare", 200_000, "report", _ranking(800, attraction=0.02, decay=0.5)),
    ArenaProblem("two-by-two", 10_000, "tune", _lines([0.7, 0.5], [0.6, 0.5])),
    ArenaProblem("two-by-two-close", 20_000, "report", _lines([0.5, 0.48], [0.9, 0.85])),
    ArenaProblem("uniform-16", 50_000, "tune", _spec("random:16x16:seed=1")),
    ArenaProblem("uniform-4x64", 50_000, "report", _spec("random:4x64:seed=2")),
    ArenaProblem("headlines-2x2", 200_000, "headlines", _spec("headlines:2x2:seed=1")),
    ArenaProblem("headlines-2x3", 200_000, "headlines", _spec("headlines:2x3:seed=2")),
    ArenaProblem("headlines-3x3", 200_000, "headlines", _spec("headlines:3x3:seed=3")),
    ArenaProblem("headlines-4x2", 200_000, "headlines", _spec("headlines:4x2:seed=4")),
    ArenaProblem("headlines-4x4", 200_000, "headlines", _spec("headlines:4x4:seed=5")),
    ArenaProblem("headlines-4x4-rare", 500_000, "headlines", _spec("headlines:4x4:seed=6,rate=0.004")),
    ArenaProblem("headlines-4x4-often", 100_000, "headlines", _spec("headlines:4x4:seed=7,rate=0.04")),
    ArenaProblem("headlines-6x3", 200_000, "headlines", _spec("headlines:6x3:seed=8")),
    ArenaProblem("headlines-6x6", 300_000, "headlines", _spec("headlines:6x6:seed=9")),
    ArenaProblem("headlines-8x4", 300_000, "headlines", _spec("headlines:8x4:seed=10")),
    ArenaProblem("headlines-12x12", 500_000, "headlines", _spec("headlines:12x12:seed=11")),
)
