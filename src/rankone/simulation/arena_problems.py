"""The named problems every policy is judged on, each with a horizon at which telling policies apart makes sense.

They come in two fixed halves of the same kinds: a policy is tuned on one half and reported on the other. A *trap* is a
problem on which a policy can stay with a wrong choice for long (or one without any reason to restart, to forget or to
look at features); there the tail of the regret matters. Lists each belong to a *world*, how visitors read and click.
Changes and drift are spread over the horizon that is played; days are as long as they are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from rankone.numerics.seeds import generator
from rankone.problems import Problem, Product, RankOne, as_problem
from rankone.problems.contextual import FixedFeatures
from rankone.problems.lists import DCM, PBM
from rankone.problems.lists.base import ListProblem, low_rates
from rankone.problems.lists.pbm import examined

Half = Literal["tune", "report", "headlines"]


@dataclass(frozen=True)
class ArenaProblem:
    """A problem of the arena: how to make it, how long to play it, which half it belongs to."""

    name: str
    horizon: int
    half: Half | None
    make: str | Callable[[], Problem]  # a text may have {span}: over how many decisions the world changes
    trap: bool = False
    world: str | None = None  # of a problem of lists: how visitors read

    def problem(self, horizon: int | None = None) -> Problem:
        """Return the problem under its name in the arena; what changes while it is played does so within `horizon`."""
        span = horizon or self.horizon
        made = as_problem(self.make.format(span=span)) if isinstance(self.make, str) else self.make()
        return type(made)(**made.to_dict() | {"name": self.name})


def _ranking(n_items: int, attraction: float, decay: float) -> RankOne:
    """Ten positions, examined less and less; most items attract little (Beta(1, b) with mean `attraction`)."""
    items = generator(0, "arena ranking", n_items).beta(1.0, 1.0 / attraction - 1.0, n_items)
    return RankOne((1.0 / (1.0 + decay * np.arange(10))).tolist(), items)


def _line(best: float, worst: float, n_levels: int) -> list[float]:
    return np.linspace(best, worst, n_levels).tolist()


PROBLEMS: tuple[ArenaProblem, ...] = (
    ArenaProblem("needle-32", 100_000, "tune", "needle:32x32"),
    ArenaProblem("needle-64", 200_000, "report", "needle:64x64"),
    ArenaProblem("needle-128", 300_000, "tune", "needle:128x128"),
    ArenaProblem("needle-high", 50_000, "report", "needle:16x16:p=0.7,gap=0.2"),
    ArenaProblem("extreme-needle-8", 20_000, "tune", "needle:8x8:p=0,gap=0.7"),
    ArenaProblem("extreme-needle-16", 50_000, "report", "needle:16x16:p=0,gap=0.5"),
    ArenaProblem("near-tie-8", 100_000, "tune", partial(RankOne, [0.6, 0.57] + [0.3] * 6, [0.6, 0.57] + [0.3] * 6)),
    ArenaProblem("near-tie-16", 100_000, "report", partial(RankOne, _line(0.5, 0.35, 16), _line(0.5, 0.35, 16))),
    ArenaProblem("trap-6", 20_000, "tune", partial(RankOne, [0.9, 0.8] + [0.1] * 4, [0.9] + [0.05] * 5), trap=True),
    ArenaProblem(
        "trap-10", 50_000, "report", partial(RankOne, [0.9, 0.85] + [0.1] * 8, [0.8, 0.7] + [0.05] * 8), trap=True
    ),
    ArenaProblem("trap-16", 50_000, "tune", partial(RankOne, [0.9, 0.8] + [0.1] * 14, [0.9] + [0.05] * 15), trap=True),
    ArenaProblem(
        "trap-12-dim", 50_000, "report", partial(RankOne, [0.9] + [0.3] * 11, [0.3, 0.25] + [0.02] * 10), trap=True
    ),
    ArenaProblem("one-row-20", 50_000, "tune", partial(RankOne, [0.5], _line(0.8, 0.2, 20)), trap=True),
    ArenaProblem("one-column-50", 50_000, "report", partial(RankOne, _line(0.9, 0.1, 50), [0.4]), trap=True),
    ArenaProblem("tiny-8", 200_000, "tune", partial(RankOne, _line(0.1, 0.02, 8), _line(0.1, 0.02, 8))),
    ArenaProblem("tiny-needle-16", 200_000, "report", "needle:16x16:p=0.02,gap=0.06"),
    ArenaProblem("ranking-800", 100_000, "tune", partial(_ranking, 800, attraction=0.2, decay=0.3)),
    ArenaProblem("ranking-800-rare", 200_000, "report", partial(_ranking, 800, attraction=0.02, decay=0.5)),
    ArenaProblem("two-by-two", 10_000, "tune", partial(RankOne, [0.7, 0.5], [0.6, 0.5])),
    ArenaProblem("two-by-two-close", 20_000, "report", partial(RankOne, [0.5, 0.48], [0.9, 0.85])),
    ArenaProblem("uniform-16", 50_000, "tune", "random:16x16:seed=1"),
    ArenaProblem("uniform-4x64", 50_000, "report", "random:4x64:seed=2"),
    ArenaProblem("headlines-2x2", 200_000, "headlines", "headlines:2x2:seed=1"),
    ArenaProblem("headlines-2x3", 200_000, "headlines", "headlines:2x3:seed=2"),
    ArenaProblem("headlines-3x3", 200_000, "headlines", "headlines:3x3:seed=3"),
    ArenaProblem("headlines-4x2", 200_000, "headlines", "headlines:4x2:seed=4"),
    ArenaProblem("headlines-4x4", 200_000, "headlines", "headlines:4x4:seed=5"),
    ArenaProblem("headlines-4x4-rare", 500_000, "headlines", "headlines:4x4:seed=6,rate=0.004"),
    ArenaProblem("headlines-4x4-often", 100_000, "headlines", "headlines:4x4:seed=7,rate=0.04"),
    ArenaProblem("headlines-6x3", 200_000, "headlines", "headlines:6x3:seed=8"),
    ArenaProblem("headlines-6x6", 300_000, "headlines", "headlines:6x6:seed=9"),
    ArenaProblem("headlines-8x4", 300_000, "headlines", "headlines:8x4:seed=10"),
    ArenaProblem("headlines-12x12", 500_000, "headlines", "headlines:12x12:seed=11"),
)


#: The worlds, by the name that tables use, and what is special about each.
WORLDS = {
    "cascade": "read from the top, up to the first click",
    "pbm": "positions examined less and less",
    "pbm, any order": "positions examined in another order than from the top",
    "dcm": "several clicks; after each some leave",
    "dcm, rising": "several clicks; further down more leave",
}
STANDARD = (0.3, 0.2, 0.15, 0.15, 0.15, 0.1, 0.05, 0.05, 0.01, 0.01)  # with ties, on purpose


def _low_rates(kind: type[PBM] | type[DCM], n_items: int, positions: Sequence[float], mean: float) -> Problem:
    return kind(low_rates(n_items, len(positions), mean, seed=1), positions)


def _of_lists(name: str, world: str, half: Half, horizon: int, make: str | Callable[[], Problem]) -> ArenaProblem:
    return ArenaProblem(name, horizon, half, make, trap=world in ("pbm, any order", "dcm, rising"), world=world)


_CAROUSEL = (0.5, 0.9, 0.9, 0.5, 1.0, 1.0, 0.4, 0.6, 0.6, 0.4)  # two lines of a grid: the middle is seen most
_MIDDLE = (0.3, 0.6, 1.0, 0.6, 0.3)
_RISING_5 = (0.2, 0.35, 0.5, 0.65, 0.8)
_RISING_10 = tuple(np.linspace(0.1, 0.9, 10).round(2).tolist())

LIST_PROBLEMS: tuple[ArenaProblem, ...] = (
    _of_lists("cascade-10x5", "cascade", "tune", 20_000, "cascade-low:10x5"),
    _of_lists("cascade-10x3-close", "cascade", "report", 20_000, "cascade:10x3:p=0.2,gap=0.05"),
    _of_lists("cascade-100x5", "cascade", "report", 20_000, "cascade-low:100x5"),
    _of_lists("cascade-1000x10", "cascade", "tune", 10_000, "cascade-low:1000x10:mean=0.03"),
    _of_lists("pbm-10x5", "pbm", "report", 20_000, "pbm-low:10x5"),
    _of_lists("pbm-10x5-ties", "pbm", "tune", 20_000, partial(PBM, STANDARD, (1.0, 0.75, 0.6, 0.3, 0.1))),
    _of_lists("pbm-10x3-steep", "pbm", "report", 20_000, partial(PBM, _line(0.5, 0.14, 10), (1.0, 0.2, 0.1))),
    _of_lists("pbm-100x5", "pbm", "tune", 20_000, "pbm-low:100x5"),
    _of_lists("pbm-1000x10-rare", "pbm", "report", 10_000, "pbm-low:1000x10:mean=0.02"),
    _of_lists("pbm-10x5-middle", "pbm, any order", "tune", 20_000, partial(_low_rates, PBM, 10, _MIDDLE, 0.06)),
    _of_lists("pbm-10x3-last", "pbm, any order", "report", 20_000, partial(_low_rates, PBM, 10, (0.3, 0.6, 1.0), 0.1)),
    _of_lists("pbm-100x10-grid", "pbm, any order", "tune", 20_000, partial(_low_rates, PBM, 100, _CAROUSEL, 0.06)),
    _of_lists("dcm-10x5", "dcm", "tune", 20_000, "dcm-low:10x5"),
    _of_lists("dcm-100x3", "dcm", "report", 20_000, "dcm-low:100x3"),
    _of_lists("dcm-10x5-rising", "dcm, rising", "report", 20_000, partial(_low_rates, DCM, 10, _RISING_5, 0.1)),
    _of_lists("dcm-100x10-rising", "dcm, rising", "tune", 20_000, partial(_low_rates, DCM, 100, _RISING_10, 0.06)),
)


def random_loss(problem: Problem) -> float:
    """Return what a random list loses on average: the mean of 4,000, as not every world has a formula for it."""
    assert isinstance(problem, ListProblem)
    rng = generator(0, "arena lists", problem.digest)
    lists = (rng.permutation(problem.n_items)[: problem.n_positions].tolist() for _ in range(4_000))
    return problem.best_value - float(np.mean([problem.value(shown) for shown in lists]))


def assumed_examination(problem: Problem) -> dict[str, tuple[float, ...]]:
    """Return what policies that have to be told something are told in a world that has no such thing.

    >>> assumed_examination(as_problem("cascade:4x2"))
    {'examination': (1.0, 0.96)}
    """
    assert isinstance(problem, ListProblem)
    return {"examination": tuple(examined(problem.n_positions))}


def effects(sizes: Sequence[int], seed: int, rate: float = 0.05, spread: float = 0.3) -> Product:
    """Return a problem of random log effects whose best combination is clicked at a given rate.

    >>> effects([4, 5, 3], seed=1).shape
    (4, 5, 3)
    """
    drawn = [np.exp(spread * generator(seed, "practical", index).standard_normal(n)) for index, n in enumerate(sizes)]
    parts: dict[str, Any] = {f"factor {index + 1}": values / values.max() for index, values in enumerate(drawn)}
    parts["factor 1"] = rate * parts["factor 1"]
    return Product(parts)


def second_best_together(times: float) -> Product:
    """Return a problem where two levels, each second best, are clicked so many times more often together."""
    parts = {name: [0.6, 0.5, 0.3, 0.2] for name in "abc"}
    return Product(parts, interactions={("a", "b"): {("a 2", "b 2"): times}})


def added(sizes: Sequence[int], base: float, step: float) -> Product:
    """Return a problem where each level adds to the click rate, the first one most."""
    parts = {f"factor {index + 1}": step * np.linspace(1.0, 0.0, size) for index, size in enumerate(sizes)}
    return Product(parts, scale="additive", base=base)


_TRAP = {"a": [0.9, 0.8] + [0.1] * 6, "b": [0.9] + [0.05] * 7, "c": [1.0] + [0.3] * 7}
_DIM_TRAP = {"a": [0.9] + [0.3] * 5, "b": [0.5, 0.45] + [0.05] * 4, "c": [0.8, 0.7] + [0.1] * 4}

FACTOR_PROBLEMS: tuple[ArenaProblem, ...] = (
    ArenaProblem("needle-4x4x4", 20_000, "tune", "needle:4x4x4"),
    ArenaProblem("needle-10x10x10", 20_000, "report", "needle:10x10x10"),
    ArenaProblem("effects-4x5x3", 20_000, "tune", partial(effects, [4, 5, 3], 1)),
    ArenaProblem("effects-4x4x4x4", 20_000, "report", partial(effects, [4, 4, 4, 4], 2)),
    ArenaProblem("product-6x6x6", 20_000, "tune", "product:6x6x6:seed=1"),
    ArenaProblem("effects-10x10x10-often", 20_000, "report", partial(effects, [10, 10, 10], 3, rate=0.3)),
    ArenaProblem("effects-2^8", 20_000, "tune", partial(effects, [2] * 8, 1)),
    ArenaProblem("needle-2^8", 20_000, "report", "needle:2x2x2x2x2x2x2x2"),
    ArenaProblem("effects-5x5x5-high", 20_000, "tune", partial(effects, [5, 5, 5], 5, rate=0.7)),
    ArenaProblem("effects-3^5-rare", 50_000, "report", partial(effects, [3] * 5, 4, rate=0.01)),
    ArenaProblem("together-1.2", 20_000, "tune", partial(second_best_together, 1.2), trap=True),
    ArenaProblem("together-1.5", 20_000, "report", partial(second_best_together, 1.5), trap=True),
    ArenaProblem("added-4x4x4", 50_000, "tune", partial(added, [4, 4, 4], base=0.02, step=0.01)),
    ArenaProblem("added-3x3x3x3-high", 20_000, "report", partial(added, [3] * 4, base=0.2, step=0.1)),
    ArenaProblem("random-16x16", 20_000, "tune", "random:16x16:seed=5"),
    ArenaProblem("product-8x8", 20_000, "report", "product:8x8:seed=2"),
    ArenaProblem("trap-8x8x8", 20_000, "tune", partial(Product, _TRAP), trap=True),
    ArenaProblem("trap-6x6x6-dim", 20_000, "report", partial(Product, _DIM_TRAP), trap=True),
)


_DRIFTING_HORIZON = 100_000


DRIFTING_PROBLEMS: tuple[ArenaProblem, ...] = (
    ArenaProblem("changes-8", _DRIFTING_HORIZON, "tune", "random:8x8:low=0.3,seed=1|changes=3,span={span}"),
    ArenaProblem(
        "changes-8-other", _DRIFTING_HORIZON, "report", "random:8x8:low=0.3,seed=2|changes=3,span={span},seed=1"
    ),
    ArenaProblem("needle-moves-8", _DRIFTING_HORIZON, "tune", "needle:8x8|changes=3,span={span}"),
    ArenaProblem("needle-moves-16", _DRIFTING_HORIZON, "report", "needle:16x16|changes=2,span={span}"),
    ArenaProblem(
        "changes-rare-clicks", _DRIFTING_HORIZON, "tune", "headlines:4x4:rate=0.05,spread=0.5|changes=2,span={span}"
    ),
    ArenaProblem(
        "changes-rare-clicks-6", _DRIFTING_HORIZON, "report", "headlines:6x6:rate=0.05,spread=0.5|changes=2,span={span}"
    ),
    ArenaProblem("drift-6", _DRIFTING_HORIZON, "tune", "random:6x6:low=0.3,seed=3|drift=3,span={span}"),
    ArenaProblem("drift-8", _DRIFTING_HORIZON, "report", "random:8x8:low=0.3,seed=4|drift=2,span={span}"),
    ArenaProblem("wears-out-6", _DRIFTING_HORIZON, "tune", "random:6x6:low=0.3,seed=5|wear=20000"),
    ArenaProblem("wears-out-8", _DRIFTING_HORIZON, "report", "random:8x8:low=0.3,seed=6|wear=30000"),
    ArenaProblem("steady-8", _DRIFTING_HORIZON, "tune", "random:8x8:low=0.3,seed=7", trap=True),
    ArenaProblem("steady-needle-8", _DRIFTING_HORIZON, "report", "needle:8x8", trap=True),
    ArenaProblem("days-8", _DRIFTING_HORIZON, "tune", "random:8x8:low=0.3,seed=8|daily=0.6", trap=True),
    ArenaProblem(
        "days-and-weeks-8", _DRIFTING_HORIZON, "report", "random:8x8:low=0.3,seed=9|daily=0.6,weekly=0.3", trap=True
    ),
)


def _unrelated(n_items: int, n_positions: int, d: int) -> FixedFeatures:
    """Items whose features have nothing to do with how they attract."""
    features = generator(0, "arena unrelated", n_items).standard_normal((n_items, d)) / d**0.5
    return FixedFeatures(low_rates(n_items, n_positions, 0.06, seed=1), features, n_positions)


FEATURE_PROBLEMS: tuple[ArenaProblem, ...] = (
    ArenaProblem("linear-100x10", 20_000, "tune", "vial:100x10:d=10,seed=101"),
    ArenaProblem("linear-40x4", 20_000, "report", "vial:40x4:d=6,seed=102"),
    ArenaProblem("linear-1000x10", 10_000, "report", "vial:1000x10:d=20,seed=103"),
    ArenaProblem("linear-100x10-dcm", 20_000, "tune", "vial:100x10:d=10,seed=104,reading=dcm"),
    ArenaProblem("linear-100x10-pbm", 20_000, "report", "vial:100x10:d=10,seed=105,reading=pbm"),
    ArenaProblem("new-200x4", 5_000, "tune", "c3:200x4:d=20,seed=106"),
    ArenaProblem("new-50x4-often", 5_000, "report", "c3:50x4:d=10,seed=107"),
    ArenaProblem("new-50x4-rare", 10_000, "tune", "logit:50x4:d=10,seed=108"),
    ArenaProblem("new-20x2-rare", 10_000, "report", "logit:20x2:d=5,seed=109"),
    ArenaProblem("clicks-256x2", 20_000, "tune", "jmlr:256x2:d=4,seed=110"),
    ArenaProblem("clicks-256x4", 20_000, "report", "jmlr:256x4:d=3,seed=111"),
    ArenaProblem("unrelated-40x4", 20_000, "tune", partial(_unrelated, 40, 4, 6), trap=True),
)
ARRIVAL_PROBLEMS: tuple[ArenaProblem, ...] = (
    ArenaProblem("four-classes", 25_000, "tune", "latent:50x3:figure=2,seed=101"),
    ArenaProblem("four-classes-500", 25_000, "report", "latent:500x3:figure=5,seed=102"),
    ArenaProblem("classes-100x20", 50_000, "tune", "latent:100x20:seed=103"),
    ArenaProblem("classes-zipf", 50_000, "report", "latent:300x30:classes=6,arrivals=zipf,seed=104"),
    ArenaProblem("mixed-60x30", 60_000, "tune", "mixed:60x30:seed=105"),
    ArenaProblem("mixed-100x40", 60_000, "report", "mixed:100x40:classes=4,seed=106"),
    ArenaProblem("mixed-rare", 100_000, "report", "mixed:200x30:rate=0.1,seed=107"),
    ArenaProblem("mixed-cold", 60_000, "report", "mixed:5000x30:arrivals=cold,visits=30,seed=108"),
    ArenaProblem("same-for-all", 25_000, "tune", "latent:100x10:classes=1,seed=109", trap=True),
    ArenaProblem("same-best", 25_000, "report", "latent:50x3:figure=3,seed=110", trap=True),
)
VISITOR_PROBLEMS: tuple[ArenaProblem, ...] = (
    ArenaProblem("visitors-5x4", 30_000, "tune", "visitors:5x4:d=5,seed=101"),
    ArenaProblem("visitors-3x3-two", 20_000, "report", "visitors:3x3:d=2,seed=102"),
    ArenaProblem("visitors-8x8", 30_000, "report", "visitors:8x8:d=4,seed=103"),
    ArenaProblem("visitors-5x4-strong", 20_000, "tune", "visitors:5x4:d=5,seed=104,crossed=0.6"),
    ArenaProblem("visitors-5x4-same", 30_000, "report", "visitors:5x4:d=5,seed=105,crossed=0", trap=True),
)
