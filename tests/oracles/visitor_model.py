"""A logistic regression with normal priors as written down: small steps up the log posterior, one decision at a time."""

import math


def slow_effects(rows, spread, center, steps=4_000, rate=2e-3):
    """Return the effects, by number, that are most probable; `rows` are (features, clicked)."""
    effects = list(center)
    for _ in range(steps):
        slope = [(center[k] - effects[k]) / spread[k] ** 2 for k in range(len(effects))]
        for features, clicked in rows:
            score = sum(effects[k] * value for k, value in enumerate(features))
            off = clicked - 1.0 / (1.0 + math.exp(-score))
            for k, value in enumerate(features):
                slope[k] += off * value
        effects = [effect + rate * each for effect, each in zip(effects, slope, strict=True)]
    return effects
