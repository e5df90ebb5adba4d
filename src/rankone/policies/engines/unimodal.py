"""What the unimodal policies share: the leader and its cross.

A rank-1 problem is unimodal (Trinh et al. 2020, section 2): from every pair that is not best, some pair in the same row
or column is better. So it is enough to compare the *leader*, the pair with the best empirical mean, with the K + L - 2
pairs of its *cross*::

        . . x . .
        x x L x x       L leader, x its cross
        . . x . .

Only pairs with an outcome can lead (nobody pulls all K * L pairs first); before the first outcome any pair does. Ties
are broken afresh at random at every decision: a fixed order would stay forever on a row whose true mean is 0.

A policy on this ground derives its state from `LeaderState` and registers `score`: the highest score among the leader
and its cross is chosen. One that chooses otherwise registers `choose` as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import compiled, inlined, noalloc
from rankone.compiling.dispatch import dispatched
from rankone.kernels.policy import View, choose, update, view
from rankone.numerics.kl import bernoulli_kl, kl_upper
from rankone.numerics.rekeyable_table import NOBODY
from rankone.numerics.tournament import draw_best, set_value, start_tournament
from rankone.policies.base import check_sizes
from rankone.policies.beliefs import pair_view, posterior_view

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
State = TypeVar("State")

# Fields of `LeaderState.clock`.
LEADER_N_COLS, LEADER_CHAMPION, LEADER_LAST = range(3)
_NO_OUTCOME, _ABSENT = -1.0, -2.0  # below every mean


class LeaderState(NamedTuple):
    """Counts of every pair and who leads; pair (row, col) has number ``row * n_cols + col``.

    The champion is the pair that led last. It stays outside the tree, so that its steady wins cost nothing.
    """

    pulls: Ints  # (K * L,) outcomes
    clicks: Ints  # (K * L,) clicks among them
    led: Ints  # (K * L,) decisions at which the pair was leader
    best: Floats  # (2 K * L,) tournament of the means of all pairs but the champion
    ties: Ints  # (2 K * L,) its counts of ties
    clock: Ints  # (3,) number of columns; the champion; who led at the last decision
    level: Floats  # constants of the policy


def start_leaders(state_class: Callable[..., State], n_rows: int, n_cols: int, *level: float) -> State:
    """Return the state before the first decision."""
    check_sizes(n_rows, n_cols)
    n_pairs = n_rows * n_cols
    means = np.full(n_pairs, _NO_OUTCOME)
    means[0] = _ABSENT
    best, ties = start_tournament(means)
    pulls, clicks, led = np.zeros((3, n_pairs), np.int64)
    return state_class(pulls, clicks, led, best, ties, np.array([n_cols, 0, NOBODY]), np.array(level, np.float64))


@inlined
def mean_of(state: LeaderState, pair: int) -> float:
    """Empirical mean of a pair."""
    return state.clicks[pair] / state.pulls[pair] if state.pulls[pair] > 0 else _NO_OUTCOME


@noalloc
def change_leader(state: LeaderState, rng: Any) -> int:
    """Return the leader, a random one of the tied, when the champion is not alone at the top."""
    best, ties, leader = state.best, state.ties, state.clock[LEADER_CHAMPION]
    mean = mean_of(state, leader)
    if mean < best[1]:
        set_value(best, ties, leader, mean)
        mean = best[1]
        leader = state.clock[LEADER_CHAMPION] = draw_best(best, ties, rng)
        set_value(best, ties, leader, _ABSENT)
    if mean == best[1] and rng.random() * (ties[1] + 1) < ties[1]:
        leader = draw_best(best, ties, rng)
    return leader


@inlined
def find_leader(state: LeaderState, rng: Any) -> int:
    """Return the pair with the best empirical mean, ties at random, and count that it led."""
    leader = state.clock[LEADER_CHAMPION]
    if mean_of(state, leader) <= state.best[1]:
        leader = change_leader(state, rng)
    state.led[leader] += 1
    state.clock[LEADER_LAST] = leader
    return leader


@noalloc
def cross_size(state: LeaderState) -> int:
    """Return the number of pairs that share the row or the column of a pair, without the pair itself."""
    return state.clock[LEADER_N_COLS] + len(state.pulls) // state.clock[LEADER_N_COLS] - 2


@noalloc
def on_cross(state: LeaderState, leader: int, place: int) -> int:
    """Return the pair at a place, from 0, of the leader's cross: first its row, then its column."""
    n_cols = state.clock[LEADER_N_COLS]
    row, col = leader // n_cols, leader % n_cols
    if place < n_cols - 1:
        return row * n_cols + place + (place >= col)
    place -= n_cols - 1
    return (place + (place >= row)) * n_cols + col


@noalloc
def place_on_cross(state: LeaderState, leader: int, pair: int) -> int:
    """Return the place of a pair on the leader's cross, -1 if it is not there."""
    n_cols = state.clock[LEADER_N_COLS]
    row, col = pair // n_cols, pair % n_cols
    leader_row, leader_col = leader // n_cols, leader % n_cols
    if pair == leader or (row != leader_row and col != leader_col):
        return -1
    if row == leader_row:
        return col - (col > leader_col)
    return n_cols - 1 + row - (row > leader_row)


@dispatched
def score(state: Any, leader: int, pair: int, best: float, rng: Any) -> float:
    """How much a pair of the cross deserves the decision; any value below `best` if it cannot be above."""
    raise NotImplementedError


@noalloc
def best_on_cross(state: Any, leader: int, rng: Any) -> int:
    """Return the pair with the highest score among the leader and its cross, ties at random."""
    found, tied, best = leader, 1, score(state, leader, leader, -np.inf, rng)
    for place in range(cross_size(state)):
        pair = on_cross(state, leader, place)
        value = score(state, leader, pair, best, rng)
        if value > best:
            found, tied, best = pair, 1, value
        elif value == best:
            tied += 1
            if rng.random() * tied < 1.0:
                found = pair
    return found


@noalloc
def kl_index(state: LeaderState, pair: int, level: float, best: float) -> float:
    """Return ``max{q : pulls * d(mean, q) <= level}``; the mean, where a look shows that this is below `best`."""
    pulls, mean = state.pulls[pair], mean_of(state, pair)
    if best > mean and pulls * bernoulli_kl(mean, best) > 1.000001 * level + 1e-12:
        return mean
    return kl_upper(mean, level / pulls)


@inlined
def as_decision(state: LeaderState, pair: int) -> tuple[int, int, int]:
    """Return the pair as row, column and tag."""
    return pair // state.clock[LEADER_N_COLS], pair % state.clock[LEADER_N_COLS], 0


@inlined
def learn(state: LeaderState, pair: int, reward: int) -> None:
    """Count an outcome and note the pair's new mean."""
    state.pulls[pair] += 1
    state.clicks[pair] += reward
    if pair != state.clock[LEADER_CHAMPION]:
        set_value(state.best, state.ties, pair, state.clicks[pair] / state.pulls[pair])


@choose.register(LeaderState)
def _choose(state: LeaderState, rng: Any) -> tuple[int, int, int]:
    return as_decision(state, best_on_cross(state, find_leader(state, rng), rng))


@update.register(LeaderState)
def _update(state: LeaderState, row: int, col: int, tag: int, reward: int) -> None:
    learn(state, row * state.clock[LEADER_N_COLS] + col, reward)


def _scores_of(state: Any, leader: int, found: Floats, rng: Any) -> None:
    for pair in range(len(found)):
        found[pair] = score(state, leader, pair, -np.inf, rng)


def cross_scores(state: Any) -> Floats:
    """Return the score of the champion and of its cross, for those who watch; other pairs have none."""
    champion, found = int(state.clock[LEADER_CHAMPION]), np.full(len(state.pulls), np.nan)
    if state.led[champion] == 0:
        return found
    compiled(_scores_of, type(state).__module__)(state, champion, found, np.random.default_rng(0))
    n_cols, pairs = int(state.clock[LEADER_N_COLS]), np.arange(len(found))
    found[(pairs // n_cols != champion // n_cols) & (pairs % n_cols != champion % n_cols)] = np.nan
    return found


def leader_of(state: Any) -> int:
    """Return the pair that led last, -1 before the first outcome."""
    champion = int(state.clock[LEADER_CHAMPION])
    return champion if state.pulls[champion] > 0 else -1


@view.register(LeaderState)
def _view(state: LeaderState) -> View:
    none = np.full(len(state.pulls), np.nan)
    return pair_view(
        state, none, none, "", leader=leader_of(state), score=cross_scores(state), scored_by="score on the cross"
    )


def optimistic_view(state: Any) -> View:
    """Return the view of a policy whose scores are upper bounds of means."""
    meaning = "mean and index: the largest index on the leader's cross is shown next"
    return pair_view(state, np.full(len(state.pulls), np.nan), cross_scores(state), meaning, leader=leader_of(state))


def leading_posterior_view(state: Any) -> View:
    """Return the view of a Thompson sampler with a leader."""
    return posterior_view(state, leader=leader_of(state))
