"""Obvious slow policies, straight from the pseudo-code. Each is a generator: it yields a pair and is sent its reward.

They draw from `rng` in the order the rules name the draws, so that the fast kernels must choose the same pairs.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from itertools import count

Pairs = Generator[tuple[int, int], int, None]


def kl(p: float, q: float) -> float:
    def term(a: float, b: float) -> float:
        if a == 0.0:
            return 0.0
        return math.inf if b == 0.0 else a * math.log(a / b)

    return term(p, q) + term(1.0 - p, 1.0 - q)


def bisect(inside: float, outside: float, holds) -> float:
    for _ in range(200):
        middle = 0.5 * (inside + outside)
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return inside


def upper(p: float, radius: float) -> float:
    return bisect(p, 1.0, lambda q: kl(p, q) <= radius) if p < 1.0 else 1.0


def lower(p: float, radius: float) -> float:
    return bisect(p, 0.0, lambda q: kl(p, q) <= radius) if p > 0.0 else 0.0


def best_at_random(values: dict[int, float], rng) -> int:
    """Key of the largest value; ties by reservoir sampling, one draw for each candidate that is not beaten."""
    best, ties, winner = -math.inf, 0, -1
    for key, value in values.items():
        if value >= best:
            ties = ties + 1 if value == best else 1
            if rng.random() * ties < 1.0:
                best, winner = value, key
    return winner


def rank1elim(n_rows: int, n_cols: int, n: int, rng, first_length: float, bounds) -> Pairs:
    """Algorithm 1 of the paper, with the tables C kept in full; `bounds(mean, n_l)` tells the two policies apart."""
    h_u, h_v = list(range(n_rows)), list(range(n_cols))
    c_u = [[0] * n_cols for _ in range(n_rows)]
    c_v = [[0] * n_cols for _ in range(n_rows)]
    previous = 0
    for stage in count():
        n_l = math.ceil(first_length * 4**stage * math.log(n))
        rows, cols = sorted(set(h_u)), sorted(set(h_v))
        if len(rows) == len(cols) == 1:
            while True:
                yield rows[0], cols[0]
        for _ in range(n_l - previous):
            j = h_v[int(rng.random() * n_cols)]
            for i in rows:
                c_u[i][j] += yield i, j
            i = h_u[int(rng.random() * n_rows)]
            for j in cols:
                c_v[i][j] += yield i, j
        previous = n_l
        for h, active, total in (
            (h_u, rows, {i: sum(c_u[i]) for i in rows}),
            (h_v, cols, {j: sum(c_v[i][j] for i in range(n_rows)) for j in cols}),
        ):
            intervals = {x: bounds(total[x] / n_l, n_l) for x in active}
            winner = best_at_random({x: low for x, (low, _) in intervals.items()}, rng)
            for x, target in enumerate(list(h)):
                if intervals[target][1] <= intervals[winner][0]:
                    h[x] = winner


def rank1elim_factors(sizes: list[int], n: int, rng, first_length: float, bounds) -> Generator:
    """The same for any number of factors: partners of a sweep are drawn from every other factor."""
    factors = range(len(sizes))
    h = [list(range(size)) for size in sizes]
    clicks = [[0] * size for size in sizes]
    previous = 0
    for stage in count():
        n_l = math.ceil(first_length * 4**stage * math.log(n))
        active = [sorted(set(defeat)) for defeat in h]
        while all(len(levels) == 1 for levels in active):
            yield tuple(levels[0] for levels in active)
        for _ in range(n_l - previous):
            for factor in factors:
                shown = [0 if other == factor else h[other][int(rng.random() * sizes[other])] for other in factors]
                for level in active[factor]:
                    clicks[factor][level] += yield (*shown[:factor], level, *shown[factor + 1 :])
        previous = n_l
        for factor in factors:
            intervals = {level: bounds(clicks[factor][level] / n_l, n_l) for level in active[factor]}
            winner = best_at_random({level: low for level, (low, _) in intervals.items()}, rng)
            h[factor] = [winner if intervals[to][1] <= intervals[winner][0] else to for to in h[factor]]


def rank1elim_kl_bounds(n: int, c: float):
    level = math.log(n) + c * math.log(max(1.0, math.log(n)))
    return lambda mean, pulls: (lower(mean, level / pulls), upper(mean, level / pulls))


def rank1elim_hoeffding_bounds(n: int):
    return lambda mean, pulls: (mean - math.sqrt(math.log(n) / pulls), mean + math.sqrt(math.log(n) / pulls))


def ucb1_elim(n_rows: int, n_cols: int, n: int, rng) -> Pairs:
    """Auer and Ortner 2010, Figure 1; pairs are played in one shuffled order."""
    pairs = list(range(n_rows * n_cols))
    for place in range(1, len(pairs)):
        other = int(rng.random() * (place + 1))
        pairs[place], pairs[other] = pairs[other], pairs[place]
    clicks, pulls = dict.fromkeys(pairs, 0), 0
    for m in range(max(0, math.floor(0.5 * math.log2(n / math.e))) + 1):
        delta = 2.0**-m
        n_m = max(1, math.ceil(2 * math.log(n * delta**2) / delta**2))
        if len(pairs) > 1:
            while pulls < n_m:
                for pair in pairs:
                    clicks[pair] += yield divmod(pair, n_cols)
                pulls += 1
            radius = math.sqrt(math.log(n * delta**2) / (2 * pulls))
            best = max(clicks[pair] / pulls - radius for pair in pairs)
            pairs = [pair for pair in pairs if clicks[pair] / pulls + radius >= best]
    while True:
        for pair in pairs:
            yield divmod(pair, n_cols)


def shuffled_first_choices(n_pairs: int, rng) -> list[int]:
    """When each pair was 'last chosen' before the start: distinct negative times in random order."""
    chosen = [0] * n_pairs
    for pair in range(n_pairs):
        other = int(rng.random() * (pair + 1))
        chosen[pair] = chosen[other]
        chosen[other] = pair - n_pairs
    return chosen


def index_policy(n_rows: int, n_cols: int, rng, index) -> Pairs:
    """Largest ``index(clicks, pulls, t)`` first; ties to the pair chosen longest ago, at random before that."""
    n_pairs = n_rows * n_cols
    chosen = shuffled_first_choices(n_pairs, rng)
    clicks, pulls = [0] * n_pairs, [0] * n_pairs
    for t in count():
        indices = [index(clicks[pair], pulls[pair], t) if pulls[pair] else math.inf for pair in range(n_pairs)]
        pair = max(range(n_pairs), key=lambda pair: (indices[pair], -chosen[pair]))
        chosen[pair] = t
        clicks[pair] += yield divmod(pair, n_cols)
        pulls[pair] += 1


def ucb1_index(clicks: int, pulls: int, t: int) -> float:
    return clicks / pulls + math.sqrt(2.0 * math.log(t) / pulls)


def kl_ucb_index(c: float):
    def index(clicks: int, pulls: int, t: int) -> float:
        level = math.log(t)
        level += c * math.log(level) if level > 1.0 else 0.0
        return upper(clicks / pulls, level / pulls)

    return index
