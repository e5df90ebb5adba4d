"""Classes of users, and vectors of items, fitted to counts of each user and item.

Classes by expectation and maximisation of a mixture of binomials, as many as Schwarz's criterion wants (users count as
observations). Vectors by mean-field variational Bayes of the model of `lowrank-ts`, with the mean and the covariance of
users and of items learned: Lim, Teh, "Variational Bayesian Approach to Movie Rating Prediction" (KDD Cup 2007).
"""

import math

import numpy as np

from rankone.numerics.arrays import Floats
from rankone.numerics.seeds import generator
from rankone.policies.arrivals.model import Classes, Vectors

_MOST_CLASSES, _STARTS, _ROUNDS = 8, 5, 100
_CLOSE = 1e-7


def labels_of(classes: Classes, shown: Floats, clicked: Floats) -> Floats:
    """Return the logarithms of each user's likelihood in each class times its share, ``(users, classes)``."""
    rates, shares = classes.means, (classes.members + 1.0) / (classes.members + 1.0).sum()
    logs: Floats = clicked @ np.log(rates).T + (shown - clicked) @ np.log1p(-rates).T + np.log(shares)
    return logs


def _mixture(shown: Floats, clicked: Floats, count: int, rng: np.random.Generator) -> tuple[Classes, float]:
    """Return the best of several fits of so many classes, and its logarithm of the likelihood."""
    best, highest = None, -math.inf
    for _ in range(_STARTS if count > 1 else 1):
        weights, before = rng.dirichlet(np.full(count, 0.3), len(shown)), -math.inf
        for _ in range(_ROUNDS):
            classes = Classes(weights.T @ shown, weights.T @ clicked, weights.sum(axis=0))
            logs = labels_of(classes, shown, clicked)
            largest = logs.max(axis=1, keepdims=True)
            weights = np.exp(logs - largest)
            total = weights.sum(axis=1, keepdims=True)
            weights /= total
            likelihood = float((largest + np.log(total)).sum())
            if likelihood - before < _CLOSE * abs(likelihood):
                break
            before = likelihood
        if likelihood > highest:
            best, highest = classes, likelihood
    assert best is not None
    return best, highest


def fit_classes(shown: Floats, clicked: Floats, seed: int = 0, most: int = _MOST_CLASSES) -> Classes:
    """Return classes of users, as many as the counts support.

    >>> shown = np.full((40, 3), 50.0)
    >>> clicked = shown * np.array([[0.9, 0.1, 0.5], [0.1, 0.8, 0.5]])[np.arange(40) % 2]
    >>> np.sort(fit_classes(shown, clicked).means[:, 0]).round(1).tolist()
    [0.1, 0.9]
    """
    rng, chosen, least = generator(seed, "classes"), None, math.inf
    for count in range(1, min(most, len(shown)) + 1):
        classes, likelihood = _mixture(shown, clicked, count, rng)
        criterion = (count * (shown.shape[1] + 1) - 1) * math.log(len(shown)) - 2.0 * likelihood
        if criterion >= least:
            break
        chosen, least = classes, criterion
    assert chosen is not None
    return chosen


def fit_vectors(shown: Floats, clicked: Floats, rank: int = 3, seed: int = 0) -> Vectors:
    """Return vectors of items with so many numbers, and how those of users scatter.

    >>> shown, tastes = np.full((60, 4), 30.0), np.array([[0.8, 0.6, 0.2, 0.1], [0.1, 0.3, 0.7, 0.5]])
    >>> found = fit_vectors(shown, shown * tastes[np.arange(60) % 2], rank=2)
    >>> bool(np.abs(found.centre + found.item_mean @ found.user_mean - tastes.mean(axis=0)).max() < 0.05)
    True
    """
    rng, identity = generator(seed, "vectors"), np.eye(rank)
    rate = (clicked.sum() + 1.0) / (shown.sum() + 2.0)
    noise, excess = rate * (1.0 - rate), clicked - rate * shown
    seen = (shown.sum(axis=0) > 0.0, shown.sum(axis=1) > 0.0)
    mean, spread = np.zeros(rank), identity
    items = rate * 0.3 * rng.standard_normal((shown.shape[1], rank))
    item_spread = np.repeat(0.01 * rate**2 * identity[None], len(items), axis=0)
    item_law = np.zeros(rank), rate**2 * identity
    for _ in range(_ROUNDS):
        users, user_spread = _update(shown, excess, items, item_spread, (mean, spread), noise)
        mean, spread = _law(users[seen[1]], user_spread[seen[1]])
        items, item_spread = _update(shown.T, excess.T, users, user_spread, item_law, noise)
        item_law = _law(items[seen[0]], item_spread[seen[0]])
    return Vectors(np.array([noise]), np.array([rate]), mean, spread, items, item_spread)


def _update(
    shown: Floats, excess: Floats, others: Floats, others_spread: Floats, law: tuple[Floats, Floats], noise: float
) -> tuple[Floats, Floats]:
    """Return means and covariances of the vectors of rows, given those of columns."""
    prior, squares = np.linalg.inv(law[1]), others_spread + others[:, :, None] * others[:, None, :]
    r = len(prior)
    precision = prior + (shown @ squares.reshape(-1, r * r)).reshape(-1, r, r) / noise
    spread = np.asarray(np.linalg.inv(precision), np.float64)
    means: Floats = np.einsum("ikl,il->ik", spread, prior @ law[0] + excess @ others / noise)
    return means, spread


def _law(means: Floats, spread: Floats) -> tuple[Floats, Floats]:
    centre: Floats = means.mean(axis=0)
    off = means - centre
    covariance: Floats = spread.mean(axis=0) + off.T @ off / len(means) + 1e-9 * np.eye(len(centre))
    return centre, covariance
