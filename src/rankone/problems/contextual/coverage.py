"""Lists for real people: each visitor is a row of a table of who likes what, and clicks the first item that they like.

What one visitor likes is correlated: 1 - product(1 - mean) is not the share of visitors who click. So the reward of a
list is its *coverage*, the share of people who like at least one of its items. The best list is hard to find; regret is
against the greedy one, which adds the item that most of those like who like none so far (at least 1 - 1/e of the best).
A policy that finds a better list has negative regret: compare policies with each other.

The protocol is that of Zong, Ni, Sung, Ke, Wen, Kveton, "Cascading Bandits for Large-Scale Recommendation Problems"
(UAI 2016), section 5: half of the people give the features of items, the other half visit.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import noalloc
from rankone.errors import InputError
from rankone.kernels.world import loss, observe, respond
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.seeds import generator
from rankone.problems.contextual.feature_lists import FixedFeatures, item_features
from rankone.problems.product_input import Names
from rankone.specs import whole_number

_LIKED = 3.0  # stars that are not yet a like


class CoverageWorld(NamedTuple):
    """Who likes what, and the features of items."""

    likes: Ints  # (people, L)
    features: Floats  # (d, L)
    best: Floats  # (1,) coverage of the greedy list


@noalloc
def _first_liked(world: CoverageWorld, person: int, shown: Any) -> int:
    for position in range(len(shown)):
        if world.likes[person, shown[position]]:
            return position
    return -1


@observe.register(CoverageWorld)
def _observe(world: CoverageWorld, step: int, rng: Any, context: Any) -> None:
    d, n_items = world.features.shape
    for index in range(d * n_items if step == 0 else 0):
        context[index] = world.features[index // n_items, index % n_items]


@respond.register(CoverageWorld)
def _respond(world: CoverageWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    liked = _first_liked(world, int(rng.random() * len(world.likes)), shown)
    for position in range(len(outcome)):
        outcome[position] = 1 if position == liked else 0
    return True


@loss.register(CoverageWorld)
def _loss(world: CoverageWorld, shown: Any) -> float:
    covered = 0
    for person in range(len(world.likes)):
        covered += _first_liked(world, person, shown) >= 0
    return world.best[0] - covered / len(world.likes)


class Coverage(FixedFeatures):
    """Lists for people of whom it is known what they like.

    Args:
        likes: ``(people, items)``, 1 where somebody likes an item, else 0; each list is shown to one of them.
        features: ``(items, d)`` features of each item, which policies see.
        positions: length of the list, K.
        item_names, name: see `ListProblem`.

    >>> Coverage([[1, 1, 0], [1, 1, 0], [0, 0, 1]], [[1.0], [0.9], [0.2]], positions=2).best_decision()
    (0, 2)
    """

    kind: ClassVar[str] = "coverage"
    reward: ClassVar[str] = "visitors who like an item of their list"

    def __init__(
        self,
        likes: npt.ArrayLike,
        features: npt.ArrayLike,
        positions: int,
        *,
        item_names: Names = None,
        name: str | None = None,
    ) -> None:
        self.likes = np.array(likes, np.int64)
        if self.likes.ndim != 2 or not self.likes.size or not np.isin(self.likes, (0, 1)).all():
            raise InputError("who likes what, a row of 0 and 1 for each person", self.likes.shape, "give those rows")
        super().__init__(self.likes.mean(axis=0), features, positions, item_names=item_names, name=name)

    def best_decision(self) -> tuple[int, ...]:
        """Return the greedy list: each item is liked by most of those who like none above it."""
        waiting = np.ones(len(self.likes), bool)
        result: list[int] = []
        for _ in range(self.n_positions):
            gains = self.likes[waiting].sum(axis=0)
            gains[result] = -1
            result.append(int(gains.argmax()))
            waiting &= self.likes[:, result[-1]] == 0
        return tuple(result)

    def value(self, shown: Sequence[int]) -> float:
        """Return the share of people who like an item of the list."""
        return float(self.likes[:, list(shown)].any(axis=1).mean())

    def start(self) -> CoverageWorld:  # type: ignore[override]
        """Return the world before the first visitor."""
        return CoverageWorld(self.likes.copy(), np.ascontiguousarray(self.features.T), np.array([self.best_value]))

    def to_dict(self) -> dict[str, Any]:
        """Plain values that the class turns back into the same problem."""
        own = {"likes": self.likes.tolist(), "features": self.features.tolist(), "positions": self.n_positions}
        return own | {"item_names": self.item_names, "name": self.name}

    @classmethod
    def from_ratings(
        cls, ratings: str | Path | npt.ArrayLike, items: int, positions: int, *, d: int = 20, seed: int = 0
    ) -> "Coverage":
        """Return a problem from people's ratings of items; more than 3 stars are a like.

        Half of the people, drawn at random, give the features: the best approximation of rank d of what they like.

        Args:
            ratings: a file of lines ``person item stars ...``, separated by tabs (MovieLens' ``u.data``; a line of
                titles may come first), or a table of stars, ``(people, items)``, 0 where there are none.
            items: how many of the items to draw.
            positions: length of the list, K.
            d: features of an item.
            seed: of the halves and the items.

        >>> stars = np.random.default_rng(0).integers(0, 6, (40, 12))
        >>> Coverage.from_ratings(stars, items=8, positions=2, d=3).shape
        (8, 2)
        """
        given = _read_stars(Path(ratings)) if isinstance(ratings, (str, Path)) else np.asarray(ratings, np.float64)
        if given.ndim != 2 or len(given) < 2:
            raise InputError("ratings of at least two people", given.shape, "give a row for each")
        likes, rng = (given > _LIKED).astype(np.int64), generator(whole_number("seed", seed, least=0), "ratings")
        drawn = np.sort(rng.permutation(likes.shape[1])[: whole_number("items", items, most=likes.shape[1])])
        people = rng.permutation(len(likes))
        learned, visiting = likes[people[: len(people) // 2]][:, drawn], likes[people[len(people) // 2 :]][:, drawn]
        features = item_features(learned.astype(np.float64), whole_number("d", d))
        return cls(visiting, features, positions, item_names=[f"item {index + 1}" for index in drawn.tolist()])


def _read_stars(path: Path) -> Floats:
    """Read lines ``person item stars``; who and what become rows and columns in the order of their first line."""
    people: dict[str, int] = {}
    items: dict[str, int] = {}
    found = []
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            for number, line in enumerate(csv.reader(lines, delimiter="\t"), start=1):
                try:
                    stars = float(line[2])
                except (IndexError, ValueError):
                    if number == 1:
                        continue
                    raise InputError(f"person, item and stars in line {number} of {path}", line, "mend it") from None
                found.append((people.setdefault(line[0], len(people)), items.setdefault(line[1], len(items)), stars))
    except (OSError, UnicodeDecodeError):
        raise InputError(f"a file of ratings {path}", "none that can be read", "check the path") from None
    result = np.zeros((len(people), len(items)))
    for person, item, stars in found:
        result[person, item] = stars
    return result
