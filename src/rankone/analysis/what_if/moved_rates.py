"""Whether click rates moved while a log was made: the same combinations, clicked more or less often at times.

A mean whose weights change with time, `adaptive`'s, is that of all decisions only if the click rates did not change.
So the log is cut into stretches of time, short ones at first, where a policy learns most, and the outcomes of each are
compared with what the combinations shown in it earned over the whole log: a chi-squared test, in whose spread those
averages have their part. It is made of all decisions, which tells of the whole site, and of those alone that the target
might have made, which tells of what is asked for.
"""

from __future__ import annotations

import math

import numpy as np

from rankone.numerics.arrays import Floats, Ints

_CUTS = (0.125, 0.25, 0.5, 0.75)  # parts of the log
_LEAST_CLICKS = 40.0  # below, no test
_SIGN = 1.64  # standard errors: with two tests, rates that never moved are said to in about 1 of 10 logs


def rates_moved(action: Ints, reward: Floats, weight: Floats) -> bool:
    """Say whether the log shows that click rates moved, those of the site or those of what the target shows.

    >>> halves = np.repeat([0.1, 0.4], 500)
    >>> clicked = (np.arange(1_000) % 10 < 10 * halves).astype(float)
    >>> rates_moved(np.zeros(1_000, np.int64), clicked, np.ones(1_000))
    True
    """
    asked = weight > 0.0
    return _moved(action, reward) or (not asked.all() and _moved(action[asked], reward[asked]))


def _moved(action: Ints, reward: Floats) -> bool:
    if reward.sum() < _LEAST_CLICKS:
        return False
    size, stretches = int(action.max()) + 1, len(_CUTS) + 1
    stretch = np.searchsorted(np.array(_CUTS) * len(action), np.arange(len(action)), side="right")
    shown = np.bincount(action * stretches + stretch, minlength=size * stretches).reshape(size, stretches).astype(float)
    total = shown.sum(axis=1)
    mean = np.bincount(action, reward, size) / np.maximum(total, 1.0)
    apart = reward - mean[action]
    spread = np.bincount(action, apart * apart, size) / np.maximum(total - 1.0, 1.0)
    sums = np.bincount(stretch, apart, stretches)
    shares = shown / np.maximum(total, 1.0)[:, None]
    covariance = np.diag(spread @ shown) - (spread[:, None] * shown).T @ shares
    freedom = int(np.linalg.matrix_rank(covariance, hermitian=True))
    if not freedom:
        return False
    found = float(sums @ np.linalg.pinv(covariance, rcond=1e-9, hermitian=True) @ sums)
    part = 2.0 / (9.0 * freedom)  # Wilson, Hilferty (1931): the cube root of chi-squared is nearly normal
    return (max(found, 0.0) / freedom) ** (1.0 / 3.0) - (1.0 - part) > _SIGN * math.sqrt(part)
