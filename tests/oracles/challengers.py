"""Random challengers, straight from the pseudo-code. A generator: it yields a pair and is sent its reward."""

from __future__ import annotations

import math

import numpy as np


def challengers(n_rows: int, n_cols: int, window: int, memory: int, patience: float, rng):
    pulls, clicks, led = (np.zeros((n_rows, n_cols), int) for _ in range(3))
    shortlists: list[set[int]] = [set(), set()]

    def draw(pair):
        return rng.beta(clicks[pair] + 1, pulls[pair] - clicks[pair] + 1)

    def hopeless(pair, leader):
        n = pulls[pair] + 2
        mean = (clicks[pair] + 1) / n
        bar = clicks[leader] / pulls[leader] if pulls[leader] else -1.0
        return mean + patience * math.sqrt(mean * (1 - mean) / (n + 1)) < bar

    while True:
        means = np.where(pulls > 0, clicks / np.maximum(pulls, 1), -1.0)
        best = np.argwhere(means == means.max())
        leader = pair = tuple(best[int(rng.random() * len(best))])
        led[leader] += 1
        if led[leader] % 2 == 1:
            draws = {leader: (draw(leader), None)}
            for side, size in enumerate((n_rows, n_cols)):
                lines = [line for line in range(size) if line != leader[side]]
                if not lines:
                    continue
                first = int(rng.random() * len(lines))
                chosen = set((lines + lines)[first : first + min(window, len(lines))])
                crossing = {line: (line, leader[1]) if side == 0 else (leader[0], line) for line in lines}
                if window < len(lines):
                    gone = {x for x in shortlists[side] if x in crossing and x not in chosen}
                    shortlists[side] -= {x for x in gone if hopeless(crossing[x], leader)}
                    chosen |= shortlists[side] - {leader[side]}
                draws |= {crossing[line]: (draw(crossing[line]), side) for line in chosen}
            pair = max(draws, key=lambda pair: draws[pair][0])
            side = draws[pair][1]
            if side is not None and pair[side] not in shortlists[side]:
                if len(shortlists[side]) == memory:
                    shortlists[side].remove(sorted(shortlists[side])[int(rng.random() * memory)])
                shortlists[side].add(pair[side])
        reward = yield pair
        pulls[pair] += 1
        clicks[pair] += reward
