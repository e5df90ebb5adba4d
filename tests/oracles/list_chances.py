"""Probabilities of lists, straight from their definition: a fine grid for draws, a loop over kinds of lists."""

import numpy as np
from scipy import stats


def next_by_draws(clicks, misses, above, rest):
    """How probable each of `rest` has the largest draw, given that `above` were larger, in this order."""
    points = stats.norm.cdf(np.linspace(-7, 7, 4001))
    edges = [
        stats.beta.ppf(np.r_[points, np.linspace(1e-9, 1 - 1e-9, 4001)], c + 1, m + 1)
        for c, m in zip(clicks, misses, strict=True)
    ]
    x = np.unique(np.concatenate(edges))
    x = x[(x > 0) & (x < 1)]
    below = np.array([stats.beta.cdf(x, c + 1, m + 1) for c, m in zip(clicks, misses, strict=True)])
    held = np.ones_like(x)
    for item in above:
        inside = (held[1:] + held[:-1]) / 2 * np.diff(below[item])
        held = np.concatenate([np.cumsum(inside[::-1])[::-1], [0]])
    whole = []
    for item in rest:
        others = held * np.prod([below[other] for other in rest if other != item], axis=0)
        whole.append(np.sum((others[1:] + others[:-1]) / 2 * np.diff(below[item])))
    return np.array(whole) / np.sum(whole)


def gentle_lists(present, strangers):
    """All lists of the present one with a stranger at one position, and how probable each is."""
    if not strangers:
        return {tuple(present): 1.0}
    return {
        (*present[:position], stranger, *present[position + 1 :]): 1.0 / (len(present) * len(strangers))
        for position in range(len(present))
        for stranger in strangers
    }
