"""The published lottery of a factor as its rule is written: matrices, no loops over rows, nothing kept between calls."""

import numpy as np


def posterior(clicks, chances):
    """Return the scores at the peak and the curvature there, of clicks and chances (rows, k)."""
    scores = np.zeros(clicks.shape[1])
    for _ in range(200):
        weights = chances * np.exp(scores)
        shares = weights / weights.sum(axis=1, keepdims=True)
        expected = clicks.sum(axis=1, keepdims=True) * shares
        slope = (clicks - expected).sum(axis=0) - scores
        curvature = np.eye(len(scores)) + np.diag(expected.sum(axis=0)) - expected.T @ shares
        step = np.linalg.solve(curvature, slope)
        scores = scores + step / max(1.0, np.abs(step).max())
    return scores, curvature


def lottery(clicks, chances, decide, rng, draws=1_000):
    """Return the chances of the next version."""
    scores, curvature = posterior(clicks, chances)
    covariance = np.linalg.inv(curvature)
    k, leader = len(scores), int(np.argmax(scores))
    contrast = np.eye(k) - np.eye(k)[leader]
    s = np.diag(contrast @ covariance @ contrast.T)
    root = np.linalg.cholesky(curvature).T
    wins = np.zeros(k)
    for _ in range(draws):
        u = contrast @ np.linalg.solve(root, rng.standard_normal(k))
        shrunk = s / (1 + s)
        base = 1 - shrunk / 9 + u / (3 * np.sqrt(1 + s))
        with np.errstate(invalid="ignore"):
            ratios = np.where(base > 0, scores - scores[leader] + np.log(1 + s) + 3 * np.log(base), -np.inf)
        ratios[leader] = 0.0
        wins[np.argmax(ratios)] += 1
    best = wins / draws
    rivals = best + 0.001
    rivals[leader] = 0.0
    rivals *= 0.5 / rivals.sum()
    rivals[leader] = 0.5
    even = min(0.2, 2 / max(clicks.sum(), 1))
    return (1 - even) * ((1 - decide) * best + decide * rivals) + even / k
