"""Does the best item depend on the user? A test on counts of each user and item.

Outcomes are halved at random. One half finds classes of users and the best item of each; the other half says what these
items are clicked more than *any* one item for all. If one item is best for everybody, nothing that was picked on the
first half beats that item on the second but for chance, so that the largest p-value over all items holds. Then the
halves change places; of both p-values twice the smaller one is taken. Standard errors count users, not displays.

A table of rank 1 has one best item for all, and one of higher rank may have: this test asks what pays, not the rank.
"""

import math
from typing import NamedTuple

import numpy as np

from rankone.analysis.personal.fits import fit_classes, labels_of
from rankone.numerics.arrays import Floats
from rankone.numerics.seeds import generator

_UNEVEN = 4.0  # standard deviations


class Gain(NamedTuple):
    """What a choice for each class of users earns more than one item for all, clicks a display."""

    p_value: float
    gain: float
    error: float  # standard error of the gain
    rate: float  # click rate of the best item for all
    item: int  # which one that is


def _against(
    shown: Floats, clicked: Floats, label: Floats, picks: Floats, classes: int
) -> tuple[Floats, Floats, Floats]:
    """Return for each item what the picks earn more, its standard error, and the item's own rate."""
    items = shown.shape[1]
    gain, variance, rates = np.zeros(items), np.zeros(items), np.zeros(items)
    total = shown.sum()
    for each in range(classes):
        n, s = shown[label == each], clicked[label == each]
        looks, clicks, pick = n.sum(axis=0), s.sum(axis=0), int(picks[each])
        share, rate = looks.sum() / total, clicks / np.maximum(looks, 1.0)
        both = (looks > 0.0) & (looks[pick] > 0.0)
        both[pick] = False
        smooth = (clicks + 1.0) / (looks + 2.0)
        own = (s - rate * n) / np.maximum(looks, 1.0)
        by_users = ((own[:, [pick]] - own) ** 2).sum(axis=0)
        by_clicks = smooth * (1.0 - smooth) / np.maximum(looks, 1.0)
        spread = np.maximum(by_users, by_clicks + by_clicks[pick])
        gain += np.where(both, share * (rate[pick] - rate), 0.0)
        variance += np.where(both, share**2 * spread, 0.0)
        rates += share * rate
    return gain, np.sqrt(variance), rates


def shares_differ(shown: Floats) -> bool:
    """Tell whether users were shown items in different shares, as policies that learn do; wrongly in 1 log of 10,000.

    Pearson's sum of squares; its variance is that of Poisson cells, which may have few displays.

    >>> shares_differ(np.array([[50.0, 50.0], [48.0, 52.0]])), shares_differ(np.array([[90.0, 10.0], [10.0, 90.0]]))
    (False, True)
    """
    expected = np.outer(shown.sum(axis=1), shown.sum(axis=0)) / max(1.0, float(shown.sum()))
    expected = expected[expected.sum(axis=1) > 0.0][:, shown.sum(axis=0) > 0.0]
    seen = shown[shown.sum(axis=1) > 0.0][:, shown.sum(axis=0) > 0.0]
    free, spread = (seen.shape[0] - 1) * (seen.shape[1] - 1), float((2.0 + 1.0 / expected).sum())
    return bool(((seen - expected) ** 2 / expected).sum() > free + _UNEVEN * math.sqrt(spread))


def personal_gain(shown: Floats, clicked: Floats, seed: int = 0) -> Gain:
    """Return what a choice for each class earns more than one item for all, and whether that is certain."""
    rng, found = generator(seed, "halves"), []
    n, s = shown.astype(np.int64), clicked.astype(np.int64)
    looks = rng.binomial(n, 0.5)
    clicks = rng.hypergeometric(s, n - s, looks)
    for first in ((looks, clicks), (n - looks, s - clicks)):
        half = first[0].astype(float), first[1].astype(float)
        rest = shown - half[0], clicked - half[1]
        classes = fit_classes(*half, seed=seed)
        label = labels_of(classes, *half).argmax(axis=1)
        picks = classes.means.argmax(axis=1)
        gains, errors, rates = _against(*rest, label, picks, len(picks))
        z = gains / np.where(errors > 0.0, errors, np.inf)  # an item that nobody can be compared on: 0.5
        p_values = np.array([0.5 * math.erfc(each / math.sqrt(2.0)) for each in z.tolist()])
        seen = rest[0].sum(axis=0) > 0.0
        best = int(np.where(seen, rates, -1.0).argmax())
        found.append(
            (float(p_values[seen].max(initial=0.0)) if seen.any() else 1.0, gains[best], errors[best], rates[best])
        )
    pooled = (clicked.sum(axis=0) + 1.0) / (shown.sum(axis=0) + 2.0)
    p_value = min(1.0, 2.0 * min(each[0] for each in found))
    more, rate = (float(np.mean([each[k] for each in found])) for k in (1, 3))
    error = math.sqrt(sum(each[2] ** 2 for each in found) / 2.0)  # as if both halves erred together
    return Gain(p_value, more, error, rate, int(pooled.argmax()))
