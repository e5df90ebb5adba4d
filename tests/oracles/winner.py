"""The evidence about a winner, straight from its definition: mixtures by special functions, x by a fine grid."""

import numpy as np
from scipy.special import betaln


def log_martingale(pulls, clicks, x):
    """log of KT mixture over likelihood at x."""
    misses = pulls - clicks
    with np.errstate(divide="ignore", invalid="ignore"):
        likelihood = np.where(clicks > 0, clicks * np.log(x), 0.0) + np.where(misses > 0, misses * np.log1p(-x), 0.0)
    return betaln(clicks + 0.5, misses + 0.5) - betaln(0.5, 0.5) - likelihood


GRID = np.linspace(0.0, 1.0, 50_001)


def log_doubt(pulls, clicks, best, other, partner):
    """log of the probability bound that row `other` is at least as good as row `best`."""
    spread = 0.0
    for col in range(pulls.shape[1]):
        # The least evidence over all means with other >= best is at one common mean, or at the two means themselves.
        alone = log_martingale(pulls[best, col], clicks[best, col], GRID).min()
        alone += log_martingale(pulls[other, col], clicks[other, col], GRID).min()
        if pulls[best, col] * clicks[other, col] < pulls[other, col] * clicks[best, col]:
            both = [log_martingale(pulls[row, col], clicks[row, col], GRID) for row in (best, other)]
            spread += (both[0] + both[1]).min()
        else:
            spread += alone
    focus = -np.inf
    if pulls[best, partner] and pulls[other, partner]:
        high, low = (clicks[row, partner] / pulls[row, partner] for row in (best, other))
        between = GRID[(low < GRID) & (high > GRID)]
        if len(between):
            both = [log_martingale(pulls[row, partner], clicks[row, partner], between) for row in (best, other)]
            focus = np.minimum(both[0] + np.log(0.1), both[1] + np.log(0.9)).max()
    n_rows, n_cols = pulls.shape
    return min(0.0, np.log((n_rows + n_cols - 2) / 0.1) - spread, np.log((n_rows * n_cols - 1) / 0.9) - focus)
