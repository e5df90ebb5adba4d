"""Bayesian regression of clicks on features: what all policies that look at features share.

The belief about the weights of d features is normal, with a mean and a precision (the inverse of the covariance). Kept
is the upper Cholesky root U of the precision, U'U, which one observation changes in O(d^2) by rotations (Gill, Golub,
Murray, Saunders, "Methods for modifying matrix factorizations", 1974). It draws weights as ``mean + U^-1 z`` and gives
the variance of an item's score as ``|U'^-1 x|^2``; rounding cannot make a variance negative.

* Linear: an observation of weight c adds ``c x x'`` to the precision and ``c y x`` to the sums; the mean solves
  precision * mean = sums.
* Logistic, one observation: with the mean m and variance s2 of its score, ``e = m + s2 (y - sigma(e))`` is where the
  posterior of the score is highest; mean += (y - sigma(e)) P x, and ``sigma'(e) x x'`` joins the precision (Laplace).
  Step after step this drifts where clicks are rare, so where features stay what they are (items are told apart by
  theirs), counts of each item are kept and the posterior is *fitted again*, by Newton's method, whenever the number of
  lists has grown by a tenth.

The context of a decision is the table of features, a row for each feature: ``context[f * n_items + item]``. What was
known of a shown item must be known when its outcome comes, perhaps much later: features of open lists are kept in
slots, and the tag of a decision is its slot. A state without a free slot grows (`room`).
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.errors import InputError
from rankone.kernels.policy import grown, learn, room, withdraw
from rankone.numerics.arrays import Floats, Ints
from rankone.policies.base import ListPolicy
from rankone.policies.engines.lists.layout import UNTIL, draw_ties, looked_at, positions_by_order, rank_largest, show_at
from rankone.specs import whole_number

REG_UNTIL, REG_ASKED, REG_FREE, REG_LEARNED, REG_NEXT_FIT, REG_CHANGED = range(6)  # fields of `counters`
SCORE, WIDTH, TIE, WEIGHT = range(4)  # rows of `of_items`
_SLOTS = 512  # open decisions, to begin with
_BLOCK = 128  # items whose variances are computed together: they stay in the fastest memory
_STEPS, _FITS = 100, 25  # of Newton's method: for one observation, for all
_FIRST_FIT, _GROWTH = 10, 1.1
_FAR = 500.0  # scores beyond it have the same click rate


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
    cells: Floats  # (L, d + 2) features of each item, looks, clicks: where the posterior is fitted again


State = TypeVar("State", bound=RegressionState)


class FeaturePolicy(ListPolicy):
    """Base of policies that look at the features of items; a subclass has a parameter `features`."""

    uses_context = True

    def n_features(self) -> int:
        """Return how many features an item has; refuse to start where nobody said so."""
        given: int | None = getattr(self, "features", None)
        if given is None:
            do = (
                "play a problem that has them, such as vial:100x10:d=10, or choose a policy without, such as cascade-ts"
            )
            raise InputError(f"items with features for {self.name}", "none", do)
        return whole_number("features", given)


def start_regression(
    kind: type[State],
    n_items: int,
    n_positions: int,
    prior_mean: Sequence[float] | Floats,
    precision: Sequence[float] | Floats,
    settings: Sequence[float] = (),
    *,
    until: str = "first",
    beliefs: int = 1,
    weight: float = 1.0,
    fits: bool = False,
) -> State:
    """Return the state before the first list: normal beliefs with this mean and precision, feature by feature."""
    mean, spread = np.array(prior_mean, np.float64), np.array(precision, np.float64)
    d = len(mean)
    of_items = np.zeros((4, n_items))
    of_items[WEIGHT] = weight
    return kind(
        root=np.stack([np.diag(np.sqrt(spread))] * beliefs),
        sums=np.zeros((beliefs, d)),
        mean=np.stack([mean] * beliefs),
        prior=np.stack([mean, spread]),
        settings=np.array([*settings, 0.0]),
        counters=np.array([UNTIL[until], 0, _SLOTS, 0, _FIRST_FIT if fits else np.iinfo(np.int64).max, 0]),
        kept=np.zeros((_SLOTS, n_positions, d)),
        weights=np.zeros((_SLOTS, n_positions)),
        free=np.arange(_SLOTS)[::-1].copy(),
        work=np.zeros((3, d)),
        block=np.zeros((d, min(n_items, _BLOCK))),
        of_items=of_items,
        top=np.zeros(n_positions, np.int64),
        positions=positions_by_order(n_positions, "best-first"),
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
    for item in range(n_items):
        scores[item] = 0.0
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
        for item in range(count):
            widths[first + item] = 0.0
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
def take_in(state: Any, belief: int, x: Floats, weight: float, clicked: int) -> None:
    """Learn one observation, linearly."""
    used = state.work[1]
    for k in range(len(x)):
        used[k] = x[k]
        state.sums[belief, k] += weight * clicked * x[k]
    add_to_root(state.root[belief], used, weight)


@learn.register(RegressionState)
def _learn(state: RegressionState, shown: Any, tag: int, outcome: Any) -> None:
    for position in range(looked_at(outcome, state.counters[REG_UNTIL])):
        x, clicked = state.kept[tag, position], outcome[position]
        if len(state.root) > 1:  # the first of two beliefs counts all observations the same
            take_in(state, 0, x, 1.0, clicked)
        take_in(state, len(state.root) - 1, x, state.weights[tag, position], clicked)
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


class LogisticState(RegressionState):
    """Beliefs about the weights of a logistic regression."""


@inlined
def sigma(score: float) -> float:
    """Return the click rate of a score."""
    return 1.0 / (1.0 + math.exp(-min(max(score, -_FAR), _FAR)))


@noalloc
def most_probable(mean: float, variance: float, pulls: int, clicks: int) -> float:
    """Return e with ``e = mean + variance * (clicks - pulls * sigma(e))``: Newton's method, kept within bounds."""
    low, high = mean - variance * (pulls - clicks), mean + variance * clicks
    result = min(max(mean, low), high)
    for _ in range(_STEPS):
        rate = sigma(result)
        off = result - mean - variance * (clicks - pulls * rate)
        if off > 0.0:
            high = result
        else:
            low = result
        step = result - off / (1.0 + variance * pulls * rate * (1.0 - rate))
        if not low < step < high:
            step = 0.5 * (low + high)
        if abs(step - result) <= 1e-12 * (1.0 + abs(result)):
            return step
        result = step
    return result


@noalloc
def take_in_clicks(state: Any, x: Floats, pulls: int, clicks: int) -> None:
    """Learn observations with the same features: the mean where the posterior is highest, and its curvature."""
    along, mean, root = state.work[1], state.mean[0], state.root[0]
    score = variance = 0.0
    for k in range(len(x)):
        along[k] = x[k]
        score += x[k] * mean[k]
    solve_down(root, along)
    for k in range(len(x)):
        variance += along[k] * along[k]
    solve_up(root, along)
    rate = sigma(most_probable(score, variance, pulls, clicks))
    for k in range(len(x)):
        mean[k] += along[k] * (clicks - pulls * rate)
        along[k] = x[k]
    add_to_root(root, along, pulls * rate * (1.0 - rate))


@noalloc
def note_cell(state: Any, item: int, x: Floats, pulls: int, clicks: int) -> None:
    """Count observations of an item; note where its features are no longer what they were."""
    cell, d = state.cells[item], len(x)
    for k in range(d):
        if cell[d] == 0.0:
            cell[k] = x[k]
        elif cell[k] != x[k]:
            state.counters[REG_CHANGED] = 1
    cell[d] += pulls
    cell[d + 1] += clicks


@noalloc
def largest_change(state: Any, step: Floats) -> float:
    """Return by how much a step of the mean changes a score at most."""
    largest, d = 0.0, len(step)
    for item in range(len(state.cells)):
        if state.cells[item, d] > 0.0:
            moved = 0.0
            for k in range(d):
                moved += state.cells[item, k] * step[k]
            largest = max(largest, abs(moved))
    return largest


@noalloc
def add_cells(state: Any, precision: Floats, mean: Floats, slope: Floats) -> None:
    """Add what the counts say to the curvature (its upper half) and the slope of the log posterior at a mean."""
    d = len(mean)
    for item in range(len(state.cells)):
        cell = state.cells[item]
        if cell[d] == 0.0:
            continue
        score = 0.0
        for k in range(d):
            score += cell[k] * mean[k]
        rate = sigma(score)
        off, bend = cell[d + 1] - cell[d] * rate, cell[d] * rate * (1.0 - rate)
        for k in range(d):
            slope[k] += off * cell[k]
            part = bend * cell[k]
            for i in range(k, d):
                precision[k, i] += part * cell[i]


@noalloc
def fit_again(state: Any) -> None:
    """Find the posterior of all counts: damped steps of Newton's method from the mean, then the curvature there."""
    root, mean, slope, d = state.root[0], state.mean[0], state.work[2], len(state.work[2])
    for _ in range(_FITS):
        for k in range(d):
            slope[k] = state.prior[1, k] * (state.prior[0, k] - mean[k])
            for i in range(d):
                root[k, i] = state.prior[1, k] if i == k else 0.0
        add_cells(state, root, mean, slope)
        set_root(root)
        solve_down(root, slope)
        size = 0.0
        for k in range(d):
            size += slope[k] * slope[k]
        if size < 1e-12:  # a millionth of a standard deviation
            break
        solve_up(root, slope)
        furthest = largest_change(state, slope)
        for k in range(d):
            mean[k] += slope[k] / max(1.0, furthest)  # no score moves by more than 1: the curvature holds that far


@learn.register(LogisticState)
def _learn_clicks(state: LogisticState, shown: Any, tag: int, outcome: Any) -> None:
    counters, fits = state.counters, len(state.cells) > 0
    for position in range(looked_at(outcome, counters[REG_UNTIL])):
        x = state.kept[tag, position]
        take_in_clicks(state, x, 1, outcome[position])
        if fits and counters[REG_CHANGED] == 0:
            note_cell(state, shown[position], x, 1, outcome[position])
    release(state, tag)
    fit_when_grown(state)


@noalloc
def fit_when_grown(state: Any) -> None:
    """Fit again when what was learned has grown by a tenth since the last time."""
    counters = state.counters
    counters[REG_LEARNED] += 1
    if counters[REG_LEARNED] >= counters[REG_NEXT_FIT] and counters[REG_CHANGED] == 0:
        fit_again(state)
        counters[REG_NEXT_FIT] = max(counters[REG_LEARNED] + 1, int(_GROWTH * counters[REG_LEARNED]))
