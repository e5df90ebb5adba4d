"""Policies for worlds that change, as their papers say: generators that keep every outcome and forget none.

A generator yields a pair (as a number) and is sent its outcome, as `tests.oracles.policies` does.
"""

from __future__ import annotations

import math

import numpy as np

from rankone.numerics.betas.beta import draw_beta
from rankone.numerics.kl import kl_upper
from tests.oracles import change_point as slow


def _draw(outcomes, weights, pair, rng):
    clicks = sum(w * reward for w, (shown, reward) in zip(weights, outcomes, strict=True) if shown == pair)
    pulls = sum(w for w, (shown, _) in zip(weights, outcomes, strict=True) if shown == pair)
    return draw_beta.py_func(pulls, clicks, rng)


def _best(values, rng):
    """The first of the largest, or a later one that ties, each with the same probability."""
    found, best, tied = 0, -math.inf, 0
    for pair, value in enumerate(values):
        if value > best:
            found, best, tied = pair, value, 1
        elif value == best:
            tied += 1
            if rng.random() * tied < 1.0:
                found = pair
    return found


def forgetting(shape, rng, gamma=1.0, window=None, unimodal=False):
    """Thompson sampling, flat or on the leader's cross, on outcomes that are discounted or out of the window."""
    n, outcomes, led = math.prod(shape), [], np.zeros(math.prod(shape), int)
    while True:
        weights = [gamma ** (len(outcomes) - 1 - place) for place in range(len(outcomes))]
        arms = range(n)
        if unimodal:
            clicks, pulls = np.zeros(n), np.zeros(n)
            for weight, (shown, reward) in zip(weights, outcomes, strict=True):
                clicks[shown] += weight * reward
                pulls[shown] += weight
            leader = _best([clicks[a] / pulls[a] if pulls[a] else -1.0 for a in range(n)], rng)
            led[leader] += 1
            row, col = divmod(leader, shape[1])
            arms = [leader, *(row * shape[1] + c for c in range(shape[1]) if c != col)]
            arms += [r * shape[1] + col for r in range(shape[0]) if r != row]
            if led[leader] % 2 == 0:
                arms = [leader]
        draws = {arm: _draw(outcomes, weights, arm, rng) for arm in arms} if len(arms) > 1 or not unimodal else {}
        chosen = max(draws, key=draws.get) if draws else arms[0]
        outcomes.append((chosen, (yield chosen)))
        outcomes = outcomes[-window:] if window else outcomes


def glr_kl_ucb(n, horizon, breaks, rng):
    alpha, delta = 0.1 * math.sqrt(breaks * math.log(horizon) / horizon), 1.0 / math.sqrt(breaks * horizon)
    step, seen = 0, [[] for _ in range(n)]
    while True:
        chosen = step % int(n / alpha)
        if chosen >= n:
            level = math.log(max(1, step))
            means = [(np.mean(own), level / len(own)) if own else None for own in seen]
            chosen = _best([kl_upper(*each) if each else math.inf for each in means], rng)
        step += 1
        seen[chosen].append((yield chosen))
        own = seen[chosen]
        if len(own) % 8 == 0:
            parts = [(count, total[0]) for count, total in slow.buckets(np.array(own)[:, None])]
            enough = math.log(3.0 * len(own) ** 1.5 / delta)
            for split in range(1, len(parts)):
                before, after = (tuple(np.sum(part, axis=0)) for part in (parts[:split], parts[split:]))
                if slow.rate_evidence(before, after) > enough:
                    step, seen = 0, [[] for _ in range(n)]
                    break


def m_ucb(n, horizon, window, breaks, rng):
    bound = math.sqrt(window / 2 * math.log(2 * n * horizon**2))
    gamma = min(1.0, math.sqrt(breaks * n * (2 * bound + 3 * math.sqrt(window)) / (2 * horizon)))
    step, seen = 0, [[] for _ in range(n)]
    while True:
        chosen = step % math.ceil(n / gamma)
        if chosen >= n:
            level = 2.0 * math.log(max(1, step))
            chosen = _best([np.mean(own) + math.sqrt(level / len(own)) if own else math.inf for own in seen], rng)
        step += 1
        seen[chosen].append((yield chosen))
        last = seen[chosen][-window:]
        if len(last) == window and abs(sum(last[window // 2 :]) - sum(last[: window // 2])) > bound:
            step, seen = 0, [[] for _ in range(n)]


def cusum_ucb(n, horizon, eps, first, breaks, rng):
    height = math.log(horizon / breaks)
    alpha, seen = math.sqrt(breaks / horizon * height), [[] for _ in range(n)]
    while True:
        known = math.log(max(1, sum(map(len, seen))))
        explore = rng.random() < alpha
        chosen = int(rng.random() * n) if explore else -1
        if chosen < 0:
            chosen = _best([np.mean(own) + math.sqrt(known / len(own)) if own else math.inf for own in seen], rng)
        seen[chosen].append((yield chosen))
        up = down = 0.0
        for reward in seen[chosen][first:]:
            above = reward - np.mean(seen[chosen][:first])
            up, down = max(0.0, up + above - eps), max(0.0, down - above - eps)
        if max(up, down) > height:
            seen[chosen] = []
