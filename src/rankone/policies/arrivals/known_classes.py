"""Policies that know the click rates of each class of users, and find out of which class a user is.

`latent-ucb` is Multiple-K-UCB of Maillard, Mannor, "Latent Bandits" (ICML 2014), section 3.2: a class is admissible for
a user where the rate of every item is within the user's interval, mean ± sqrt(2 log(N^3) / n) / 2, N the visits of
the user, this one too, and n those with this item; the best item of the admissible class with the largest best rate is
shown, or, where no class is admissible, the item that this user saw least.

`mts` is mTS of Hong et al., "Latent Bandits Revisited" (NeurIPS 2020), section 3: draw the class from its posterior
given what the user has clicked, show its best item. All classes are as probable beforehand, or as frequent as in a log.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import extends
from rankone.errors import InputError
from rankone.kernels.policy import Presumed, presume
from rankone.numerics.arrays import Floats, Ints
from rankone.policies.arrivals.model import read_model
from rankone.policies.arrivals.users import copy_row, pick_by
from rankone.policies.arrivals.visits import VisitPolicy, Visits, score
from rankone.specs import Numbers

_EDGE = 1e-6


@extends(Visits)
class _KnownState:
    """Counts of each user and item (`Visits`), and what is known of classes."""

    rates: Annotated[Floats, "C, M"]
    shares: Annotated[Floats, "C"]  # logarithms
    weights: Annotated[Floats, "C"]  # scratch space


class LatentUCBState(_KnownState):
    """What `latent-ucb` remembers."""


class LatentTSState(_KnownState):
    """What `mts` remembers."""


@dataclass(frozen=True)
class KnownClasses(VisitPolicy):
    """Base of policies that know the click rates of classes.

    Args:
        users: how many users there are at most; a study fills it in.
        means: click rates, class by class; a study of latent classes fills them in.
        model: a file of `rankone.personal`, to take them from.
    """

    state: ClassVar[Any]
    means: Numbers | None = None
    model: str | None = None

    def known_at_start(self, sizes: Ints, forbidden: Ints) -> dict[str, Any]:
        """Return the start; the classes are known."""
        tables = self.tables(self.state, sizes, forbidden)
        items = tables["M"]
        known = read_model(self.model, "classes", items, self.name)
        if known is None and (self.means is None or len(self.means) % items):
            got = "none" if self.means is None else f"{len(self.means)} rates for {items} items"
            do = "write model=FILE, from rankone.personal, or play a problem such as latent:50x10"
            raise InputError(f"the click rates of each class for {self.name}", got, do)
        rates = np.reshape(self.means or (), (-1, items)) if known is None else known.means
        shares = np.log(np.ones(len(rates)) if known is None else known.members + 1.0)
        return tables | {"C": len(rates), "rates": np.clip(rates, _EDGE, 1.0 - _EDGE), "shares": shares}


@dataclass(frozen=True)
class LatentUCB(KnownClasses):
    """Classes of users with known click rates, by confidence intervals."""

    name = "latent-ucb"
    use_when = "a reference: classes of users whose click rates are known; `mts` has a third of its regret"
    state = LatentUCBState


@dataclass(frozen=True)
class LatentTS(KnownClasses):
    """Classes of users with known click rates, by Thompson sampling."""

    name = "mts"
    use_when = "classes of users whose click rates a log has shown"
    state = LatentTSState


@noalloc
def _admissible(state: Any, user: int, each: int, radius: float) -> bool:
    for item in range(len(state.scores)):
        pulls = state.pulls[user, item]
        if pulls > 0.0:
            off = state.rates[each, item] - state.clicks[user, item] / pulls
            if off * off * pulls > radius * radius:
                return False
    return True


@score.register(LatentUCBState)
def _score_ucb(state: Any, user: int, rng: Any) -> None:
    outcomes, largest, chosen = 0.0, -math.inf, -1
    for item in range(len(state.scores)):
        outcomes += state.pulls[user, item]
    radius = 0.5 * math.sqrt(6.0 * math.log(outcomes + 1.0))
    first, count = int(rng.random() * len(state.rates)), len(state.rates)  # of classes that are equal, any
    for index in range(count):
        each, best = (first + index) % count, 0.0
        for item in range(len(state.scores)):
            best = max(best, state.rates[each, item])
        if best > largest and _admissible(state, user, each, radius):
            largest, chosen = best, each
    for item in range(len(state.scores)):
        state.scores[item] = state.rates[chosen, item] if chosen >= 0 else -state.pulls[user, item]


@score.register(LatentTSState)
def _score_ts(state: Any, user: int, rng: Any) -> None:
    for each in range(len(state.weights)):
        state.weights[each] = state.shares[each]
        for item in range(len(state.scores)):
            pulls, clicks, rate = state.pulls[user, item], state.clicks[user, item], state.rates[each, item]
            if pulls > 0.0:
                state.weights[each] += clicks * math.log(rate) + (pulls - clicks) * math.log(1.0 - rate)
    copy_row(state.scores, state.rates[pick_by(state.weights, rng)])


@presume.register(_KnownState)
def _presume(state: Any, context: Any) -> Presumed:
    fitting = np.flatnonzero((state.rates == state.scores).all(axis=1))
    said = f"class {fitting[0] + 1} of {len(state.rates)}" if len(fitting) else "no class, as none fits"
    return Presumed(state.scores.copy(), said)
