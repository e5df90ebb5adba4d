"""Vectors of users and items, found while playing: Gibbs sampling, and Thompson sampling on top of it.

Own policy, after particle Thompson sampling (Kawale, Bui, Kveton, Tran-Thanh, Chawla, NeurIPS 2015; here `pts`) with
one chain that is swept now and then, instead of particles. No bound on regret is proven.

**Model.** User i gives item j the outcome U_i'V_j plus normal noise of variance s2; U_i and V_j have r numbers each,
normal around 0 with variance `scale`. Nobody has to know the variances: s2 is m (1 - m) for the click rate m so far,
and the scale m sqrt(2 / r), for which products scatter as rates do. A `model` of a log brings a prior of its own.

**Rule.** For user i draw u given all V and what i has clicked; show the item with the largest u'V_j. When the outcome
comes, redraw U_i, then V_j. After every 500 outcomes (N users: after N if that is more; at first after 1, 2, 4, ...)
redraw all U, then all V.

The sums that V_j is drawn from, over all users who saw j, are changed as U_i changes: a step costs O(items r^2),
however many users there are.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import extends
from rankone.numerics.arrays import Floats, Ints
from rankone.policies.arrivals.model import Vectors, read_model
from rankone.policies.arrivals.users import U_USERS, copy_row, draw_normal
from rankone.policies.arrivals.visits import VisitPolicy, Visits, file_visit, score, sweep, take_in

LR_NOISE, LR_SCALE, LR_CENTRE, LR_FIT_NOISE, LR_FIT_SCALE = range(5)  # fields of `settings`


@extends(Visits)
class LowRankState:
    """Counts of each user and item (`Visits`), and the vectors as they were last drawn."""

    of_users: Annotated[Floats, "N, r"]  # U
    of_items: Annotated[Floats, "M, r"]  # V
    squares: Annotated[Floats, "M, r, r"]  # of each item the sum of u u' over all outcomes, the upper half
    sums: Annotated[Floats, "M, r"]  # of each item the sum of (outcome - centre) u
    user_prior: Annotated[Floats, "1+r, r"]  # precision times mean, then the precision
    item_prior: Annotated[Floats, "M, 1+r, r"]
    settings: Annotated[Floats, "5"]
    root: Annotated[Floats, "r, r"]  # scratch space
    drawn: Annotated[Floats, "r"]  # scratch space


@dataclass(frozen=True)
class LowRankTS(VisitPolicy):
    """Thompson sampling with vectors of users and items.

    Args:
        users: how many users there are at most; a study fills it in.
        rank: how many numbers a vector has.
        noise: variance of an outcome; None: from the click rate so far.
        scale: prior variance of the numbers of a vector; None: from the click rate so far.
        sweep: everything is redrawn after so many outcomes, or as many as there are users; 0: never.
        model: a file of `rankone.personal`, to start from what a log says.
    """

    name = "lowrank-ts"
    use_when = "users who return, with tastes in common; no features"
    rank: Annotated[int, "[1, 100]"] = 3
    noise: Annotated[float | None, "(0, inf)"] = None
    scale: Annotated[float | None, "(0, inf)"] = None
    sweep: Annotated[int, "[0, inf)"] = 500
    model: str | None = None

    def known_at_start(self, sizes: Ints, forbidden: Ints) -> dict[str, Any]:
        """Return the start; what a log says is known."""
        tables = self.tables(LowRankState, sizes, forbidden, self.sweep)
        items = tables["M"]
        known = read_model(self.model, "vectors", items, self.name)
        r = self.rank if known is None else len(known.user_mean)
        prior, settings = np.zeros((1 + items, 1 + r, r)), np.zeros(5)
        if known is None:
            settings[LR_NOISE] = 0.25 if self.noise is None else self.noise
            settings[LR_SCALE] = 0.5 * math.sqrt(2.0 / r) if self.scale is None else self.scale
            settings[LR_FIT_NOISE], settings[LR_FIT_SCALE] = self.noise is None, self.scale is None
            prior[:, 1:] = np.eye(r) / settings[LR_SCALE]
        else:
            settings[LR_NOISE], settings[LR_CENTRE] = known.noise[0], known.centre[0]
            prior = normal_priors(known)
        return tables | {"r": r, "user_prior": prior[0], "item_prior": prior[1:], "settings": settings}


def normal_priors(known: Vectors) -> Floats:
    """Return precision times mean and precision, ``(1 + items, 1 + r, r)``, of users first and then of each item."""
    means = np.concatenate([known.user_mean[None], known.item_mean])
    precisions = np.linalg.inv(np.concatenate([known.user_cov[None], known.item_cov]))
    return np.concatenate([np.einsum("jkl,jl->jk", precisions, means)[:, None], precisions], axis=1)


@noalloc
def fill_user(state: Any, user: int) -> None:
    """Fill in what the vector of a user is drawn from, given those of all items: see `draw_normal`."""
    r, root, drawn = len(state.drawn), state.root, state.drawn
    weight, centre = 1.0 / state.settings[LR_NOISE], state.settings[LR_CENTRE]
    for k in range(r):
        drawn[k] = state.user_prior[0, k]
        for m in range(k, r):
            root[k, m] = state.user_prior[1 + k, m]
    for item in range(len(state.of_items)):
        pulls = weight * state.pulls[user, item]
        if pulls > 0.0:
            excess = weight * state.clicks[user, item] - pulls * centre
            for k in range(r):
                drawn[k] += excess * state.of_items[item, k]
                scaled = pulls * state.of_items[item, k]
                for m in range(k, r):
                    root[k, m] += scaled * state.of_items[item, m]


@noalloc
def draw_user(state: Any, user: int, rng: Any) -> None:
    """Draw the vector of a user into `drawn`, given those of all items."""
    fill_user(state, user)
    draw_normal(state.root, state.drawn, rng)


@noalloc
def draw_item(state: Any, item: int, rng: Any) -> None:
    """Redraw the vector of an item, given those of all users."""
    r, root, drawn = len(state.drawn), state.root, state.drawn
    weight = 1.0 / state.settings[LR_NOISE]
    for k in range(r):
        drawn[k] = state.item_prior[item, 0, k] + weight * state.sums[item, k]
        for m in range(k, r):
            root[k, m] = state.item_prior[item, 1 + k, m] + weight * state.squares[item, k, m]
    draw_normal(root, drawn, rng)
    copy_row(state.of_items[item], drawn)


@noalloc
def add_outcomes(state: Any, user: int, item: int, pulls: float, excess: float) -> None:
    """Add outcomes of a user to the sums of an item; `excess`: their sum, less the centre for each."""
    r = len(state.drawn)
    for k in range(r):
        own = state.of_users[user, k]
        state.sums[item, k] += excess * own
        for m in range(k, r):
            state.squares[item, k, m] += pulls * own * state.of_users[user, m]


@noalloc
def redraw_user(state: Any, user: int, rng: Any) -> None:
    """Redraw the vector of a user, and change the sums of all items that this user saw."""
    draw_user(state, user, rng)
    r, centre = len(state.drawn), state.settings[LR_CENTRE]
    for item in range(len(state.of_items)):
        pulls = state.pulls[user, item]
        if pulls > 0.0:
            excess = state.clicks[user, item] - pulls * centre
            for k in range(r):
                old, new = state.of_users[user, k], state.drawn[k]
                state.sums[item, k] += excess * (new - old)
                for m in range(k, r):
                    state.squares[item, k, m] += pulls * (new * state.drawn[m] - old * state.of_users[user, m])
    copy_row(state.of_users[user], state.drawn)


@noalloc
def _fit_variances(state: Any) -> None:
    """Take the noise and the scale from the click rate so far."""
    settings, r, pulls, clicks = state.settings, len(state.drawn), 2.0, 1.0
    for user in range(state.counters[U_USERS]):
        for item in range(len(state.of_items)):
            pulls += state.pulls[user, item]
            clicks += state.clicks[user, item]
    rate = clicks / pulls
    if settings[LR_FIT_NOISE] > 0.0:
        settings[LR_NOISE] = rate * (1.0 - rate)
    if settings[LR_FIT_SCALE] > 0.0:
        settings[LR_SCALE] = rate * math.sqrt(2.0 / r)
        for k in range(r):
            state.user_prior[1 + k, k] = 1.0 / settings[LR_SCALE]
            for item in range(len(state.of_items)):
                state.item_prior[item, 1 + k, k] = 1.0 / settings[LR_SCALE]


@sweep.register(LowRankState)
def _sweep(state: Any, rng: Any) -> None:
    _fit_variances(state)
    state.sums[:], state.squares[:] = 0.0, 0.0
    for user in range(state.counters[U_USERS]):
        draw_user(state, user, rng)
        copy_row(state.of_users[user], state.drawn)
        for item in range(len(state.of_items)):
            pulls = state.pulls[user, item]
            if pulls > 0.0:
                add_outcomes(state, user, item, pulls, state.clicks[user, item] - pulls * state.settings[LR_CENTRE])
    for item in range(len(state.of_items)):
        draw_item(state, item, rng)


@take_in.register(LowRankState)
def _take_in(state: Any, user: int, item: int, clicked: int, rng: Any) -> None:
    file_visit(state, user, item, clicked)
    follow(state, user, item, clicked, rng)


@noalloc
def follow(state: Any, user: int, item: int, clicked: int, rng: Any) -> None:
    """Redraw the user and then the item of an outcome that was just counted."""
    add_outcomes(state, user, item, 1.0, clicked - state.settings[LR_CENTRE])
    redraw_user(state, user, rng)
    draw_item(state, item, rng)


@score.register(LowRankState)
def _score(state: Any, user: int, rng: Any) -> None:
    draw_user(state, user, rng)
    score_by(state, state.drawn)


@noalloc
def score_by(state: Any, vector: Floats) -> None:
    """Fill in how items suit the vector of a user."""
    state.scores[:] = 0.0
    for item in range(len(state.scores)):
        for k in range(len(vector)):
            state.scores[item] += vector[k] * state.of_items[item, k]
