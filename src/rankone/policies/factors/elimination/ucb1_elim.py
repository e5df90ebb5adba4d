"""UCB1Elim on the K * L pairs: Auer, Ortner, "UCB Revisited" (2010), section 3, for a known horizon n.

In round m = 0, 1, ..., floor(log2(n / e) / 2), with D = 2^-m, every remaining pair is chosen until it has
n_m = ceil(2 log(n D^2) / D^2) outcomes; then every pair whose ``mean + r`` is below the best ``mean - r`` leaves,
r = sqrt(log(n D^2) / (2 n_m)). A single pair left is played for good; several left after the last round are played in
turn for good. Pairs are played in an order shuffled once at the start; ties never eliminate (the test is strict).
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.kernels.policy import (
    FILLER,
    Race,
    View,
    decide,
    learn,
    race,
    relearn,
    settled,
    syncs,
    view,
    withdraw,
)
from rankone.numerics.arrays import Ints
from rankone.policies.base import Policy, check_sizes, needed_horizon
from rankone.policies.engines.combinations import number_of, write_levels

# Fields of `UCB1ElimState.counters`.
ROUNDS_NOW, ROUNDS_LAST, ROUNDS_ASKED, ROUNDS_WANTED, ROUNDS_POSITION, ROUNDS_OPEN = range(6)
ROUNDS_LEFT, ROUNDS_HORIZON = range(6, 8)


class UCB1ElimState(NamedTuple):
    """Counts of every pair and where in the round we are."""

    pulls: Ints  # (K * L,) outcomes
    clicks: Ints  # (K * L,) clicks among them
    remaining: Ints  # (K * L,) the remaining pairs, first counters[ROUNDS_LEFT] entries
    counters: Ints  # (8,)
    sizes: Ints  # (2,) rows and columns


@dataclass(frozen=True)
class UCB1Elim(Policy):
    """Eliminate pairs by Hoeffding bounds, in rounds, every pair for itself.

    Args:
        horizon: number of decisions n the rounds are laid out for; a study fills it in.
    """

    name = "ucb1-elim"
    use_when = "a baseline to compare with"
    horizon: int | None = None

    def start(self, n_rows: int, n_cols: int) -> UCB1ElimState:
        """Return the state before round 0."""
        check_sizes(n_rows, n_cols)
        horizon = needed_horizon(self, self.horizon)
        n_pairs = n_rows * n_cols
        counters = np.zeros(8, np.int64)
        counters[ROUNDS_NOW] = -1  # the first decision shuffles and opens round 0
        counters[ROUNDS_LAST] = max(0, math.floor(0.5 * math.log2(max(1.0, horizon / math.e))))
        counters[ROUNDS_LEFT], counters[ROUNDS_HORIZON] = n_pairs, horizon
        pulls, clicks = np.zeros((2, n_pairs), np.int64)
        return UCB1ElimState(pulls, clicks, np.arange(n_pairs), counters, np.array([n_rows, n_cols]))


@noalloc
def pair_bounds(state: UCB1ElimState, combination: int) -> tuple[float, float]:
    """Lower and upper bound of a pair's mean; void outcomes may leave a pair without any, and then nothing is known."""
    pulls, counters = state.pulls[combination], state.counters
    if pulls == 0:
        return -math.inf, math.inf
    round_now = counters[ROUNDS_NOW] if counters[ROUNDS_NOW] < counters[ROUNDS_LAST] else counters[ROUNDS_LAST]
    radius = math.sqrt(math.log(counters[ROUNDS_HORIZON] * 4.0**-round_now) / (2.0 * pulls))
    return state.clicks[combination] / pulls - radius, state.clicks[combination] / pulls + radius


@noalloc
def close_round(state: UCB1ElimState) -> None:
    """Eliminate pairs by the bounds of this round (step 2)."""
    remaining, counters = state.remaining, state.counters
    best_lower = -math.inf
    for index in range(counters[ROUNDS_LEFT]):
        best_lower = max(best_lower, pair_bounds(state, remaining[index])[0])
    kept = 0
    for index in range(counters[ROUNDS_LEFT]):
        combination = remaining[index]
        if pair_bounds(state, combination)[1] >= best_lower:
            remaining[kept] = combination
            kept += 1
    counters[ROUNDS_LEFT] = kept


@noalloc
def open_round(state: UCB1ElimState) -> None:
    """Set how often every remaining pair is still to be chosen (step 1)."""
    counters = state.counters
    counters[ROUNDS_NOW] += 1
    log_term = math.log(counters[ROUNDS_HORIZON] * 4.0 ** -counters[ROUNDS_NOW])
    needed = math.ceil(2.0 * log_term * 4.0 ** counters[ROUNDS_NOW])
    needed = needed if needed > 1 else 1
    counters[ROUNDS_WANTED] = needed - counters[ROUNDS_ASKED] if needed > counters[ROUNDS_ASKED] else 0
    counters[ROUNDS_ASKED] += counters[ROUNDS_WANTED]


@inlined
def mean_of_pair(state: UCB1ElimState, combination: int) -> float:
    """Return the empirical mean of a pair, 0 without an outcome."""
    return state.clicks[combination] / (state.pulls[combination] + (state.pulls[combination] == 0))


@noalloc
def leading_pair(state: UCB1ElimState, rng: Any) -> int:
    """Return the remaining pair with the best empirical mean, ties at random."""
    best, ties, leader = -1.0, 0, 0
    for index in range(state.counters[ROUNDS_LEFT]):
        combination = state.remaining[index]
        mean = mean_of_pair(state, combination)
        ties = 1 if mean > best else ties + (mean == best)
        if mean >= best and rng.random() * ties < 1.0:
            best, leader = mean, combination
    return leader


@decide.register(UCB1ElimState)
def _decide(state: UCB1ElimState, context: Any, rng: Any, shown: Any) -> int:
    remaining, counters = state.remaining, state.counters
    all_asked = counters[ROUNDS_WANTED] == 0 and counters[ROUNDS_NOW] <= counters[ROUNDS_LAST]
    if counters[ROUNDS_NOW] < 0:
        for index in range(1, len(remaining)):
            other = int(rng.random() * (index + 1))
            remaining[index], remaining[other] = remaining[other], remaining[index]
        open_round(state)
    elif all_asked and counters[ROUNDS_OPEN] == 0 and counters[ROUNDS_LEFT] > 1:
        close_round(state)
        if counters[ROUNDS_NOW] < counters[ROUNDS_LAST]:
            open_round(state)
        else:
            counters[ROUNDS_NOW] += 1
    tag = FILLER
    if counters[ROUNDS_LEFT] == 1:
        combination = remaining[0]
    elif counters[ROUNDS_WANTED] == 0 and counters[ROUNDS_NOW] <= counters[ROUNDS_LAST]:  # outcomes are still missing
        combination = leading_pair(state, rng)
    else:
        combination = remaining[counters[ROUNDS_POSITION]]
        counters[ROUNDS_POSITION] += 1
        if counters[ROUNDS_WANTED] > 0:
            tag = counters[ROUNDS_NOW]
            counters[ROUNDS_OPEN] += 1
        if counters[ROUNDS_POSITION] == counters[ROUNDS_LEFT]:
            counters[ROUNDS_POSITION] = 0
            counters[ROUNDS_WANTED] -= counters[ROUNDS_WANTED] > 0
    write_levels(state.sizes, combination, shown)
    return tag


@learn.register(UCB1ElimState)
def _learn(state: UCB1ElimState, shown: Any, tag: int, outcome: Any) -> None:
    if tag >= 0:
        combination = number_of(state.sizes, shown)
        state.pulls[combination] += 1
        state.clicks[combination] += outcome[0]
        state.counters[ROUNDS_OPEN] -= 1


@withdraw.register(UCB1ElimState)
def _withdraw(state: UCB1ElimState, shown: Any, tag: int) -> None:
    if tag >= 0:
        state.counters[ROUNDS_OPEN] -= 1


@settled.register(UCB1ElimState)
def _settled(state: UCB1ElimState) -> bool:
    return state.counters[ROUNDS_LEFT] == 1


@relearn.register(UCB1ElimState)
def _relearn(state: UCB1ElimState, shown: Any, pulls: int, clicks: int) -> None:
    combination = number_of(state.sizes, shown)
    state.pulls[combination] += pulls
    state.clicks[combination] += clicks


@syncs.register(UCB1ElimState)
def _syncs(state: UCB1ElimState) -> int:
    return max(0, int(state.counters[ROUNDS_NOW]))  # within a round no choice depends on an outcome


@race.register(UCB1ElimState)
def _race(state: UCB1ElimState) -> Race:
    (n_rows, n_cols), left = state.sizes, state.remaining[: state.counters[ROUNDS_LEFT]]
    rows, cols = np.zeros(n_rows, bool), np.zeros(n_cols, bool)
    rows[left // n_cols], cols[left % n_cols] = True, True
    return Race(max(0, int(state.counters[ROUNDS_NOW])), (rows, cols))


@view.register(UCB1ElimState)
def _view(state: UCB1ElimState) -> View:
    low, high = np.array([pair_bounds(state, combination) for combination in range(len(state.pulls))]).T
    left = np.isin(np.arange(len(state.pulls)), state.remaining[: state.counters[ROUNDS_LEFT]])
    return View("pairs", state.pulls.copy(), state.clicks.copy(), low, high, left, "confidence interval")
