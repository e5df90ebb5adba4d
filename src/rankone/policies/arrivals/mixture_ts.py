"""Latent classes of users, found while playing: Gibbs sampling, and Thompson sampling on top of it.

Own policy. The question is that of Maillard, Mannor, "Latent Bandits" (ICML 2014), where classes are unknown; sampling
states and models together is mmTS of Hong et al., "Latent Bandits Revisited" (NeurIPS 2020), which knows its prior from
a log. No bound on regret is proven.

**Model.** A user i is of one of C classes, z_i, with shares rho ~ Dirichlet(1, ..., 1); a user of class c clicks item j
with probability theta_cj ~ Beta(1, 1). A `model` of a log puts its counts on top of both.

**Rule.** For user i draw z_i given all theta, rho and what i has clicked; show the item with the largest theta in that
class. When the outcome comes, redraw this one theta. After every N/2 outcomes (N users; at first after 1, 2, 4, ...)
redraw all z, then rho, then all theta.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import extends
from rankone.kernels.policy import Presumed, presume
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.beta import draw_beta
from rankone.policies.arrivals.model import read_model
from rankone.policies.arrivals.users import U_USERS, copy_row, draw_shares, pick_by
from rankone.policies.arrivals.visits import VisitPolicy, Visits, file_visit, score, sweep, take_in

_EDGE = 1e-6  # click rates stay so far from 0 and 1


@extends(Visits)
class MixtureState:
    """Counts of each user and item (`Visits`), and the classes as they were last drawn."""

    rates: Annotated[Floats, "C, M"]  # theta
    logs: Annotated[Floats, "2, C, M"]  # of 1 - theta and of theta
    shown: Annotated[Floats, "C, M"]  # to users of each class, with what is known from a log
    clicked: Annotated[Floats, "C, M"]
    prior: Annotated[Floats, "2, C, M"]  # known from a log: shown and clicked
    known: Annotated[Floats, "C"]  # users of each class, from a log
    members: Annotated[Floats, "C"]  # users of each class, with those from a log
    shares: Annotated[Floats, "C"]  # logarithms of rho
    label: Annotated[Ints, "N"]  # z
    weights: Annotated[Floats, "C"]  # scratch space


@dataclass(frozen=True)
class MixtureTS(VisitPolicy):
    """Thompson sampling with latent classes of users.

    Args:
        users: how many users there are at most; a study fills it in.
        classes: how many classes there are at most; a model has its own number.
        model: a file of `rankone.personal`, to start from what a log says.
    """

    name = "mixture-ts"
    use_when = "users of a few sharply different classes, who return; no features"
    classes: Annotated[int, "[1, 1000]"] = 8
    model: str | None = None

    def known_at_start(self, sizes: Ints, forbidden: Ints) -> dict[str, Any]:
        """Return the start; what a log says is known."""
        tables = self.tables(MixtureState, sizes, forbidden, 10, 2) | {"rates": 0.5, "label": -1}
        known = read_model(self.model, "classes", tables["M"], self.name)
        if known is None:
            return tables | {"C": self.classes}
        prior, members = np.round(np.stack([known.shown, known.clicked])), np.round(known.members)
        told = {"shown": prior[0], "clicked": prior[1], "prior": prior, "known": members, "members": members}
        return tables | told | {"C": len(members)}


@noalloc
def _draw_rate(state: Any, each: int, item: int, rng: Any) -> None:
    drawn = draw_beta(state.shown[each, item], state.clicked[each, item], rng)
    drawn = min(max(drawn, _EDGE), 1.0 - _EDGE)
    state.rates[each, item] = drawn
    state.logs[0, each, item], state.logs[1, each, item] = math.log(1.0 - drawn), math.log(drawn)


@noalloc
def _move(state: Any, user: int, each: int, sign: float) -> None:
    """Add a user's counts to those of a class, or take them away."""
    state.members[each] += sign
    for item in range(state.pulls.shape[1]):
        state.shown[each, item] += sign * state.pulls[user, item]
        state.clicked[each, item] += sign * state.clicks[user, item]


@noalloc
def _draw_label(state: Any, user: int, rng: Any) -> int:
    weights, count = state.weights, len(state.weights)
    for each in range(count):
        weights[each] = state.shares[each]
    for item in range(state.pulls.shape[1]):
        pulls, clicks = state.pulls[user, item], state.clicks[user, item]
        if pulls > 0.0:
            for each in range(count):
                weights[each] += clicks * state.logs[1, each, item] + (pulls - clicks) * state.logs[0, each, item]
    return pick_by(weights, rng)


@sweep.register(MixtureState)
def _sweep(state: Any, rng: Any) -> None:
    """Draw all classes of users, their shares and their click rates; the first time by rates drawn before."""
    count, items = state.shown.shape
    for each in range(count if state.label[0] < 0 else 0):
        for item in range(items):
            _draw_rate(state, each, item, rng)
    for each in range(count):
        state.members[each] = state.known[each]
        for item in range(items):
            state.shown[each, item], state.clicked[each, item] = state.prior[0, each, item], state.prior[1, each, item]
    for user in range(state.counters[U_USERS]):
        state.label[user] = _draw_label(state, user, rng)
        _move(state, user, state.label[user], 1.0)
    draw_shares(state.members, state.shares, rng)
    for each in range(count):
        for item in range(items):
            _draw_rate(state, each, item, rng)


@take_in.register(MixtureState)
def _take_in(state: Any, user: int, item: int, clicked: int, rng: Any) -> None:
    each = state.label[user]
    file_visit(state, user, item, clicked)
    state.shown[each, item] += 1.0
    state.clicked[each, item] += clicked
    _draw_rate(state, each, item, rng)


@score.register(MixtureState)
def _score(state: Any, user: int, rng: Any) -> None:
    label = _draw_label(state, user, rng)
    if label != state.label[user]:
        _move(state, user, state.label[user], -1.0)
        _move(state, user, label, 1.0)
        state.label[user] = label
    copy_row(state.scores, state.rates[label])


@presume.register(MixtureState)
def _presume(state: Any, context: Any) -> Presumed:
    label = int(state.label[int(context[0])])
    return Presumed(
        state.scores.copy(), f"its class {label + 1} of {len(state.rates)} ({state.members[label]:,.0f} users)"
    )
