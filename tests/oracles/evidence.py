"""The evidence about levels, straight from its definition: one likelihood ratio a pair of levels, click by click."""

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
