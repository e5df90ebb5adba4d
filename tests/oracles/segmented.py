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


def plain_differs(ours, our_clicks, others, their_clicks, prior=0.05):
    """Return the probability that a segment differs from others, and the factor with the largest odds.

    Arrays of counts, an axis per factor.
    """
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
    return found / (1.0 + found), int(np.argmax(odds))


def _to_reference(pulls, clicks, factor, level, reference):
    """Return the ratio of a level's clicks to the reference's, other levels alike: logarithm, variance, clicks."""
    ours, others = pulls.take(level, factor), pulls.take(reference, factor)
    hits, theirs = clicks.take(level, factor), clicks.take(reference, factor)
    shared, both = (ours > 0) & (others > 0), np.maximum(1, ours + others)
    up, down = (hits * others / both)[shared].sum(), (theirs * ours / both)[shared].sum()
    noise = ((hits + theirs) * ours * others / both**2 - hits * theirs / both)[shared].sum()
    if up + down == 0.0:
        return None
    return math.log((up + 0.25) / (down + 0.25)), (noise + 0.25) / ((up + 0.25) * (down + 0.25)), up


def plain_differs_in(factor, segment, group, reference, prior=0.7, spread=0.3):
    """Return the probability that a segment differs from a group in a factor; both are (pulls, clicks)."""
    evidence, prefers = 0.0, 0.0
    for level in range(segment[0].shape[factor]):
        ours, theirs = (_to_reference(*counts, factor, level, reference) for counts in (segment, group))
        if level == reference or ours is None:
            continue
        if ours[0] > 0.0:
            prefers = max(prefers, math.exp(min(100.0, 0.5 * ours[0] ** 2 / ours[1])) / math.sqrt(1.0 + ours[2]))
        if theirs is not None:
            difference, variance = ours[0] - theirs[0], ours[1] + theirs[1]
            evidence += _log_normal(difference, variance + spread**2) - _log_normal(difference, variance)
    odds = prior * max(math.exp(min(100.0, evidence)), prefers)
    return odds / (1.0 + odds)


def _log_normal(value, variance):
    return -0.5 * (math.log(variance) + value**2 / variance)


def plain_step(pulls, clicks, led, start, like, common, coin, rng, draw):
    """Return the decision of a UTS whose common factors are as in another combination, and who led.

    Counts have an axis per factor, combinations are tuples of levels; `draw` draws a Beta.
    """

    def mean(levels):
        return clicks[levels] / pulls[levels] if pulls[levels] else -1.0

    leader, best = None, tuple(like[factor] if factor in common else own for factor, own in enumerate(start))
    while best != leader:
        leader = best
        near = [
            (*leader[:factor], level, *leader[factor + 1 :])
            for factor in reversed(range(len(leader)))
            for level in range(pulls.shape[factor])
            if factor not in common and level != leader[factor]
        ]
        best = max([leader, *near], key=mean)  # of equals the first
    if rng.random() < 0.5 if coin else (led[leader] + 1) % 2 == 0:
        return leader, leader
    drawn = {levels: draw(pulls[levels], clicks[levels], rng) for levels in [leader, *near]}
    return max(drawn, key=drawn.get), leader
