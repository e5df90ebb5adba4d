"""A Bayesian logistic regression of combinations, as written down: the whole covariance, and every combination tried."""

from __future__ import annotations

import itertools

import numpy as np


def features(sizes, shown) -> np.ndarray:
    """The intercept, one for each level."""
    found = [1.0]
    found += [float(level == shown[place]) for place, size in enumerate(sizes) for level in range(size)]
    return np.array(found)


class Logistic:
    def __init__(self, sizes, base: float) -> None:
        self.sizes = sizes
        n = len(features(sizes, [0] * len(sizes)))
        spread = np.array([1.0] + [0.5] * sum(sizes))
        self.mean, self.covariance = np.zeros(n), np.diag(spread**2)
        self.mean[0] = np.log(base / (1.0 - base))

    def learn(self, shown, pulls: int, clicks: int) -> None:
        each = features(self.sizes, shown)
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
        return {shown: float(features(self.sizes, shown) @ weights) for shown in each}
