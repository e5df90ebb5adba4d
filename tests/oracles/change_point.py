"""Change points as their definitions say: lists of buckets, and likelihoods maximised by SciPy."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from tests.oracles.policies import kl


def buckets(outcomes, size=8, each=3):
    """Sums of outcomes (rows of numbers), the oldest bucket first, the last perhaps not full."""
    found = []
    for outcome in outcomes:
        if not found or found[-1][0] >= size:
            found.append((0, np.zeros(len(outcome))))
        count, total = found.pop()
        found.append((count + 1, total + outcome))
        power = size
        while count + 1 == size and [number for number, _ in found].count(power) > each:
            first = [number for number, _ in found].index(power)
            (_, one), (_, other) = found[first : first + 2]
            found[first : first + 2] = [(2 * power, one + other)]
            power *= 2
    return found


def rate_evidence(before, after):
    """Log likelihood ratio of two rates against one; each part is (outcomes, clicks)."""
    mean = (before[1] + after[1]) / (before[0] + after[0])
    return sum(n * kl(s / n, mean) for n, s in (before, after))


def ratio_evidence(before, after):
    """The same for ratios to a reference; each part is (outcomes, clicks, level, support)."""

    def likelihood(rates):
        total = 0.0
        for (n, s, level, support), (rate, reference) in zip((before, after), rates, strict=True):
            for count, share, p in ((n, s / n, rate), (support, level, reference)):
                p = min(max(p, 1e-12), 1.0 - 1e-12)
                total += count * (share * np.log(p) + (1.0 - share) * np.log(1.0 - p))
        return total

    def one_ratio(logs):
        ratio, first, second = np.exp(logs)
        return -likelihood(((ratio * first, first), (ratio * second, second)))

    starts = [np.log([ratio, before[2], after[2]]) for ratio in np.geomspace(0.05, 5.0, 9)]
    least = min(minimize(one_ratio, start, method="Nelder-Mead", options={"maxiter": 3000}).fun for start in starts)
    return likelihood([(s / n, level) for n, s, level, _ in (before, after)]) + least
