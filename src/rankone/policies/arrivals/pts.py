"""Particle Thompson sampling for matrix factorisation: Kawale, Bui, Kveton, Tran-Thanh, Chawla, "Efficient Thompson
Sampling for Online Matrix-Factorization Recommendation" (NeurIPS 2015), Algorithm 1 (PTS, variances known).

User i gives item j U_i'V_j plus normal noise; U_i and V_j are normal around 0. A particle is a V with a U, all with
the same weight. For user i pick a particle, draw u given its V and what i has clicked, show the item with the largest
u'V_j. When the outcome comes, each particle is weighted by its density given all before, N(V_j'm, s2 + V_j'L^-1 V_j)
with m and L of the user *before* this outcome; particles are resampled; then each redraws U_i and V_j.

With one particle it is `lowrank-ts` without sweeps. The paper takes 30 particles.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any

from rankone.compiling.compiled import inlined, kernel, noalloc
from rankone.compiling.dispatch import extends
from rankone.numerics.arrays import Floats, Ints
from rankone.policies.arrivals.lowrank_ts import (
    LR_NOISE,
    LowRankState,
    LowRankTS,
    draw_user,
    fill_user,
    follow,
    score_by,
)
from rankone.policies.arrivals.visits import VisitPolicy, file_visit, score, sweep, take_in
from rankone.policies.engines.regression import set_root, solve_down


@extends(LowRankState)
class ParticlesState:
    """As `LowRankState`, with the vectors of each particle, and what the particles weigh."""

    of_users: Annotated[Floats, "P, N, r"]
    of_items: Annotated[Floats, "P, M, r"]
    squares: Annotated[Floats, "P, M, r, r"]
    sums: Annotated[Floats, "P, M, r"]
    weights: Annotated[Floats, "P"]
    copies: Annotated[Ints, "P"]  # scratch space
    work: Annotated[Floats, "r"]  # scratch space


@dataclass(frozen=True)
class PTS(VisitPolicy):
    """Thompson sampling with particles of a matrix factorisation.

    Args:
        users: how many users there are at most; a study fills it in.
        particles: how many particles there are.
        rank: how many numbers a vector has.
        noise: variance of an outcome.
        scale: prior variance of the numbers of a vector.
    """

    name = "pts"
    use_when = "a reference: low rank by particles, with the variances known"
    particles: Annotated[int, "[1, 10000]"] = 30
    rank: Annotated[int, "[1, 100]"] = 3
    noise: Annotated[float, "(0, inf)"] = 0.25
    scale: Annotated[float, "(0, inf)"] = 0.5

    def known_at_start(self, sizes: Ints, forbidden: Ints) -> dict[str, Any]:
        """Return the start of one particle, for all of them."""
        of_one = LowRankTS(users=self.n_users(), rank=self.rank, noise=self.noise, scale=self.scale, sweep=0)
        return of_one.known_at_start(sizes, forbidden) | {"kind": ParticlesState, "P": self.particles}


@inlined
def particle(state: Any, number: int) -> Any:
    """Return one of the particles."""
    return LowRankState(  # type: ignore[call-arg]
        state.counters,
        state.sizes,
        state.forbidden,
        state.scores,
        state.pulls,
        state.clicks,
        state.waiting,
        state.of_users[number],
        state.of_items[number],
        state.squares[number],
        state.sums[number],
        state.user_prior,
        state.item_prior,
        state.settings,
        state.root,
        state.drawn,
    )


@noalloc
def log_density(one: Any, work: Floats, user: int, item: int, clicked: int) -> float:
    """Return the logarithm of a particle's density of an outcome, given all before, but for a constant."""
    fill_user(one, user)
    set_root(one.root)
    solve_down(one.root, one.drawn)
    for k in range(len(work)):
        work[k] = one.of_items[item, k]
    solve_down(one.root, work)
    mean, variance = 0.0, one.settings[LR_NOISE]
    for k in range(len(work)):
        mean += work[k] * one.drawn[k]
        variance += work[k] * work[k]
    return -0.5 * (math.log(variance) + (clicked - mean) ** 2 / variance)


@kernel
def _copy(state: Any, into: int, of: int) -> None:
    state.of_users[into], state.of_items[into] = state.of_users[of], state.of_items[of]
    state.sums[into], state.squares[into] = state.sums[of], state.squares[of]


@noalloc
def _resample(state: Any, rng: Any) -> None:
    """Keep particles by their weights, with one random number (systematic resampling); `weights` are logarithms."""
    weights, copies, count = state.weights, state.copies, len(state.weights)
    largest, total = -math.inf, 0.0
    for each in range(count):
        largest = max(largest, weights[each])
    for each in range(count):
        weights[each] = math.exp(weights[each] - largest)
        total += weights[each]
    upto, before, place = 0.0, 0, rng.random()
    for each in range(count):
        upto += count * weights[each] / total
        after = min(count, max(before, math.floor(upto - place) + 1))
        copies[each] = (count if each == count - 1 else after) - before
        before = after
    giver = 0
    for each in range(count):
        if copies[each] == 0:
            while copies[giver] <= 1:
                giver += 1
            _copy(state, each, giver)
            copies[giver] -= 1


@sweep.register(ParticlesState)
def _sweep(state: Any, rng: Any) -> None:
    for each in range(len(state.weights)):
        sweep(particle(state, each), rng)


@take_in.register(ParticlesState)
def _take_in(state: Any, user: int, item: int, clicked: int, rng: Any) -> None:
    count = len(state.weights)
    if count > 1:
        for each in range(count):
            state.weights[each] = log_density(particle(state, each), state.work, user, item, clicked)
        _resample(state, rng)
    file_visit(state, user, item, clicked)
    for each in range(count):
        follow(particle(state, each), user, item, clicked, rng)


@score.register(ParticlesState)
def _score(state: Any, user: int, rng: Any) -> None:
    chosen = int(rng.random() * len(state.weights)) if len(state.weights) > 1 else 0
    one = particle(state, chosen)
    draw_user(one, user, rng)
    score_by(one, one.drawn)
