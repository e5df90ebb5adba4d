"""The cheapest swaps of neighbours that would fix the examination curve to a wished precision.

Swapping positions j and j + 1 in a list shows two items where they do not belong; each then compares the two positions
with an information of p / (1 - p) about the logarithm of their ratio (`rankone.clicks.models.fitting.intervals`).
With x_j swapped lists of link j the covariance of the links' logarithms is the inverse of

    M(x) = (what the log says already) + diag(w_j x_j),

and the logarithm of position k's examination relative to the first has the variance v_k = 1' M^-1 1 over the links
above k. Wanted: the least sum of c_j x_j (c_j: clicks that a swap of link j costs) with every v_k small enough. The
problem is convex; multiplicative steps solve it (Silvey, Titterington, Torsney, "An algorithm for optimal designs on a
finite design space", 1978), a weight on each v_k stands for its constraint. How long it takes then follows from the
clicks that may be lost a list. Whether that is long enough is checked with the home positions counted too, which are
seen often but not for ever.
"""

from typing import NamedTuple

import numpy as np

from rankone.clicks.models.fitting.intervals import places_information
from rankone.errors import InputError
from rankone.numerics.arrays import Floats, Ints

_STEPS, _PATIENCE = 2_000, 20  # steps at most, and steps without gain after which the end is reached
_GROWTHS = 200  # times that a number of swaps or lists is made larger before it is taken for infinite


class HomeLists(NamedTuple):
    """The usual list of each query, as far as planning needs it."""

    share: Floats  # (queries,): of the lists
    attraction: Floats  # (queries, K): of the item at home in each position, 0 where the query has none
    examination: Floats  # (K,): the curve that planning goes by

    def information(self) -> Floats:
        """w_j: what one swapped list of each link tells about its ratio, if home positions are known."""
        up, down = self.attraction[:, 1:] * self.examination[:-1], self.attraction[:, :-1] * self.examination[1:]
        return self.share @ np.where(self._both(), _odds(up) + _odds(down), 0.0)

    def cost(self) -> Floats:
        """c_j: clicks that one swapped list of each link loses; that a swap gains something is never counted on."""
        lost = (self.attraction[:, :-1] - self.attraction[:, 1:]) * (self.examination[:-1] - self.examination[1:])
        floor = 1e-3 * self.clicks()
        return np.maximum(self.share @ np.where(self._both(), np.maximum(lost, 0.0), 0.0), floor)

    def clicks(self) -> float:
        """Clicks a list."""
        return float(self.share @ (self.attraction @ self.examination))

    def expected(self, rates: Floats, lists: float) -> Floats:
        """Information about log examinations after so many lists with these probabilities of swaps."""
        places = len(self.examination)
        total = np.zeros((places, places))
        swapped = np.append(rates, 0.0) + np.append(0.0, rates)
        for share, attraction in zip(self.share, self.attraction, strict=True):
            times = np.diag(1.0 - swapped) + np.diag(rates, 1) + np.diag(rates, -1)  # item at home in row, shown at
            chance = attraction[:, None] * self.examination
            total += places_information(lists * share * times * _odds(chance))
        return total

    def _both(self) -> np.ndarray:
        """Where a query has items at home in both positions of a link."""
        return (self.attraction[:, 1:] > 0.0) & (self.attraction[:, :-1] > 0.0)


def _odds(chance: Floats) -> Floats:
    kept = np.clip(chance, 0.0, 0.99)
    return kept / (1.0 - kept)


def as_links(information: Floats) -> Floats:
    """Take information about log examinations to that about the log ratios of neighbours."""
    size = len(information)
    steps = np.tril(np.ones((size, size)), -1)[:, : size - 1]  # log examination = steps @ log ratios, 0 at the first
    return steps.T @ information @ steps


def variances(links: Floats) -> Floats:
    """Variance of the logarithm of each position's examination relative to the first; infinite if nothing links it.

    >>> variances(np.diag([4.0, 2.0])).tolist()
    [0.25, 0.75]
    """
    size = len(links)
    value, vector = np.linalg.eigh(links)
    known = value > 1e-9 * max(float(value[-1]), 1e-9)
    sums = np.tril(np.ones((size, size))) @ vector  # position k sums the links above it
    result: Floats = (sums[:, known] ** 2 / value[known]).sum(axis=1)
    result[(np.abs(sums[:, ~known]) > 1e-6).any(axis=1)] = np.inf
    return result


def cheapest_swaps(before: Floats, information: Floats, cost: Floats, variance: float) -> Floats:
    """Return how many lists to swap of each link so that no position's variance is above the one wished.

    `before` is known already about the links' log ratios; a swapped list of each link has its `information` and `cost`.
    Of one link alone it is what is missing:

    >>> cheapest_swaps(np.array([[3.0]]), np.array([0.5]), np.array([1.0]), 0.1).round(6).tolist()
    [14.0]
    """
    if (variances(before) <= variance).all():
        return np.zeros(len(cost))
    size = len(cost)
    above = np.tril(np.ones((size, size)))  # row k: the links above position k + 2
    swaps = np.sqrt(1.0 / (cost * information)) * np.sqrt(cost / information).sum() / variance
    pressure = np.full(size, 1.0 / size)
    best, least, waited = swaps, np.inf, 0
    for _ in range(_STEPS):
        swaps = swaps * _needed(before, information * swaps, variance)
        spent = float(cost @ swaps)
        waited = 0 if spent < least * (1.0 - 1e-7) else waited + 1
        if spent < least:
            best, least = swaps, spent
        if waited > _PATIENCE:
            break
        inverse = np.linalg.inv(before + np.diag(information * swaps))
        each = above @ inverse
        value = (each * above).sum(axis=1)
        pressure = pressure * (value / value.max()) ** 2
        pressure /= pressure.sum()
        gain = information * (pressure @ each**2) / cost
        swaps = np.maximum(swaps * np.sqrt(gain / gain.max()), 1e-9 * swaps.max())
    some = np.where(best > 1e-4 * best.max(), best, 0.0)  # what is hardly swapped need not be, if all stays linked
    return some if (variances(before + np.diag(information * some)) <= 1.001 * variance).all() else best


def _needed(before: Floats, added: Floats, variance: float) -> float:
    """The factor of the swaps that just brings all variances down to the one wished."""
    low, high = 0.0, 1.0
    grown = 0
    while (variances(before + high * np.diag(added)) > variance).any():
        low, high, grown = high, 2.0 * high, _one_more(grown)
    for _ in range(40):
        middle = (low + high) / 2.0
        enough = (variances(before + middle * np.diag(added)) <= variance).all()
        low, high = (low, middle) if enough else (middle, high)
    return high


def _one_more(grown: int) -> int:
    """Count once more, up to a limit: then no number of swaps will do."""
    if grown == _GROWTHS:
        raise InputError(
            "positions that swaps of neighbours can link to this precision",
            "some that no number of swaps does",
            "leave positions out that are hardly ever clicked, or ask for less precision",
        )
    return grown + 1


def lists_needed(home: HomeLists, before: Floats, rates: Floats, least: float, variance: float) -> float:
    """The number of lists, from `least` up, after which all variances are small enough, home positions counted too."""

    def enough(lists: float) -> bool:
        return bool((variances(before + as_links(home.expected(rates, lists))) <= variance).all())

    low, high, grown = least, least, 0
    while not enough(high):
        low, high, grown = high, 1.5 * high, _one_more(grown)
    for _ in range(30):
        middle = (low + high) / 2.0
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def home_items(item: Ints, place: Ints, impressions: Floats, places: int) -> Ints:
    """The item of one query that is usually at each position, each item once; -1 where there is none.

    >>> home_items(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([9.0, 8.0, 1.0, 2.0]), 3)
    array([ 0,  1, -1])
    """
    home, taken = np.full(places, -1, np.int64), set()
    for cell in np.argsort(-impressions, kind="stable").tolist():
        if home[place[cell]] < 0 and int(item[cell]) not in taken:
            home[place[cell]] = item[cell]
            taken.add(int(item[cell]))
    return home
