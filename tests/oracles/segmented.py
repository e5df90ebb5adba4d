"""Segments that learn together or apart, as the definition says: plain counts, plain formulas, whole recomputation."""

import math

import numpy as np


def plain_odds(values, variances, spread=0.3):
    """Return the likelihood ratio of values that vary around any mean against values that do not, mean integrated out."""

    def log_likelihood(variance):
        weights = 1.0 / variance
        mean = (weights * values).sum() / weights.sum()
        return 0.5 * (np.log(weights).sum() - math.log(weights.sum()) - (weights * (values - mean) ** 2).sum())

    return math.exp(min(100.0, log_likelihood(variances + spread**2) - log_likelihood(variances)))


def plain_differs(ours, our_clicks, others, their_clicks, prior=0.01):
    """Return the probability that a segment differs from others; arrays of counts, an axis per factor."""
    both = np.maximum(1, ours + others)
    shared = (ours > 0) & (others > 0)
    up = np.where(shared, our_clicks * others / both, 0.0)
    down = np.where(shared, their_clicks * ours / both, 0.0)
    noise = np.where(
        shared, (our_clicks + their_clicks) * ours * others / both**2 - our_clicks * their_clicks / both, 0.0
    )
    odds = []
    for factor in range(ours.ndim):
        rest = tuple(axis for axis in range(ours.ndim) if axis != factor)
        ups, downs, noises = (each.sum(axis=rest) for each in (up, down, noise))
        known = ups + downs > 0
        if not known.any():
            odds.append(1.0)
            continue
        ups, downs, noises = (each[known] + 0.25 for each in (ups, downs, noises))
        odds.append(plain_odds(np.log(ups / downs), noises / (ups * downs)))
    found = prior * sum(odds) / ours.ndim
    return found / (1.0 + found)
