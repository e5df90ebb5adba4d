"""Lists of items with features: the features are the context of a decision, a row for each feature.

`FixedFeatures` has items whose features never change, with an attraction each; `FreshFeatures` draws new items for
every list, whose attraction is a function of their features: x'w (linear) or 1 / (1 + exp(-x'w)) (logistic). A policy
that looks at no features plays both.

Visitors read as in a cascade, leave satisfied with some probability after each click (``dcm``, here 1/2 everywhere), or
look at each position for itself (``pbm``). Regret is per list: the best list of *these* items minus the list shown.

The families are the worlds of papers: `c3` of Li, Wang, Zhang, Chen, "Contextual Combinatorial Cascading Bandits"
(ICML 2016), section 5.1; `vial` of Vial, Sanghavi, Shakkottai, Srikant (NeurIPS 2022) and Liu et al., "Contextual
Combinatorial Bandits with Probabilistically Triggered Arms" (ICML 2023), appendix E; `jmlr` of Zhong, Cheung, Tan,
"Thompson Sampling Algorithms for Cascading Bandits" (JMLR 2021), section 6. `logit` is ours: `c3` at rates of 5%.
"""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import noalloc
from rankone.errors import InputError
from rankone.kernels.decision import DecisionKind
from rankone.kernels.world import loss, observe, respond
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.seeds import generator
from rankone.problems.base import Problem
from rankone.problems.lists.base import ListProblem, check_positions
from rankone.problems.lists.pbm import examined
from rankone.problems.product_input import Given, Names
from rankone.problems.registry import family
from rankone.specs import one_of, whole_number

READING = ("cascade", "dcm", "pbm")
LINKS = ("linear", "logistic")
_LEAVE = 0.5  # how many leave satisfied after a click, where some stay
OF_POSITIONS, IS_LOGISTIC = range(2)  # fields of `law`


class FeatureWorld(NamedTuple):
    """Items with features, and what the visitors of lists of them do."""

    features: Floats  # (d, L) of the items that can be shown now
    attraction: Floats  # (L,)
    weights: Floats  # (d,) what features are worth, where items are drawn for each list; (0,): they stay
    seen: Floats  # (K,) how many leave after a click at each position, or look at it
    order: Ints  # (K,) the positions, the largest `seen` first
    law: Ints  # (2,) is each position looked at for itself; is attraction logistic
    best: Floats  # (1,) what the best list earns
    top: Floats  # (K,) scratch space


@noalloc
def _value(world: FeatureWorld, shown: Any) -> float:
    missed, clicks = 1.0, 0.0
    for position in range(len(shown)):
        rate = world.seen[position] * world.attraction[shown[position]]
        clicks += rate
        missed *= 1.0 - rate
    return clicks if world.law[OF_POSITIONS] else 1.0 - missed


@noalloc
def _find_best(world: FeatureWorld) -> None:
    """Note what the best list earns: the best item where `seen` is largest, and so on."""
    top, count, n_positions = world.top, 0, len(world.top)
    for item in range(len(world.attraction)):
        rate = world.attraction[item]
        if count == n_positions and rate <= top[count - 1]:
            continue
        index = min(count, n_positions - 1)
        while index > 0 and top[index - 1] < rate:
            top[index] = top[index - 1]
            index -= 1
        top[index] = rate
        count = min(count + 1, n_positions)
    missed, clicks = 1.0, 0.0
    for rank in range(n_positions):
        rate = world.seen[world.order[rank]] * top[rank]
        clicks += rate
        missed *= 1.0 - rate
    world.best[0] = clicks if world.law[OF_POSITIONS] else 1.0 - missed


@noalloc
def _draw_items(world: FeatureWorld, rng: Any) -> None:
    """Draw features, uniform on the unit sphere and a 1 behind them, and find what attracts."""
    d, n_items = world.features.shape
    size, rates = world.features[d - 1], world.attraction
    for item in range(n_items):
        size[item] = 1e-300
        rates[item] = 0.0
    for k in range(d - 1):
        row, weight = world.features[k], world.weights[k]
        for item in range(n_items):
            row[item] = rng.standard_normal()
        for item in range(n_items):
            size[item] += row[item] * row[item]
            rates[item] += weight * row[item]
    for item in range(n_items):
        size[item] = 1.0 / math.sqrt(size[item])
    for k in range(d - 1):
        row = world.features[k]
        for item in range(n_items):
            row[item] *= size[item]
    for item in range(n_items):
        score = rates[item] * size[item] + world.weights[d - 1]
        rate = 1.0 / (1.0 + math.exp(-score)) if world.law[IS_LOGISTIC] else score
        rates[item] = min(max(rate, 0.0), 1.0)
        size[item] = 1.0
    _find_best(world)


@observe.register(FeatureWorld)
def _observe(world: FeatureWorld, step: int, rng: Any, context: Any) -> None:
    fresh = len(world.weights) > 0
    if fresh:
        _draw_items(world, rng)
    if fresh or step == 0:
        d, n_items = world.features.shape
        for k in range(d):
            row = context[k * n_items : (k + 1) * n_items]
            for item in range(n_items):
                row[item] = world.features[k, item]


@respond.register(FeatureWorld)
def _respond(world: FeatureWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    for position in range(len(outcome)):
        outcome[position] = 0
    for position in range(len(shown)):
        rate, seen = world.attraction[shown[position]], world.seen[position]
        if world.law[OF_POSITIONS]:
            outcome[position] = 1 if rng.random() < rate * seen else 0
        elif rng.random() < rate:
            outcome[position] = 1
            if seen >= 1.0 or rng.random() < seen:
                break
    return True


@loss.register(FeatureWorld)
def _loss(world: FeatureWorld, shown: Any) -> float:
    return world.best[0] - _value(world, shown)


def _seen(reading: str, n_positions: int) -> Floats:
    one_of("reading", reading, READING)
    return np.array(examined(n_positions) if reading == "pbm" else [_LEAVE if reading == "dcm" else 1.0] * n_positions)


def _world(features: Floats, attraction: Floats, weights: Floats, reading: str, link: str, n: int) -> FeatureWorld:
    seen = _seen(reading, n)
    law = np.array([reading == "pbm", link == "logistic"], np.int64)
    order = np.argsort(-seen, kind="stable")
    world = FeatureWorld(features, attraction, weights, seen, order, law, np.zeros(1), np.zeros(n))
    _find_best(world)
    return world


class _ReadLists(Problem):
    """What both kinds share: how lists are read, and what a policy may be told of it."""

    features_seen: int  # how many features an item has
    reading: str
    n_items: int
    n_positions: int

    @property
    def n_context(self) -> int:  # type: ignore[override]
        """The numbers that a policy sees: the features of all items."""
        return self.features_seen * self.n_items

    def known(self) -> dict[str, Any]:
        """Return how many features an item has, and what a policy may be told of lists without features."""
        name = {"dcm": "termination", "pbm": "examination"}.get(self.reading)
        seen = {name: tuple(_seen(self.reading, self.n_positions).tolist())} if name else {}
        return {"features": self.features_seen} | seen

    def earned(self, clicks: Ints, shown: Ints) -> Floats:
        """Return what these lists earned, on average."""
        share = _LEAVE if self.reading == "dcm" else 1.0
        return share * clicks.sum(axis=1)


class FixedFeatures(_ReadLists, ListProblem):
    """Lists of items with features that never change.

    Args:
        attraction: ``(n_items,)`` probability that an item is clicked when it is looked at.
        features: ``(n_items, d)`` features of each item, which policies see; attraction need not follow from them.
        positions: length of the list, K.
        reading: ``cascade``, ``dcm`` (half of those who click leave) or ``pbm`` (each position for itself).
        item_names, name: see `ListProblem`.

    >>> FixedFeatures([0.5, 0.4, 0.1], [[1.0, 0.0], [0.8, 0.1], [0.0, 0.3]], positions=2).best_decision()
    (0, 1)
    """

    kind: ClassVar[str] = "fixed-features"
    reward: ClassVar[str] = "lists clicked at all"

    def __init__(
        self,
        attraction: Given,
        features: npt.ArrayLike,
        positions: int,
        reading: str = "cascade",
        *,
        item_names: Names = None,
        name: str | None = None,
    ) -> None:
        self.features = np.array(features, np.float64)
        self.reading = one_of("reading", reading, READING)
        n_items = len(np.atleast_1d(np.asarray(attraction)))
        if self.features.ndim != 2 or len(self.features) != n_items or not np.isfinite(self.features).all():
            got = " x ".join(map(str, self.features.shape))
            raise InputError(f"features of {n_items} items, one row of numbers each", got, "give each item its row")
        self.features_seen = self.features.shape[1]
        super().__init__(attraction, positions, item_names=item_names, name=name)

    @property
    def weights(self) -> Floats:
        """``(n_positions,)`` how much a good item is worth at each position."""
        return _seen(self.reading, self.n_positions)

    def start(self) -> FeatureWorld:
        """Return the world before the first decision."""
        fixed = self.features.T.copy(), self.attraction.copy(), np.zeros(0)
        return _world(*fixed, self.reading, "linear", self.n_positions)

    def value(self, shown: Sequence[int]) -> float:
        """Return what a list earns on average: its clicks (``pbm``), or visitors who leave satisfied."""
        rates = self.weights * self.attraction[list(shown)]
        return float(rates.sum() if self.reading == "pbm" else 1.0 - np.prod(1.0 - rates))


class FreshFeatures(_ReadLists):
    """Lists of items that are drawn for each list: features uniform on the unit sphere, and a 1 behind them.

    Args:
        weights: ``(d,)`` what features are worth; the last is the intercept.
        items: number of items that a list is chosen from.
        positions: length of the list, K.
        link: ``linear``, x'w cut at 0 and 1, or ``logistic``, 1 / (1 + exp(-x'w)).
        reading: ``cascade``, ``dcm`` (half of those who click leave) or ``pbm`` (each position for itself).
        name: what tables and charts call the problem.

    >>> FreshFeatures([0.3, 0.4, 0.5], items=20, positions=3, name="mine")
    <FreshFeatures mine: 20 x 3>
    """

    kind: ClassVar[str] = "fresh-features"
    decision_kind: ClassVar[DecisionKind] = "list"

    def __init__(
        self,
        weights: npt.ArrayLike,
        items: int,
        positions: int,
        link: str = "linear",
        reading: str = "cascade",
        *,
        name: str | None = None,
    ) -> None:
        self.weights = np.array(weights, np.float64)
        if self.weights.ndim != 1 or len(self.weights) < 2 or not np.isfinite(self.weights).all():
            raise InputError("weights of at least two features", weights, "give numbers, the intercept last")
        self.n_items, self.features_seen = whole_number("items", items), len(self.weights)
        self.items, self.n_positions = self.n_items, check_positions(positions, self.n_items)
        self.link, self.reading = one_of("link", link, LINKS), one_of("reading", reading, READING)
        self.positions, self.name = self.n_positions, self._named(name)

    @property
    def shape(self) -> tuple[int, int]:
        """Items and positions."""
        return self.n_items, self.n_positions

    def start(self) -> FeatureWorld:
        """Return the world before the first items are drawn."""
        features, rates = np.zeros((len(self.weights), self.n_items)), np.zeros(self.n_items)
        return _world(features, rates, self.weights.copy(), self.reading, self.link, self.n_positions)


def _on_sphere(rng: np.random.Generator, count: int, d: int) -> Floats:
    drawn = rng.standard_normal((count, d))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def _features(d: int) -> int:
    return whole_number("d", d, least=2, example=10)


@family("c3", FreshFeatures)
def c3(n_items: int, n_positions: int, *, d: int = 20, seed: int = 0, reading: str = "cascade") -> FreshFeatures:
    """New items for each list, attraction linear in d features: the synthetic world of C3-UCB.

    >>> c3(200, 4, d=20).n_context
    4000
    """
    rng = generator(whole_number("seed", seed, least=0), "c3", _features(d))
    weights = np.append(_on_sphere(rng, 1, d - 1)[0] / 2.0, 0.5)
    return FreshFeatures(weights, n_items, n_positions, "linear", reading)


@family("logit", FreshFeatures)
def logit(n_items: int, n_positions: int, *, d: int = 10, seed: int = 0, reading: str = "cascade") -> FreshFeatures:
    """New items for each list, attraction logistic in d features, 5% on average.

    >>> logit(50, 4).weights[-1].item()
    -3.0
    """
    rng = generator(whole_number("seed", seed, least=0), "logit", _features(d))
    weights = np.append(2.0 * _on_sphere(rng, 1, d - 1)[0], -3.0)
    return FreshFeatures(weights, n_items, n_positions, "logistic", reading)


@family("vial", FixedFeatures)
def vial(n_items: int, n_positions: int, *, d: int = 10, seed: int = 0, reading: str = "cascade") -> FixedFeatures:
    """Items whose unit vectors give their attraction: K good ones in [2/(3K), 1/K], others in [0, 1/(3K)].

    >>> vial(100, 10).features.shape
    (100, 10)
    """
    check_positions(n_positions, n_items)
    rng, high = generator(whole_number("seed", seed, least=0), "vial", _features(d)), 1.0 / n_positions
    good = rng.uniform(2.0 / 3.0 * high, high, n_positions)
    attraction = np.append(good, rng.uniform(0.0, high / 3.0, n_items - n_positions))
    beside = np.sqrt(1.0 - attraction[:, None] ** 2) * _on_sphere(rng, n_items, d - 1)
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return FixedFeatures(attraction, np.column_stack([attraction, beside]) @ rotation.T, n_positions, reading)


@family("jmlr", FixedFeatures)
def jmlr(n_items: int, n_positions: int, *, d: int = 4, seed: int = 0, reading: str = "cascade") -> FixedFeatures:
    """Features by a singular value decomposition of 200 visitors' clicks; items attract with .05, .1 or .2.

    >>> sorted(set(jmlr(16, 2).attraction.tolist()))
    [0.05, 0.1, 0.2]
    """
    check_positions(n_positions, n_items)
    rng = generator(whole_number("seed", seed, least=0), "jmlr", whole_number("d", d))
    attraction = np.full(n_items, 0.05)
    attraction[:n_positions], attraction[n_positions : 2 * n_positions] = 0.1, 0.2
    clicks = (rng.random((200, n_items)) < attraction).astype(float)
    features = item_features(clicks, d) * min(d / math.sqrt(n_positions), 1.0)
    return FixedFeatures(attraction, features, n_positions, reading)


def item_features(table: Floats, d: int) -> Floats:
    """Return d features of each column: those of the best approximation of rank d, the longest of length 1.

    >>> item_features(np.array([[1.0, 0.0], [1.0, 0.0]]), 1).round(6).__abs__().tolist()
    [[1.0], [0.0]]
    """
    _, sizes, columns = np.linalg.svd(table, full_matrices=False)
    found = (sizes[:d, None] * columns[:d]).T
    result = np.zeros((table.shape[1], d))
    result[:, : found.shape[1]] = found / max(float(np.linalg.norm(found, axis=1).max()), 1e-300)
    return result
