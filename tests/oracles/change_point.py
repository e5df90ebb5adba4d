"""Change points as their definitions say: lists of buckets, and sums of divergences."""

from __future__ import annotations

import numpy as np

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
