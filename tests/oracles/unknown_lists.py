"""Obvious slow policies for lists whose examination nobody knows, straight from the papers. See `tests.oracles.lists`."""

from __future__ import annotations

import math
from itertools import count, pairwise
from statistics import NormalDist

import numpy as np
from scipy.optimize import linear_sum_assignment

from tests.oracles.policies import best_at_random, lower, upper


def shuffled_blocks(blocks: list[list[int]], n_positions: int, rng) -> tuple[int, ...]:
    """Show blocks in order, each in a random order, as far as there is room; blocks keep that order."""
    shown: list[int] = []
    for block in blocks:
        for place in range(min(len(block), n_positions - len(shown))):
            other = place + int(rng.random() * (len(block) - place))
            block[place], block[other] = block[other], block[place]
            shown.append(block[place])
    return tuple(shown)


def toprank_lists(n_items: int, n_positions: int, rng, horizon: int):
    """TopRank, Algorithm 1, with the sums S and N of every two items."""
    c = 4.0 * math.sqrt(2.0 / math.pi) / math.erf(math.sqrt(2.0))
    items = range(n_items)
    beats, sums, counts = set(), np.zeros((n_items, n_items)), np.zeros((n_items, n_items))
    while True:
        blocks, left = [], set(items)
        while left:
            free = [j for j in sorted(left) if not any((i, j) in beats for i in left)] or sorted(left)
            blocks.append(free)
            left -= set(free)
        known = len(beats)
        while len(beats) == known:
            shown = shuffled_blocks(blocks, n_positions, rng)
            clicked = yield shown
            click = dict.fromkeys(items, 0) | dict(zip(shown, clicked, strict=True))
            for block in blocks:
                for i in block:
                    for j in block:
                        x = click[i] - click[j]
                        sums[i, j] += x
                        counts[i, j] += abs(x)
                        n = counts[i, j]
                        if (
                            n
                            and sums[i, j] > 0
                            and sums[i, j] >= math.sqrt(2 * n * math.log(c * horizon * math.sqrt(n)))
                        ):
                            beats.add((i, j))


def unirank_lists(n_items: int, n_positions: int, rng):
    """UniRank, Algorithms 1 and 2, with partitions as lists of lists."""
    won, led = np.zeros((n_items, n_items), int), {}

    def smallest_that_beats_the_rest(left):
        """By its definition for every item: what has to be in the set if that item is."""
        closures = []
        for item in left:
            inside = {item}
            while True:
                more = {j for j in left if j not in inside and any(won[i, j] <= won[j, i] for i in inside)}
                if not more:
                    break
                inside |= more
            closures.append(inside)
        return sorted(min(closures, key=len))

    def optimism(i, j, times):
        met = won[i, j] + won[j, i]
        if met == 0 or times < 3:
            return 1.0
        level = math.log(times) + 3.0 * math.log(max(1.0, math.log(times)))
        return 2.0 * upper(won[i, j] / met, level / met) - 1.0

    while True:
        leader, left = [], list(range(n_items))
        while left and n_items - len(left) < n_positions:
            leader.append(smallest_that_beats_the_rest(left))
            left = [item for item in left if item not in leader[-1]]
        key = (tuple(map(tuple, leader)), tuple(left))
        led[key] = led.get(key, 0) + 1
        worth = {
            place: max(optimism(j, i, led[key]) for i in leader[place] for j in leader[place + 1])
            for place in range(len(leader) - 1)
        } | {n_items + j: max(optimism(j, i, led[key]) for i in leader[-1]) for j in left}
        worth = {place: round(value, 9) for place, value in worth.items() if value > 1e-12}
        played = [list(subset) for subset in leader]
        if worth:
            best = best_at_random(worth, rng)
            if best >= n_items:
                played[-1].append(best - n_items)
            else:
                played[best : best + 2] = [played[best] + played[best + 1]]
        shown = shuffled_blocks(played, n_positions, rng)
        clicked = yield shown
        click = dict.fromkeys(range(n_items), 0) | dict(zip(shown, clicked, strict=True))
        for subset in played:
            for i in subset:
                for j in subset:
                    won[i, j] += click[i] > click[j]


def pb_mhb_lists(n_items: int, n_positions: int, rng, c: float, prior: float = 0.5):
    """PB-MHB with the whole likelihood at every step of the chain."""
    clicks, misses = (np.full((n_items, n_positions), prior) for _ in range(2))
    attraction = [rng.random() for _ in range(n_items)]
    examination = [1.0] + [rng.random() for _ in range(n_positions - 1)]

    def log_posterior():
        product = np.outer(attraction, examination)
        return (clicks * np.log(product) + misses * np.log(np.maximum(1.0 - product, 1e-12))).sum()

    def propose(x, width):
        while True:
            if width > 0.5:
                y = rng.random()
                if rng.random() < math.exp(-0.5 * ((y - x) / width) ** 2):
                    return y
            else:
                y = x + width * math.sqrt(-2.0 * math.log(1.0 - rng.random())) * math.cos(2.0 * math.pi * rng.random())
                if 0.0 < y < 1.0:
                    return y

    def inside(x, width):
        return NormalDist(x, width).cdf(1.0) - NormalDist(x, width).cdf(0.0)

    for t in count(1):
        width = c / math.sqrt(t)
        for vector, line in [(attraction, i) for i in range(n_items)] + [
            (examination, k) for k in range(1, n_positions)
        ]:
            old, before = vector[line], log_posterior()
            vector[line] = propose(old, width)
            ratio = log_posterior() - before + math.log(inside(old, width) / inside(vector[line], width))
            if math.log(1.0 - rng.random()) >= ratio:
                vector[line] = old
        shown = np.empty(n_positions, int)
        shown[np.argsort([-k for k in examination])] = np.argsort([-a for a in attraction])[:n_positions]
        clicked = yield tuple(shown.tolist())
        for place, item in enumerate(shown):
            clicks[item, place] += clicked[place]
            misses[item, place] += 1 - clicked[place]


def batchrank_lists(n_items: int, n_positions: int, rng, horizon: int):
    """BatchRank, Algorithms 1 to 3, without the condition that can freeze it."""
    level = math.log(horizon) + 3.0 * math.log(max(1.0, math.log(horizon)))
    batches = [(list(range(n_positions)), list(range(n_items)), 0)]  # positions, items, stage
    counts = [({}, {})]  # displays and clicks of each item of a batch, in its stage
    while True:
        shown, counted = [0] * n_positions, {}
        lengths = [math.ceil(16 * 4**stage * math.log(horizon)) for _, _, stage in batches]
        for batch, (positions, items, _) in enumerate(batches):
            if len(items) == 1:
                shown[positions[0]] = items[0]
                continue
            displays = counts[batch][0]
            keys = {d: min(displays.get(d, 0), lengths[batch]) + rng.random() for d in sorted(items)}
            chosen = sorted(items, key=keys.__getitem__)[: len(positions)]
            for rank, place in enumerate(positions):
                other = rank + int(rng.random() * (len(positions) - rank))
                chosen[rank], chosen[other] = chosen[other], chosen[rank]
                shown[place] = chosen[rank]
                if displays.get(chosen[rank], 0) < lengths[batch]:
                    counted[place] = batch
        clicked = yield tuple(shown)
        for place, batch in counted.items():
            displays, clicks = counts[batch]
            displays[shown[place]] = displays.get(shown[place], 0) + 1
            clicks[shown[place]] = clicks.get(shown[place], 0) + clicked[place]
        for batch, (positions, items, stage) in enumerate(list(batches)):
            displays, clicks = counts[batch]
            n = lengths[batch]
            if len(items) == 1 or any(displays.get(d, 0) < n for d in items):
                continue
            high = {d: upper(clicks[d] / n, level / n) for d in items}
            low = {d: lower(clicks[d] / n, level / n) for d in items}
            ranked = sorted(items, key=lambda d: (-low[d], d))
            split = 0
            for k in range(1, len(positions)):
                if low[ranked[k - 1]] > max((high[d] for d in ranked[k:]), default=-1.0):
                    split = k
            if split:
                batches[batch] = (positions[:split], ranked[:split], 0)
                batches.append((positions[split:], ranked[split:], 0))
                counts.append(({}, {}))
            else:
                kept = [d for d in items if high[d] >= low[ranked[len(positions) - 1]]]
                batches[batch] = (positions, kept, stage + 1)
            counts[batch] = ({}, {})


def grab_lists(n_items: int, n_positions: int, rng, horizon: int, gamma: int | None = None):
    """GRAB: the leader by an assignment of all means, its neighbours by all their bounds."""
    gamma = gamma or max(1, n_items - 1)
    ties = 1e-12 * np.array([[rng.random() for _ in range(n_positions)] for _ in range(n_items)])
    shows, clicks, led = np.zeros((n_items, n_positions)), np.zeros((n_items, n_positions)), {}
    while True:
        means = np.where(shows > 0, clicks / np.maximum(shows, 1), 0.0) + ties
        high = [
            [
                upper(clicks[i, k] / shows[i, k], math.log(horizon) / shows[i, k]) if shows[i, k] else 1.0
                for k in range(n_positions)
            ]
            for i in range(n_items)
        ]
        positions, items = linear_sum_assignment(-means.T)
        leader = tuple(items[np.argsort(positions)].tolist())
        led[leader] = led.get(leader, 0) + 1
        order = sorted(range(n_positions), key=lambda k: -means[leader[k], k])
        shown = leader
        if led[leader] % gamma:
            gains = {}
            for x, (k, m) in enumerate(pairwise(order)):
                a, b = leader[k], leader[m]
                gains[x] = (high[b][k] + high[a][m]) - (high[a][k] + high[b][m])
            last = order[-1]
            gains |= {
                n_positions + j: high[j][last] - high[leader[last]][last] for j in range(n_items) if j not in leader
            }
            gains = {key: round(gain, 9) for key, gain in gains.items() if gain > 1e-9}
            if gains:
                best, changed = best_at_random(gains, rng), list(leader)
                if best < n_positions:
                    k, m = order[best], order[best + 1]
                    changed[k], changed[m] = changed[m], changed[k]
                else:
                    changed[last] = best - n_positions
                shown = tuple(changed)
        clicked = yield shown
        for place, item in enumerate(shown):
            shows[item, place] += 1
            clicks[item, place] += clicked[place]
