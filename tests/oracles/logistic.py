"""A Bayesian logistic regression of combinations, as written down: the whole covariance, and every combination tried."""

from __future__ import annotations

import itertools

import numpy as np


def features(sizes, shown, pairs: bool) -> np.ndarray:
    """The intercept, one for each level, one for each two levels of different factors."""
    found = [1.0]
    found += [float(level == shown[place]) for place, size in enumerate(sizes) for level in range(size)]
    if pairs:
        for one, other in itertools.combinations(range(len(sizes)), 2):
            both = itertools.product(range(sizes[one]), range(sizes[other]))
            found += [float((level, its) == (shown[one], shown[other])) for level, its in both]
    return np.array(found)


class Logistic:
    def __init__(self, sizes, pairs: bool, base: float) -> None:
        self.sizes, self.pairs = sizes, pairs
        n = len(features(sizes, [0] * len(sizes), pairs))
        spread = np.array([1.0] + [0.5] * sum(sizes) + [0.3] * (n - 1 - sum(sizes)))
        self.mean, self.covariance = np.zeros(n), np.diag(spread**2)
        self.mean[0] = np.log(base / (1.0 - base))

    def learn(self, shown, pulls: int, clicks: int) -> None:
        each = features(self.sizes, shown, self.pairs)
        v = self.covariance @ each
        x, s2 = each @ self.mean, each @ v
        low, high = x - s2 * pulls, x + s2 * pulls
        for _ in range(200):
            e = 0.5 * (low + high)
            low, high = (low, e) if e > x + s2 * (clicks - pulls / (1.0 + np.exp(-e))) else (e, high)
        rate = 1.0 / (1.0 + np.exp(-e))
        w = pulls * rate * (1.0 - rate)
        self.mean = self.mean + v * (e - x) / s2
        self.covariance = self.covariance - w / (1.0 + w * s2) * np.outer(v, v)

    def worth(self, weights) -> dict[tuple[int, ...], float]:
        """The sum of weights of every combination."""
        each = itertools.product(*map(range, self.sizes))
        return {shown: float(features(self.sizes, shown, self.pairs) @ weights) for shown in each}
