"""Adaptive weights one decision at a time, as the text of `rankone.analysis.what_if.off_policy` says them."""

import numpy as np


def adaptive_estimate(action, reward, chance, target, rates_after):
    """Value and standard error; `rates_after(n)` are the click rates that a model of the first n decisions gives."""
    inverse = np.full(len(target), float(len(target)))
    weights, scores, fitted = [], [], None
    for t, (a, r, p) in enumerate(zip(action, reward, chance, strict=True)):
        if t >= 32 and (t & (t - 1)) == 0:  # 32, 64, 128, ...
            fitted = rates_after(t)
        spread = sum(q * q * known for q, known in zip(target, inverse, strict=True))
        weights.append(spread**-0.5)
        w = target[a] / p
        m, mean = (0.0, 0.0) if fitted is None else (fitted[a], float(np.dot(target, fitted)))
        scores.append(mean + w * (r - m))
        inverse += 1.0
        if w > 0.0:
            inverse[a] = 1.0 / p
    h, g = np.array(weights), np.array(scores)
    value = (h * g).sum() / h.sum()
    return value, np.sqrt((h**2 * (g - value) ** 2).sum()) / h.sum()
