"""Bayesian regression of clicks on features: what all policies that look at features share.

The belief about the weights is normal. Kept is the upper Cholesky root U of its precision, U'U, which one observation
changes in O(d^2) by rotations (Gill, Golub, Murray, Saunders, "Methods for modifying matrix factorizations", 1974). It
draws weights as ``mean + U^-1 z``; the variance of an item's score is ``|U'^-1 x|^2``.

An observation of weight c adds ``c x x'`` to the precision and ``c y x`` to the sums; precision * mean = sums. Logistic
regressions learn otherwise: `engines.logistic`. A position that visitors look at with probability k (`examination`)
counts as k looks: k c joins the precision and the click counts in full.

The context of a decision has a row for each feature: ``context[f * n_items + item]``. Features of open lists are kept
in slots, and the tag of a decision is its slot. A state without a free slot grows (`room`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.errors import InputError
from rankone.kernels.policy import grown, learn, room, withdraw
from rankone.numerics.arrays import Floats, Ints
from rankone.policies.base import ListPolicy
from rankone.policies.engines.lists.layout import (
    UNTIL,
    OfPositions,
    Until,
    draw_ties,
    looked_at,
    needed_examination,
    positions_by_weight,
    rank_largest,
    show_at,
)
from rankone.specs import whole_number

REG_UNTIL, REG_ASKED, REG_FREE, REG_LEARNED, REG_NEXT_FIT, REG_CHANGED = range(6)  # fields of `counters`
SCORE, WIDTH, TIE, WEIGHT = range(4)  # rows of `of_items`
_SLOTS = 512  # open decisions, to begin with
_BLOCK = 128  # items whose variances are computed together: they stay in the fastest memory
_FEW = 8  # up to an eighth of the items, computed one by one, take less time than all
FIRST_FIT = 1_000  # lists before the first fit: until then drift is small, and what it adds to chance helps to explore


class RegressionState(NamedTuple):
    """Beliefs about weights (one, or two side by side), and what is kept of lists whose outcomes are not in."""

    root: Floats  # (beliefs, d, d) upper Cholesky root of the precision
    sums: Floats  # (beliefs, d) of clicks times features; a logistic belief has none
    mean: Floats  # (beliefs, d)
    prior: Floats  # (2, d) mean and precision before anything is known
    settings: Floats  # parameters of the policy
    counters: Ints  # (6,) how far lists are read; lists asked for; free slots; lists learned; when to fit; see above
    kept: Floats  # (slots, K, d) features of the items of open lists
    weights: Floats  # (slots, K) what an observation of them counts
    free: Ints  # (slots,) the free ones
    work: Floats  # (3, d) scratch space
    block: Floats  # (d, items of a block) scratch space
    of_items: Floats  # (4, L) scratch space: score, standard deviation, tie, weight of an observation
    top: Ints  # (K,) scratch space
    positions: Ints  # (K,) the position of the best item, of the second best, ...
    examined: Floats  # (K,) how often each position is looked at; 1 where nobody says
    last: Floats  # (d * L,) features of the items when `of_items` got their standard deviations
    cells: Floats  # (L, d + 2) features of each item, looks, clicks: where the posterior is fitted again


State = TypeVar("State", bound=RegressionState)


@dataclass(frozen=True)
class FeaturePolicy(ListPolicy):
    """Base of policies that look at the features of items.

    Args:
        until: how far a list counts as read: to the ``first`` click, the ``last``, or ``all`` of it.
        examination: how often each position is looked at, if that is known: all of the list then counts.
        features: how many features an item has; a study fills it in.
    """

    uses_context = True
    until: Until = "first"
    examination: OfPositions = None
    features: Annotated[int | None, "[1, inf)"] = None

    def n_features(self) -> int:
        """Return how many features an item has; refuse to start where nobody said so."""
        if self.features is None:
            do = (
                "play a problem that has them, such as vial:100x10:d=10, or choose a policy without, such as cascade-ts"
            )
            raise InputError(f"items with features for {self.name}", "none", do)
        return whole_number("features", self.features)

    def begin(
        self, kind: type[State], sizes: tuple[int, int], precision: float, settings: Sequence[float] = (), **more: Any
    ) -> State:
        """Return the state before the first list: weights around 0, each with this precision."""
        d, seen = self.n_features(), None
        if self.examination is not None:
            seen = needed_examination(self, self.examination, sizes[1])
        until = "all" if self.examination is not None else self.until
        mean, spread = more.pop("prior", (np.zeros(d), np.full(d, precision)))
        return start_regression(kind, *sizes, mean, spread, settings, until=until, examined=seen, **more)


def start_regression(
    kind: type[State],
    n_items: int,
    n_positions: int,
    prior_mean: Floats,
    precision: Floats,
    settings: Sequence[float] = (),
    *,
    until: str = "first",
    examined: Floats | None = None,
    beliefs: int = 1,
    weight: float = 1.0,
    fits: bool = False,
    bounds: bool = False,
) -> State:
    """Return the state before the first list: normal beliefs with this mean and precision, feature by feature."""
    mean, spread, d = prior_mean, precision, len(prior_mean)
    seen = np.ones(n_positions) if examined is None else examined
    of_items = np.zeros((4, n_items))
    of_items[WEIGHT] = weight
    return kind(
        root=np.stack([np.diag(np.sqrt(spread))] * beliefs),
        sums=np.zeros((beliefs, d)),
        mean=np.stack([mean] * beliefs),
        prior=np.stack([mean, spread]),
        settings=np.array([*settings, 0.0]),
        counters=np.array([UNTIL[until], 0, _SLOTS, 0, FIRST_FIT if fits else np.iinfo(np.int64).max, 0]),
        kept=np.zeros((_SLOTS, n_positions, d)),
        weights=np.zeros((_SLOTS, n_positions)),
        free=np.arange(_SLOTS)[::-1].copy(),
        work=np.zeros((3, d)),
        block=np.zeros((d, min(n_items, _BLOCK))),
        of_items=of_items,
        top=np.zeros(n_positions, np.int64),
        positions=positions_by_weight(seen),
        examined=seen,
        last=np.full(n_items * d if bounds else 0, np.inf),
        cells=np.zeros((n_items if fits else 0, d + 2)),
    )


@noalloc
def add_to_root(root: Floats, x: Floats, weight: float) -> None:
    """Change U such that U'U grows by weight x x'; x is used up."""
    d, scale = len(x), math.sqrt(weight)
    for k in range(d):
        x[k] *= scale
    for k in range(d):
        old, part = root[k, k], x[k]
        new = math.sqrt(old * old + part * part)
        cosine, sine = new / old, part / old
        root[k, k] = new
        for i in range(k + 1, d):
            value = (root[k, i] + sine * x[i]) / cosine
            root[k, i] = value
            x[i] = cosine * x[i] - sine * value


@noalloc
def solve_down(root: Floats, x: Floats) -> None:
    """Turn x into U'^-1 x."""
    d = len(x)
    for k in range(d):
        value = x[k] / root[k, k]
        x[k] = value
        for i in range(k + 1, d):
            x[i] -= root[k, i] * value


@noalloc
def solve_up(root: Floats, x: Floats) -> None:
    """Turn x into U^-1 x."""
    d = len(x)
    for k in range(d - 1, -1, -1):
        value = x[k]
        for i in range(k + 1, d):
            value -= root[k, i] * x[i]
        x[k] = value / root[k, k]


@noalloc
def set_root(root: Floats) -> None:
    """Turn the upper half of a precision into its root."""
    d = len(root)
    for k in range(d):
        root[k, k] = math.sqrt(root[k, k])
        for i in range(k + 1, d):
            root[k, i] /= root[k, k]
        for j in range(k + 1, d):
            for i in range(j, d):
                root[j, i] -= root[k, j] * root[k, i]


@noalloc
def find_mean(state: Any, belief: int) -> None:
    """Compute the mean of a linear belief from its sums."""
    mean, root = state.mean[belief], state.root[belief]
    for k in range(len(mean)):
        mean[k] = state.sums[belief, k]
    solve_down(root, mean)
    solve_up(root, mean)


@noalloc
def draw_weights(state: Any, belief: int, scale: float, rng: Any) -> None:
    """Draw weights, with `scale` times the standard deviations of the belief, into the first row of `work`."""
    drawn, mean = state.work[0], state.mean[belief]
    for k in range(len(drawn)):
        drawn[k] = scale * rng.standard_normal()
    solve_up(state.root[belief], drawn)
    for k in range(len(drawn)):
        drawn[k] += mean[k]


@noalloc
def score_items(state: Any, context: Any, weights: Floats) -> None:
    """Fill in the score of each item; an intercept is left out, as it is the same for all."""
    scores = state.of_items[SCORE]
    n_items = len(scores)
    scores[:] = 0.0
    for k in range(len(context) // n_items):
        weight, row = weights[k], context[k * n_items : (k + 1) * n_items]
        for item in range(n_items):
            scores[item] += weight * row[item]


@noalloc
def find_widths(state: Any, belief: int, context: Any) -> None:
    """Fill in the standard deviation of each item's score."""
    root, block, widths = state.root[belief], state.block, state.of_items[WIDTH]
    n_items, size, d = len(widths), block.shape[1], len(root)
    n_given = len(context) // n_items
    first = 0
    while first < n_items:
        count = min(size, n_items - first)
        widths[first : first + count] = 0.0
        for k in range(d):
            row, start = block[k], k * n_items + first
            for item in range(count):
                row[item] = context[start + item] if k < n_given else 1.0
        for k in range(d):
            row, scale = block[k], 1.0 / root[k, k]
            for item in range(count):
                row[item] *= scale
                widths[first + item] += row[item] * row[item]
            for i in range(k + 1, d):
                other, factor = block[i], root[k, i]
                for item in range(count):
                    other[item] -= factor * row[item]
        for item in range(count):
            widths[first + item] = math.sqrt(widths[first + item])
        first += size


@noalloc
def deviation_of(state: Any, belief: int, context: Any, item: int) -> float:
    """Return the standard deviation of one item's score."""
    x, n_items, total = state.work[2], state.of_items.shape[1], 0.0
    for k in range(len(x)):
        x[k] = context[k * n_items + item] if k * n_items < len(context) else 1.0
    solve_down(state.root[belief], x)
    for k in range(len(x)):
        total += x[k] * x[k]
    return math.sqrt(total)


@noalloc
def add_widths(state: Any, belief: int, context: Any, radius: float, most: float) -> None:
    """Turn scores of a linear belief into upper bounds: `radius` standard deviations more, cut at `most`.

    Of the same items as before, standard deviations have only shrunk: an item whose bound by the old one is below those
    of all items shown last keeps it.
    """
    scores, widths, changed, lowest, open_ones = state.of_items[SCORE], state.of_items[WIDTH], 0, most, 0
    for index in range(len(context)):
        changed += context[index] != state.last[index]
    for rank in range(0 if changed else len(state.top)):
        item = state.top[rank]
        widths[item] = deviation_of(state, belief, context, item)
        lowest = min(lowest, scores[item] + radius * widths[item])
    for item in range(len(scores)):
        open_ones += scores[item] + radius * widths[item] >= lowest
    if changed or open_ones > len(scores) // _FEW:  # all together are faster
        for index in range(len(context)):
            state.last[index] = context[index]
        find_widths(state, belief, context)
        lowest = math.inf
    for item in range(len(scores)):
        bound = scores[item] + radius * widths[item]
        if bound >= lowest:
            widths[item] = deviation_of(state, belief, context, item)
            bound = scores[item] + radius * widths[item]
        scores[item] = min(most, bound)


@noalloc
def score_by_bounds(state: Any, belief: int, context: Any, radius: float, most: float) -> None:
    """Fill in upper bounds by a linear belief: `radius` standard deviations above the mean, cut at `most`."""
    find_mean(state, belief)
    score_items(state, context, state.mean[belief])
    add_widths(state, belief, context, radius, most)


@noalloc
def show_drawn(state: Any, context: Any, scale: float, rng: Any, shown: Any) -> int:
    """Show the best items by weights drawn with `scale` times the standard deviations; return the tag."""
    draw_weights(state, 0, scale, rng)
    score_items(state, context, state.work[0])
    return show_best(state, context, rng, shown)


@noalloc
def show_best(state: Any, context: Any, rng: Any, shown: Any) -> int:
    """Show the items with the largest scores, ties broken at random; keep their features; return the tag."""
    of_items, counters = state.of_items, state.counters
    n_items, d = of_items.shape[1], state.kept.shape[2]
    n_given = len(context) // n_items
    draw_ties(of_items[TIE], rng)
    rank_largest(of_items[SCORE], of_items[TIE], state.top)
    show_at(state.positions, state.top, shown)
    counters[REG_ASKED] += 1
    counters[REG_FREE] -= 1
    slot = state.free[counters[REG_FREE]]
    for position in range(len(shown)):
        item = shown[position]
        state.weights[slot, position] = of_items[WEIGHT, item]
        for k in range(d):
            state.kept[slot, position, k] = context[k * n_items + item] if k < n_given else 1.0
    return slot


@inlined
def release(state: Any, slot: int) -> None:
    """Let go of what was kept of a list."""
    state.free[state.counters[REG_FREE]] = slot
    state.counters[REG_FREE] += 1


@noalloc
def record_observation(state: Any, belief: int, x: Floats, looks: float, weight: float, clicked: int) -> None:
    """Learn one observation, linearly."""
    used = state.work[1]
    for k in range(len(x)):
        used[k] = x[k]
        state.sums[belief, k] += weight * clicked * x[k]
    add_to_root(state.root[belief], used, looks * weight)


@learn.register(RegressionState)
def _learn(state: RegressionState, shown: Any, tag: int, outcome: Any) -> None:
    for position in range(looked_at(outcome, state.counters[REG_UNTIL])):
        x, looks, clicked = state.kept[tag, position], state.examined[position], outcome[position]
        if len(state.root) > 1:  # the first of two beliefs counts all observations the same
            record_observation(state, 0, x, looks, 1.0, clicked)
        record_observation(state, len(state.root) - 1, x, looks, state.weights[tag, position], clicked)
    release(state, tag)


@withdraw.register(RegressionState)
def _withdraw(state: RegressionState, shown: Any, tag: int) -> None:
    release(state, tag)


@room.register(RegressionState)
def _room(state: RegressionState) -> int:
    return state.counters[REG_FREE]


@grown.register(RegressionState)
def _grown(state: Any, more: int) -> Any:
    before, added = len(state.free), max(len(state.free), more)
    counters = state.counters.copy()
    counters[REG_FREE] += added
    free = np.concatenate([np.arange(before, before + added)[::-1], state.free])
    kept, weights = (
        np.concatenate([array, np.zeros((added, *array.shape[1:]))]) for array in (state.kept, state.weights)
    )
    return state._replace(counters=counters, free=free, kept=kept, weights=weights)
