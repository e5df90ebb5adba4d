"""What insures a policy that trusts in structure: now and then a step of flat Thompson sampling, on the same counts.

Such a step is due with probability ``min(1, share * sqrt(M / t))`` at decision t, M being how many combinations are
insured: up to `MOST_INSURED`, and of two factors always, all. Of more the step draws two factors, holds the others at
the leader's levels, and lets the combinations of the two draw: a *plane* through the leader, which finds any good
combination of two levels; M is then what lies in all planes.
"""

import math
from typing import Any

import numpy as np

from rankone.compiling.compiled import kernel, noalloc
from rankone.numerics.arrays import Ints
from rankone.numerics.betas.beta import draw_beta
from rankone.policies.engines.combinations import may_show
from rankone.policies.engines.draw_chances import Counts, add_winner_of
from rankone.policies.engines.unimodal import clicks_of, pulls_of

MOST_INSURED = 200  # combinations


def insures_all(sizes: Ints) -> bool:
    """Tell whether all combinations are insured, not only planes."""
    return len(sizes) <= 2 or math.prod(sizes.tolist()) <= MOST_INSURED


def n_insured(sizes: Ints) -> int:
    """Return how many combinations are insured: all, or those that differ from the leader in two factors at most.

    >>> n_insured(np.array([8, 8])), n_insured(np.array([5, 5, 5, 5]))
    (64, 113)
    """
    if insures_all(sizes):
        return math.prod(sizes.tolist())
    more = sizes - 1
    return int(1 + more.sum() + (more.sum() ** 2 - (more**2).sum()) // 2)


@noalloc
def share_at(share: float, insured: float, step: int) -> float:
    """Return the probability that decision `step`, counted from 1, is an insurance step."""
    return min(1.0, share * math.sqrt(insured / step))


@noalloc
def in_plane(sizes: Ints, leader: int, one: int, other: int, index: int) -> int:
    """Return the combination at a place of the plane of two factors, the first of them before the other."""
    stride, result = 1, leader
    for factor in range(len(sizes) - 1, -1, -1):
        own = (leader // stride) % sizes[factor]
        if factor == other:
            result += (index % sizes[other] - own) * stride
        elif factor == one:
            result += (index // sizes[other] - own) * stride
        stride *= sizes[factor]
    return result


@noalloc
def draw_in_plane(state: Any, leader: int, rng: Any) -> int:
    """Draw two factors; return the winner of the draws in their plane through the leader."""
    sizes = state.sizes
    one, other = int(rng.random() * len(sizes)), int(rng.random() * (len(sizes) - 1))
    if other >= one:
        other += 1
    one, other = min(one, other), max(one, other)
    winner, largest = leader, -1.0
    for index in range(sizes[one] * sizes[other]):
        combination = in_plane(sizes, leader, one, other, index)
        if not may_show(state, combination):
            continue
        draw = draw_beta(pulls_of(state, combination), clicks_of(state, combination), rng)
        if draw > largest:
            winner, largest = combination, draw
    return winner


@kernel
def add_planes(counts: Counts, leader: int, weight: float, best: float, step: int, shown: Any, cross: Any) -> float:
    """Add, times a weight, the probabilities of an insurance step in the planes through a leader.

    Return the probability that it shows nothing, as what it drew is ruled out.
    """
    sizes, passed_over, most = counts.sizes, 0.0, 0
    for one in range(len(sizes)):
        for other in range(one + 1, len(sizes)):
            most = max(most, sizes[one] * sizes[other])
    members = np.empty(most, np.int64)
    each = 2.0 * weight / (len(sizes) * (len(sizes) - 1))
    for one in range(len(sizes)):
        for other in range(one + 1, len(sizes)):
            count = 0
            for index in range(sizes[one] * sizes[other]):
                combination = in_plane(sizes, leader, one, other, index)
                if may_show(counts, combination):
                    members[count] = combination
                    count += 1
            left_out = add_winner_of(members, count, counts, each, best, step, False, shown, cross)
            passed_over += left_out * 2.0 / (len(sizes) * (len(sizes) - 1))
    return passed_over
