"""Off-policy evaluation of a log that a policy made while it learned: weights that keep the spread of each decision.

Hadad, Hirshberg, Zhan, Wager, Athey (PNAS 2021), sections 2 and 3. Decisions have doubly robust scores

    G_t = sum over a of q(a) m_t(a) + w_t (r_t - m_t(a_t)),    w_t = q(a_t) / p_t(a_t),

m_t fitted to earlier decisions only. Their spread grows as a policy stops showing what is asked for, so their mean is
not normal even for long logs, and intervals around it are too narrow. The weighted mean sum h_t G_t / sum h_t is, if
h_t is known before decision t and h_t G_t spreads alike throughout: h_t = E[w_t^2 | past]^(-1/2), which is
sqrt(p_t(a)) for a target that always shows a (the "constant allocation rate" of the paper).

E[w_t^2 | past] = sum over a of q(a)^2 / p_t(a) needs the probability of what was *not* shown, which logs do not keep.
Any h_t that the past determines keeps the estimate free of bias, so 1 / p_t(a) is taken for what it was when a was last
shown, plus the number of decisions since (the mean of a rate that had one event in 1 / p decisions and none in so many
more); before a is shown for the first time, as if all combinations had been equally likely.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from rankone.numerics.arrays import Floats, Ints

_FIRST = 32  # decisions without a model; it is fitted again whenever there are twice as many


def stabilising_weights(action: Ints, weight: Floats, target: Floats) -> Floats:
    """Return h_t: what decisions before t say about E[w_t^2 | past], to the power -1/2.

    >>> action, target = np.array([0, 1, 0, 0]), np.array([1.0, 0.0])
    >>> (stabilising_weights(action, np.array([2.0, 0.0, 4.0, 4.0]), target) ** -2).round(9).tolist()
    [2.0, 2.0, 3.0, 4.0]
    """
    # The term of a is q^2 (t + c), c = 1 / p - s - 1 since it was shown at s; at first c is the number of combinations.
    squares = target * target
    shown = np.flatnonzero(weight > 0.0)
    own = action[shown]
    now = target[own] * weight[shown] - squares[own] * (shown + 1.0)
    order = np.argsort(own, kind="stable")
    before = squares[own] * float(len(target))
    same = own[order][1:] == own[order][:-1]
    before[order[1:][same]] = now[order[:-1][same]]
    steps = np.zeros(len(action) + 1)
    steps[shown + 1] = now - before
    spread = squares.sum() * (np.arange(len(action)) + len(target)) + np.cumsum(steps)[:-1]
    weights: Floats = 1.0 / np.sqrt(spread)
    return weights


def fitted_before(
    action: Ints, reward: Floats, target: Floats, fit: Callable[[Floats, Floats], Floats]
) -> tuple[Floats, Floats]:
    """Return for each decision m(a_t) and the target's mean by m, where m knows earlier decisions only.

    Args:
        action: number of the combination of each decision.
        reward: its outcome.
        target: probabilities of the target, one of each combination.
        fit: from how often each combination was shown and clicked to the click rates of all.
    """
    size, decisions = len(target), len(reward)
    ends = [0, *(_FIRST << double for double in range(64) if _FIRST << double < decisions), decisions]
    model, mean = np.zeros(decisions), np.zeros(decisions)
    shown, clicked = np.zeros(size), np.zeros(size)
    for first, end in pairwise(ends):
        some = slice(first, end)
        if first:
            rates = fit(shown, clicked)
            model[some], mean[some] = rates[action[some]], float(target @ rates)
        shown += np.bincount(action[some], minlength=size)
        clicked += np.bincount(action[some], reward[some], minlength=size)
    return model, mean
