"""The named problems every policy is judged on, each with a horizon at which telling policies apart makes sense.

``arena_problems.toml`` has them. They come in two fixed halves of the same kinds: a policy is tuned on one half and
reported on the other. A *trap* is a problem on which a policy can stay with a wrong choice for long (or one without any
reason to restart, to forget or to look at features); there the tail of the regret matters. Lists each belong to a
*world*, how visitors read and click. Changes and drift are spread over the horizon that is played; days are as long as
they are.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rankone.numerics.seeds import generator
from rankone.problems import Problem, Product, RankOne, as_problem
from rankone.problems.contextual import FixedFeatures
from rankone.problems.lists import DCM, PBM
from rankone.problems.lists.base import ListProblem, low_rates
from rankone.problems.lists.pbm import examined

Half = Literal["tune", "report", "headlines"]
#: The worlds of lists, by the name that tables use, and what is special about each.
WORLDS = {
    "cascade": "read from the top, up to the first click",
    "pbm": "positions examined less and less",
    "pbm, any order": "positions examined in another order than from the top",
    "dcm": "several clicks; after each some leave",
    "dcm, rising": "several clicks; further down more leave",
}
_TRAPS = ("pbm, any order", "dcm, rising")  # the first position is not the one at which an item is worth most


@dataclass(frozen=True)
class ArenaProblem:
    """A problem of the arena: how to make it, how long to play it, which half it belongs to."""

    name: str
    horizon: int
    half: Half | None
    make: str | Callable[[], Problem] | Mapping[str, Any]  # a text may have {span}: over how many decisions it changes
    trap: bool = False
    world: str | None = None  # of a problem of lists: how visitors read

    def problem(self, horizon: int | None = None) -> Problem:
        """Return the problem under its name in the arena; what changes while it is played does so within `horizon`."""
        if isinstance(self.make, str):
            made = as_problem(self.make.format(span=horizon or self.horizon))
        elif isinstance(self.make, Mapping):
            given = {name: _levels(value) for name, value in self.make.items() if name != "kind"}
            made = KINDS[self.make["kind"]](**given)
        else:
            made = self.make()
        return type(made)(**made.to_dict() | {"name": self.name})


def _levels(given: Any) -> Any:
    """Return numbers as they are; of levels that lie on a line, or are alike but for the best, each."""
    if not isinstance(given, dict):
        return given
    if "line" in given:
        best, worst, size = given["line"]
        return np.linspace(best, worst, size).tolist()
    return given["best"] + [given["others"]] * (given["size"] - len(given["best"]))


def ranking(n_items: int, attraction: float, decay: float) -> RankOne:
    """Ten positions, examined less and less; most items attract little (Beta(1, b) with mean `attraction`)."""
    items = generator(0, "arena ranking", n_items).beta(1.0, 1.0 / attraction - 1.0, n_items)
    return RankOne((1.0 / (1.0 + decay * np.arange(10))).tolist(), items)


def unrelated(n_items: int, n_positions: int, d: int) -> FixedFeatures:
    """Items whose features have nothing to do with how they attract."""
    features = generator(0, "arena unrelated", n_items).standard_normal((n_items, d)) / d**0.5
    return FixedFeatures(low_rates(n_items, 0.06, seed=1), features, n_positions)


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


KINDS: dict[str, Callable[..., Problem]] = {
    "rank-one": RankOne,
    "product": lambda **factors: Product(factors),
    "pbm": lambda items, positions: PBM(items, positions),
    "low-pbm": lambda n_items, positions, mean: PBM(low_rates(n_items, mean, seed=1), positions),
    "low-dcm": lambda n_items, positions, mean: DCM(low_rates(n_items, mean, seed=1), positions),
    "ranking": ranking,
    "unrelated": unrelated,
    "effects": effects,
    "second-best-together": second_best_together,
    "added": added,
}


def _read(file: Path) -> dict[str, tuple[ArenaProblem, ...]]:
    arenas = tomllib.loads(file.read_text(encoding="utf-8"))
    return {
        arena: tuple(
            ArenaProblem(name, **{"trap": entry.get("world") in _TRAPS} | entry) for name, entry in problems.items()
        )
        for arena, problems in arenas.items()
    }


#: The problems of each arena, by its name.
ARENAS = _read(Path(__file__).with_suffix(".toml"))


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
