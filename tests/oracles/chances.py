"""How probable each pair is at the next decision of UTS, Thompson sampling and top-two, worked out slowly; and what the policies say."""

from __future__ import annotations

import functools
import math

import numpy as np

from rankone.policies.chances import chances_asked
from tests.oracles.beta_maximum import win_probabilities
from tests.oracles.policies import kl


def chance_table(agent):
    """The probability of each combination at the last decision of an agent; None: its policy cannot say."""
    asked = chances_asked(agent, (0,) * len(agent.shape))
    return None if asked is None else asked[0]


@functools.cache
def _wins(counts):
    """The same for each set of counts, which tied leaders often share."""
    return dict(zip(counts, win_probabilities(list(counts)), strict=True))


def _cross(leader, shape):
    return [pair for pair in np.ndindex(*shape) if pair[0] == leader[0] or pair[1] == leader[1]]


def _leaders(pulls, clicks):
    means = np.where(pulls > 0, clicks / np.maximum(pulls, 1), -1.0)
    return [tuple(pair) for pair in np.argwhere(means == means.max()).tolist()]


def uts(pulls, clicks, led, gamma, coin):
    """Algorithm 1 with a lazy start; `led` is how often each pair has led before."""
    found = np.zeros(pulls.shape)
    leaders = _leaders(pulls, clicks)
    for leader in leaders:
        forced = 1.0 / gamma if coin else float((led[leader] + 1) % gamma == 0)
        found[leader] += forced / len(leaders)
        cross = _cross(leader, pulls.shape)
        wins = _wins(tuple(sorted((int(pulls[pair]), int(clicks[pair])) for pair in cross))) if forced < 1.0 else {}
        for pair in cross if wins else ():
            found[pair] += (1.0 - forced) * wins[int(pulls[pair]), int(clicks[pair])] / len(leaders)
    return found


def thompson(pulls, clicks):
    """Every pair draws."""
    counts = np.column_stack([pulls.ravel(), clicks.ravel()]).tolist()
    return win_probabilities(counts).reshape(pulls.shape)


def top_two(pulls, clicks, led, coin):
    """Leader or challenger, by turns or by a coin."""
    found = np.zeros(pulls.shape)
    leaders = _leaders(pulls, clicks)
    for leader in leaders:
        value = {pair: _doubt(pulls, clicks, leader, pair) for pair in _cross(leader, pulls.shape) if pair != leader}
        least = min(value.values(), default=math.inf)
        enough = least > 3.0 * math.log(led[leader] + 1)
        forced = 1.0 if enough else 0.5 if coin else float((led[leader] + 1) % 2 == 0)
        found[leader] += forced / len(leaders)
        rivals = [pair for pair in value if abs(value[pair] - least) < 1e-9 or value[pair] == least]
        for pair in rivals:
            found[pair] += (1.0 - forced) / len(rivals) / len(leaders)
    return found


def _doubt(pulls, clicks, leader, pair):
    n, other = pulls[leader], pulls[pair]
    if n == 0 or other == 0:
        return -math.inf
    common = (clicks[leader] + clicks[pair]) / (n + other)
    return n * kl(clicks[leader] / n, common) + other * kl(clicks[pair] / other, common) + math.log(other)
