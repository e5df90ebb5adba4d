"""The evidence about levels, straight from its definition: one likelihood ratio a pair of levels, outcome by outcome."""

import numpy as np


def log_martingale(clicks, x, y, ratio, null=1.0):
    """log of the likelihood of "x has `ratio` times the clicks of y" over that of `null` times, at each click.

    `clicks` are (levels that were clicked, probabilities of the cross of that decision).
    """
    log, path = 0.0, []
    for levels, cross in clicks:
        a, b = cross[x], cross[y]
        if (x in levels or y in levels) and a > 0 and b > 0:
            on_x = x in levels
            log += np.log((a * ratio if on_x else b) / (a * ratio + b))
            log -= np.log((a * null if on_x else b) / (a * null + b))
        path.append(log)
    return np.array(path)


def log_evidence(clicks, x, y, ratios, null=1.0):
    """log of the average over ratios, at each click."""
    paths = np.array([log_martingale(clicks, x, y, ratio, null) for ratio in ratios])
    return np.logaddexp.reduce(paths, axis=0) - np.log(len(ratios))


def log_silence(outcomes, x, y, ratio, n_levels):
    """log of what visitors who did not click add for "x has `ratio` times the clicks of y", at each outcome.

    `outcomes` are (levels that were shown, probabilities of the cross, whether there was a click).
    """
    clicks, expected = np.zeros(n_levels), np.zeros(n_levels)
    all_clicks = everybody = log = 0.0
    path = []
    for levels, cross, clicked in outcomes:
        site = all_clicks / (everybody + 1)
        a, b = cross[x], cross[y]
        if not clicked and all_clicks >= 0.25 * (everybody + 1) and (x in levels or y in levels) and a > 0 and b > 0:
            liking = (clicks + 1) / (expected + 1)
            here = site * np.prod([liking[level] for level in levels if level not in (x, y)])
            better, worse = np.minimum(0.95, here * liking[[x, y]])
            rate = 0.9 * min(worse, better / ratio)
            w = (1 - rate) / (1 - ratio * rate)
            log += np.log((w if y in levels else 1.0) * (a + b) / (a + b * w))
        for level in levels:
            clicks[level] += clicked - clicks[level] / 1000
            expected[level] += site - expected[level] / 1000
        all_clicks += clicked - all_clicks / 200
        everybody += 1 - everybody / 200
        path.append(log)
    return np.array(path)
