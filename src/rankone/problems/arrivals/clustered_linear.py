"""Users of a few clusters, and items with features that are new for every decision: the synthetic world of CLUB.

Gentile, Li, Zappella, "Online Clustering of Bandits" (ICML 2014), section 4.1: a user of cluster c gives an item with
features x the payoff x'theta_c plus noise, uniform from -s to s; features are uniform on the sphere, theta_c are unit
vectors. Payoffs are no clicks: an outcome is the payoff in millionths, which policies are told as `unit`.

The context of a decision is the number of the user, then a row for each feature: ``context[1 + f * n_items + item]``.
"""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import noalloc
from rankone.errors import InputError
from rankone.kernels.decision import DecisionKind
from rankone.kernels.world import loss, observe, respond
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.seeds import generator
from rankone.problems.arrivals.arriving import arriving, shares_of
from rankone.problems.base import Problem
from rankone.problems.registry import family
from rankone.specs import number_in, whole_number

UNIT = 1e-6


class ClusteredLinearWorld(NamedTuple):
    """What features are worth to each cluster, and what can be shown to whom now."""

    weights: Floats  # (clusters, d)
    cluster: Ints  # (users,)
    upto: Floats  # (users,) the share of this user and those before
    payoff: Floats  # (items,) for this user, on average
    noise: Floats  # (1,)
    now: Ints  # (1,) the user
    best: Floats  # (1,)


class ClusteredLinear(Problem):
    """Items with features, worth the same to all users of a cluster.

    Args:
        weights: ``(clusters, d)`` what features are worth.
        cluster: for each user the number of its cluster.
        items: how many items there are at each decision.
        noise: payoffs are uniform around their mean, up to so much away.
        name: what tables call it.

    >>> ClusteredLinear([[1.0, 0.0], [0.0, 1.0]], [0, 1, 1], items=5, name="mine")
    <ClusteredLinear mine: 3 users x 5 items>
    """

    kind: ClassVar[str] = "clustered-linear"
    decision_kind: ClassVar[DecisionKind] = "combination"

    def __init__(
        self, weights: npt.ArrayLike, cluster: npt.ArrayLike, items: int, noise: float = 0.1, name: str | None = None
    ) -> None:
        self.weights, self.cluster = np.array(weights, float), np.array(cluster, np.int64)
        known = self.cluster.ndim == 1 and self.weights.ndim == 2 and self.cluster.size > 0
        if not known or self.cluster.min() < 0 or self.cluster.max() >= len(self.weights):
            raise InputError("a cluster of each user, and weights of each cluster", cluster, "see the example")
        self.items, self.noise = whole_number("items", items), number_in("noise", noise, "[0, inf)", example=0.1)
        self.name = self._named(name, len(self.cluster), self.items)

    @property
    def shape(self) -> tuple[int]:
        """The number of items: users are not chosen."""
        return (self.items,)

    @property
    def n_context(self) -> int:  # type: ignore[override]
        """The user and the features of all items."""
        return 1 + self.weights.shape[1] * self.items

    def start(self) -> ClusteredLinearWorld:
        """Return the world before the first visit."""
        upto = np.cumsum(shares_of("uniform", len(self.cluster), 0))
        now, noise = np.zeros(1, np.int64), np.array([self.noise])
        fixed = self.weights.copy(), self.cluster.copy(), upto
        return ClusteredLinearWorld(*fixed, np.zeros(self.items), noise, now, np.zeros(1))

    def known(self) -> dict[str, Any]:
        """Return how many users and features there are, and what an outcome of 1 stands for."""
        return {"users": len(self.cluster), "features": self.weights.shape[1], "unit": UNIT}

    def visitor(self, world: Any) -> tuple[str, Floats]:
        """Return who is there now, and the payoff of each item."""
        user = int(world.now[0])
        return f"user {user + 1}, truly of cluster {self.cluster[user] + 1}", world.payoff.copy()

    def earned(self, clicks: Ints, shown: Ints) -> Floats:
        """Return payoffs."""
        return np.multiply(UNIT, clicks[:, 0], dtype=np.float64)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {len(self.cluster)} users x {self.items} items>"


@noalloc
def _draw_items(world: ClusteredLinearWorld, rng: Any, context: Any) -> None:
    n_items, d = len(world.payoff), world.weights.shape[1]
    world.best[0] = -math.inf
    for item in range(n_items):
        size = 0.0
        for k in range(d):
            drawn = rng.standard_normal()
            context[1 + k * n_items + item] = drawn
            size += drawn * drawn
        scale, value = 1.0 / math.sqrt(size), 0.0
        for k in range(d):
            context[1 + k * n_items + item] *= scale
            value += context[1 + k * n_items + item] * world.weights[world.cluster[world.now[0]], k]
        world.payoff[item] = value
        world.best[0] = max(world.best[0], value)


@observe.register(ClusteredLinearWorld)
def _observe(world: ClusteredLinearWorld, step: int, rng: Any, context: Any) -> None:
    world.now[0] = arriving(world.upto, 0, 0, step, rng)
    context[0] = world.now[0]
    _draw_items(world, rng, context)


@respond.register(ClusteredLinearWorld)
def _respond(world: ClusteredLinearWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    payoff = world.payoff[shown[0]] + world.noise[0] * (2.0 * rng.random() - 1.0)
    outcome[0] = math.floor(payoff / UNIT + 0.5)
    return True


@loss.register(ClusteredLinearWorld)
def _loss(world: ClusteredLinearWorld, shown: Any) -> float:
    return world.best[0] - world.payoff[shown[0]]


@family("clustered-linear", ClusteredLinear)
def clustered_linear(
    n_users: int, n_items: int, *, d: int = 25, clusters: int = 2, noise: float = 0.1, skew: float = 0.0, seed: int = 0
) -> ClusteredLinear:
    """New items for each decision, payoffs linear in d features, the same for all users of a cluster.

    The j-th cluster has a share of the users in proportion to j to the power of -skew; the first has what is left over.

    >>> np.bincount(clustered_linear(10, 5, clusters=3).cluster).tolist()
    [4, 3, 3]
    """
    rng = generator(whole_number("seed", seed, least=0), "clustered-linear", whole_number("d", d))
    drawn = rng.standard_normal((whole_number("clusters", clusters), d))
    shares = np.arange(1.0, clusters + 1.0) ** -number_in("skew", skew, "[0, inf)", example=1.0)
    sizes = (n_users * shares / shares.sum()).astype(np.int64)
    sizes[0] += n_users - sizes.sum()
    weights = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return ClusteredLinear(weights, np.repeat(np.arange(clusters), sizes), n_items, noise)
