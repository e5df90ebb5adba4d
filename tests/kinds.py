"""Problems and policies of other kinds than rank-1 pairs, small enough to read: the contracts of policies and worlds carry
them all. Their plain twins are in `tests/oracles/kinds.py`."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

import rankone
from rankone.compiling.compiled import noalloc
from rankone.kernels.policy import decide, learn, withdraw
from rankone.kernels.world import loss, move, observe, respond
from rankone.problems import Problem


class Own(Problem):
    """A problem of one table of numbers."""

    def __init__(self, rates, name=None):
        self.rates = np.array(rates, np.float64)
        self.rates.flags.writeable = False
        self.name = name or self.kind

    def to_dict(self):
        return {"name": self.name, "rates": self.rates.tolist()}


# A combination of three factors: clicked with the product of the levels shown.


class FactorsWorld(NamedTuple):
    levels: np.ndarray  # (D, M)
    best: np.ndarray  # (1,)


class Factors(Own):
    kind: ClassVar[str] = "test-factors"
    decision_kind: ClassVar[str] = "combination"

    @property
    def shape(self):
        return (self.rates.shape[1],) * self.rates.shape[0]

    def start(self):
        return FactorsWorld(self.rates, np.array([self.rates.max(axis=1).prod()]))

    def loss_at_random(self):
        return float(self.rates.max(axis=1).prod() - self.rates.mean(axis=1).prod())

    def facts(self):
        return {"factors": len(self.rates)}


@noalloc
def product(levels, shown):
    found = 1.0
    for factor in range(len(levels)):
        found *= levels[factor, shown[factor]]
    return found


@respond.register(FactorsWorld)
def _respond_factors(world, shown, outcome, rng):
    outcome[0] = 1 if rng.random() < product(world.levels, shown) else 0
    return True


@loss.register(FactorsWorld)
def _loss_factors(world, shown):
    return world.best[0] - product(world.levels, shown)


class FactorsState(NamedTuple):
    pulls: np.ndarray  # (D, M)
    clicks: np.ndarray  # (D, M)
    asked: np.ndarray  # (1,)
    tags: np.ndarray  # (7,) outcomes by tag
    epsilon: np.ndarray


@dataclass(frozen=True)
class FactorsGreedy(rankone.Policy):
    """For each factor the level with the best mean, now and then a random one. Factors have to be of one size."""

    name: ClassVar[str] = "test-factors-greedy"
    decision_kind: ClassVar[str] = "combination"
    epsilon: float = 0.2

    def start(self, *sizes):
        table = np.zeros((len(sizes), max(sizes)), np.int64)
        return FactorsState(table, table.copy(), np.zeros(1, np.int64), np.zeros(7, np.int64), np.array([self.epsilon]))


@decide.register(FactorsState)
def _decide_factors(state, context, rng, shown):
    for factor in range(len(shown)):
        best, found = -1.0, 0
        for level in range(state.pulls.shape[1]):
            mean = (state.clicks[factor, level] + 1.0) / (state.pulls[factor, level] + 2.0)
            if mean > best:
                best, found = mean, level
        if rng.random() < state.epsilon[0]:
            found = int(rng.random() * state.pulls.shape[1])
        shown[factor] = found
    state.asked[0] += 1
    return state.asked[0] % 7


@learn.register(FactorsState)
def _learn_factors(state, shown, tag, outcome):
    state.tags[tag] += 1
    for factor in range(len(shown)):
        state.pulls[factor, shown[factor]] += 1
        state.clicks[factor, shown[factor]] += outcome[0]


# A list of three items: read from the top; after a click, half of the visitors read on.


class CascadeWorld(NamedTuple):
    attraction: np.ndarray  # (L,)
    best: np.ndarray  # (1,) probability that the best list is clicked at all


class Cascade(Own):
    kind: ClassVar[str] = "test-cascade"
    decision_kind: ClassVar[str] = "list"

    @property
    def shape(self):
        return len(self.rates), 3

    def start(self):
        return CascadeWorld(self.rates, np.array([1.0 - np.prod(1.0 - np.sort(self.rates)[-3:])]))


@respond.register(CascadeWorld)
def _respond_cascade(world, shown, outcome, rng):
    reads = True
    for place in range(len(shown)):
        outcome[place] = 0
        if reads and rng.random() < world.attraction[shown[place]]:
            outcome[place] = 1
            reads = rng.random() < 0.5
    return True


@loss.register(CascadeWorld)
def _loss_cascade(world, shown):
    missed = 1.0
    for place in range(len(shown)):
        missed *= 1.0 - world.attraction[shown[place]]
    return world.best[0] - (1.0 - missed)


class RankingState(NamedTuple):
    seen: np.ndarray  # (L,)
    clicks: np.ndarray  # (L,)
    score: np.ndarray  # (L,) scratch space


@dataclass(frozen=True)
class Ranking(rankone.Policy):
    """The items with the best perturbed click rates, the best on top."""

    name: ClassVar[str] = "test-ranking"
    decision_kind: ClassVar[str] = "list"

    def start(self, n_items, n_positions):
        return RankingState(*np.zeros((2, n_items), np.int64), np.zeros(n_items))


@decide.register(RankingState)
def _decide_ranking(state, context, rng, shown):
    for item in range(len(state.score)):
        state.score[item] = (state.clicks[item] + rng.random()) / (state.seen[item] + 1.0)
    for place in range(len(shown)):
        best = 0
        for item in range(len(state.score)):
            if state.score[item] > state.score[best]:
                best = item
        shown[place], state.score[best] = best, -1.0
    return 0


@learn.register(RankingState)
def _learn_ranking(state, shown, tag, outcome):
    last = len(shown)  # without a click everything was looked at
    for place in range(len(shown)):
        if outcome[place]:
            last = place + 1
    for place in range(last):
        state.seen[shown[place]] += 1
        state.clicks[shown[place]] += outcome[place]


# A pair in a world that moves: rates drift, and the table turns over at every 100th decision.


class DriftingWorld(NamedTuple):
    rates: np.ndarray  # (K, L)


class Drifting(Own):
    kind: ClassVar[str] = "test-drifting"

    @property
    def shape(self):
        return self.rates.shape

    def start(self):
        return DriftingWorld(self.rates.copy())


@move.register(DriftingWorld)
def _move_drifting(world, step, rng):
    n_rows, n_cols = world.rates.shape
    row, col = int(rng.random() * n_rows), int(rng.random() * n_cols)
    world.rates[row, col] = 0.5 * (world.rates[row, col] + rng.random())
    if step % 100 == 99:
        for i in range(n_rows):
            for j in range(n_cols):
                world.rates[i, j] = 1.0 - world.rates[i, j]


@respond.register(DriftingWorld)
def _respond_drifting(world, shown, outcome, rng):
    outcome[0] = 1 if rng.random() < world.rates[shown[0], shown[1]] else 0
    return True


@loss.register(DriftingWorld)
def _loss_drifting(world, shown):
    best = 0.0
    for i in range(world.rates.shape[0]):
        for j in range(world.rates.shape[1]):
            best = max(best, world.rates[i, j])
    return best - world.rates[shown[0], shown[1]]


# A pair for visitors of several kinds, which are known before the decision; the third kind never says what it did.


class VisitorsWorld(NamedTuple):
    rates: np.ndarray  # (S, K, L)
    now: np.ndarray  # (1,) the kind of this visitor


class Visitors(Own):
    kind: ClassVar[str] = "test-visitors"
    n_context = 1

    @property
    def shape(self):
        return self.rates.shape[1:]

    def start(self):
        return VisitorsWorld(self.rates, np.zeros(1, np.int64))


@observe.register(VisitorsWorld)
def _observe_visitors(world, step, rng, context):
    world.now[0] = int(rng.random() * len(world.rates))
    context[0] = world.now[0]


@respond.register(VisitorsWorld)
def _respond_visitors(world, shown, outcome, rng):
    outcome[0] = 1 if rng.random() < world.rates[world.now[0], shown[0], shown[1]] else 0
    return world.now[0] != 2


@loss.register(VisitorsWorld)
def _loss_visitors(world, shown):
    best = 0.0
    for i in range(world.rates.shape[1]):
        for j in range(world.rates.shape[2]):
            best = max(best, world.rates[world.now[0], i, j])
    return best - world.rates[world.now[0], shown[0], shown[1]]


class SegmentState(NamedTuple):
    pulls: np.ndarray  # (S, K, L)
    clicks: np.ndarray  # (S, K, L)
    silent: np.ndarray  # (S,) decisions that will never have an outcome


@dataclass(frozen=True)
class Segments(rankone.Policy):
    """For each kind of visitor the pair with the best perturbed click rate; the tag is the kind."""

    name: ClassVar[str] = "test-segments"
    uses_context: ClassVar[bool] = True

    def start(self, n_rows, n_cols):
        return SegmentState(*np.zeros((2, 3, n_rows, n_cols), np.int64), np.zeros(3, np.int64))


@decide.register(SegmentState)
def _decide_segments(state, context, rng, shown):
    segment, best = int(context[0]), -1.0
    for i in range(state.pulls.shape[1]):
        for j in range(state.pulls.shape[2]):
            score = (state.clicks[segment, i, j] + rng.random()) / (state.pulls[segment, i, j] + 1.0)
            if score > best:
                best, shown[0], shown[1] = score, i, j
    return segment


@learn.register(SegmentState)
def _learn_segments(state, shown, tag, outcome):
    state.pulls[tag, shown[0], shown[1]] += 1
    state.clicks[tag, shown[0], shown[1]] += outcome[0]


@withdraw.register(SegmentState)
def _withdraw_segments(state, shown, tag):
    state.silent[tag] += 1
