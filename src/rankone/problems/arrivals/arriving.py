"""Users arrive, and the policy picks an item for each: the rows of a table of click rates are chosen by nature.

The context of a decision is one number, that of the user. Regret is against the best item of this user. Of a table
of rank 1 the best item is the same for all users, so that a policy which does not look at the context loses nothing.

The families are the worlds of papers: `latent` of Maillard, Mannor, "Latent Bandits" (ICML 2014), section 6, whose
three printed tables are ``figure=2``, 3 and 5; `mixed` of Sen et al., "Contextual Bandits with Latent Confounders: An
NMF Approach" (AISTATS 2017), section 5.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.errors import InputError
from rankone.kernels.decision import DecisionKind
from rankone.kernels.world import loss, observe, respond
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.seeds import generator
from rankone.problems.base import Problem
from rankone.problems.product_input import Names, checked_shares, level_names, probabilities
from rankone.problems.registry import family
from rankone.specs import number_in, one_of, whole_number

#: Click rates of each item in each class, as printed by Maillard and Mannor.
FIGURES: dict[int, list[list[float]]] = {
    2: [[0.527, 0.209, 0.713, 0.762], [0.717, 0.193, 0.575, 0.230], [0.669, 0.751, 0.120, 0.485]],
    3: [[0.370, 0.750, 0.609, 0.207], [0.150, 0.290, 0.475, 0.464], [0.671, 0.897, 0.781, 0.9]],
    5: [[0.1, 0.621, 0.1, 0.362], [0.544, 0.697, 0.554, 0.181], [0.512, 0.409, 0.234, 0.1]],
}
_PURE = 0.05  # of the rates of a class, the share that is drawn again


LAWS = ("uniform", "weighted", "zipf", "cold")


def shares_of(law: str, users: int, seed: int) -> Floats:
    """Return how much of the traffic each user is.

    ``weighted`` draws weights from 0.1 to 0.9 (Maillard, Mannor 2014); ``zipf`` gives the k-th user a share of 1 / k;
    of ``cold`` users nobody is more frequent, but nobody stays: see `Arrivals`.

    >>> shares_of("zipf", 2, seed=0).round(3).tolist()
    [0.667, 0.333]
    """
    one_of("arrivals", law, LAWS)
    weights = np.ones(users)
    if law == "weighted":
        weights = generator(seed, "arrivals").uniform(0.1, 0.9, users)
    elif law == "zipf":
        weights = 1.0 / np.arange(1.0, users + 1.0)
    return weights / weights.sum()


@noalloc
def arriving(upto: Floats, visits: int, window: int, step: int, rng: Any) -> int:
    """Return the user who arrives: by shares; or, where `visits` is not 0, one of the `window` newest users, where
    every so many visits a new one joins and the oldest leaves."""
    users = len(upto)
    if visits > 0:
        return (step // visits + int(rng.random() * window)) % users
    drawn, low, high = rng.random() * upto[users - 1], 0, users - 1
    while low < high:
        middle = (low + high) // 2
        if drawn < upto[middle]:
            high = middle
        else:
            low = middle + 1
    return low


class ArrivalsWorld(NamedTuple):
    """The click rates of every user, and who is there now."""

    rates: Floats  # (users, items)
    best: Floats  # (users,) the rate of the user's best item
    upto: Floats  # (users,) the weight of this user and those before
    cold: Ints  # (2,) visits until a new user joins, 0 where users stay; how many users there are at a time
    visitor: Ints  # (1,)


class Arrivals(Problem):
    """A table of click rates whose rows, the users, arrive by themselves.

    Args:
        rates: ``(users, items)`` click rates.
        shares: how much of the traffic each user is; None: all the same.
        visits: 0, or about how often each user comes before going for good: a tenth of the users are there at a time,
            and new ones join one by one (once all have been there, the first return).
        classes: for each user the number of its class, where users of a class have the same rates.
        item_names: optional texts, one per item.
        name: what tables call it.

    >>> Arrivals([[0.5, 0.2], [0.1, 0.4]], name="mine")
    <Arrivals mine: 2 users x 2 items>
    """

    kind: ClassVar[str] = "arrivals"
    decision_kind: ClassVar[DecisionKind] = "combination"
    n_context = 1

    def __init__(
        self,
        rates: Any,
        shares: Sequence[float] | None = None,
        visits: int = 0,
        classes: Sequence[int] | None = None,
        item_names: Names = None,
        name: str | None = None,
    ) -> None:
        self.rates = probabilities(rates, "rates", dimensions=2)
        users = len(self.rates)
        self.weights = checked_shares(shares, "user", users)
        self.visits = whole_number("visits", visits, least=0)
        self.classes = None if classes is None else np.array(classes, np.int64)
        if self.classes is not None and self.classes.shape != (users,):
            raise InputError("a class for each user", f"{self.classes.size} classes", f"name {users} classes")
        self.item_names = level_names(item_names, self.rates.shape[1], "item")
        self.name = self._named(name, *self.rates.shape)

    @property
    def shares(self) -> Floats:
        """How much of the traffic each user is."""
        shares: Floats = self.weights / self.weights.sum()
        return shares

    @property
    def shape(self) -> tuple[int]:
        """The number of items: users are not chosen."""
        return (self.rates.shape[1],)

    def start(self) -> ArrivalsWorld:
        """Return the world before the first visit."""
        cold = np.array([self.visits, max(1, len(self.rates) // 10)])
        best, upto = self.rates.max(axis=1), np.cumsum(self.weights)
        return ArrivalsWorld(self.rates.copy(), best, upto, cold, np.zeros(1, np.int64))

    def known(self) -> dict[str, Any]:
        """Return how many users there are; of latent classes also the click rates of each class."""
        told: dict[str, Any] = {"users": len(self.rates)}
        if self.classes is not None:
            first = [int(np.flatnonzero(self.classes == each)[0]) for each in np.unique(self.classes)]
            told["means"] = tuple(self.rates[first].ravel().tolist())
        return told

    def visitor(self, world: Any) -> tuple[str, Floats]:
        """Return who is there now, and the click rate of each item."""
        user = int(world.visitor[0])
        of = "" if self.classes is None else f", truly of class {self.classes[user] + 1}"
        return f"user {user + 1}{of}", self.rates[user]

    def sample(self, decisions: int, seed: int = 0) -> tuple[Ints, Ints]:
        """Return what a log of items drawn at random holds: how often each was shown to each user, and clicked.

        >>> shown, clicked = mixed(20, 5).sample(1_000)
        >>> shown.shape, int(shown.sum()), bool((clicked <= shown).all())
        ((20, 5), 1000, True)
        """
        rng, (users, items) = generator(seed, "sample", self.digest), self.rates.shape
        cells = rng.choice(users, size=decisions, p=self.shares) * items + rng.integers(items, size=decisions)
        shown = np.bincount(cells, minlength=users * items).reshape(users, items)
        return shown, rng.binomial(shown, self.rates)

    def loss_at_random(self) -> float:
        """Return how much less a random item is clicked than the best one of the user, on average."""
        return float(self.shares @ (self.rates.max(axis=1) - self.rates.mean(axis=1)))

    def facts(self) -> dict[str, float]:
        """Return sizes, and what one item for all loses to the best item of each user."""
        pooled = float((self.shares @ self.rates).max())
        return {
            "users": len(self.rates),
            "items": self.shape[0],
            "lost by one item for all": float(self.shares @ self.rates.max(axis=1)) - pooled,
        }

    def description(self) -> dict[str, Any]:
        """Return what a report says."""
        return self.facts()

    def to_dict(self) -> dict[str, Any]:
        """Plain values that make the same problem."""
        return super().to_dict() | {"shares": self.weights.tolist()}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {len(self.rates)} users x {self.rates.shape[1]} items>"


@observe.register(ArrivalsWorld)
def _observe(world: ArrivalsWorld, step: int, rng: Any, context: Any) -> None:
    world.visitor[0] = arriving(world.upto, world.cold[0], world.cold[1], step, rng)
    context[0] = world.visitor[0]


@respond.register(ArrivalsWorld)
def _respond(world: ArrivalsWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    outcome[0] = 1 if rng.random() < world.rates[world.visitor[0], shown[0]] else 0
    return True


@loss.register(ArrivalsWorld)
def _loss(world: ArrivalsWorld, shown: Any) -> float:
    user = world.visitor[0]
    return world.best[user] - world.rates[user, shown[0]]


def arriving_users(rates: Floats, law: str, visits: int, seed: int, classes: Ints | None = None) -> Arrivals:
    """Return the problem of these rates, whose users arrive by a law."""
    visits = whole_number("visits", visits)
    labels = None if classes is None else classes.tolist()
    return Arrivals(rates, shares_of(law, len(rates), seed).tolist(), visits if law == "cold" else 0, labels)


@family("latent", Arrivals)
def latent(
    n_users: int,
    n_items: int,
    *,
    classes: int = 4,
    low: float = 0.1,
    high: float = 0.9,
    arrivals: str = "weighted",
    visits: int = 20,
    figure: int = 0,
    seed: int = 0,
) -> Arrivals:
    """Users of a few classes with click rates of their own; figure=2, 3 or 5: the printed ones, of three items.

    `arrivals` is uniform, weighted, zipf or cold (each user comes about `visits` times).

    >>> latent(50, 3, figure=2).rates[2].tolist()
    [0.713, 0.575, 0.12]
    """
    whole_number("seed", seed, least=0)
    if figure:
        if figure not in FIGURES or n_items != len(FIGURES[figure]):
            got = f"figure={figure} with {n_items} items"
            raise InputError("figure=2, 3 or 5 with 3 items", got, "try latent:50x3:figure=2")
        table = np.array(FIGURES[figure]).T
    else:
        number_in("low", low, "[0, 1]", example=0.1), number_in("high", high, "[0, 1]", example=0.9)
        table = generator(seed, "latent", n_items).uniform(low, high, (whole_number("classes", classes), n_items))
    of_user = np.arange(n_users) % len(table)
    return arriving_users(table[of_user], arrivals, visits, seed, of_user)


@family("mixed", Arrivals)
def mixed(
    n_users: int,
    n_items: int,
    *,
    classes: int = 3,
    rate: float = 1.0,
    arrivals: str = "uniform",
    visits: int = 20,
    seed: int = 0,
) -> Arrivals:
    """Users who are mixtures of a few classes, shares uniform on the simplex: a table of low rank.

    Click rates are uniform up to `rate`, and one in twenty is drawn again. `arrivals` is uniform, weighted, zipf or
    cold (each user comes about `visits` times).

    >>> int(np.linalg.matrix_rank(mixed(30, 20).rates))
    3
    """
    rng = generator(whole_number("seed", seed, least=0), "mixed", n_users, n_items, whole_number("classes", classes))
    top = number_in("rate", rate, "(0, 1]", example=1.0)
    parts, table = rng.dirichlet(np.ones(classes), n_users), rng.uniform(0.0, top, (classes, n_items))
    again = rng.random(table.shape) < _PURE
    table[again] = rng.uniform(0.0, top, int(again.sum()))
    return arriving_users(np.minimum(parts @ table, 1.0), arrivals, visits, seed)
