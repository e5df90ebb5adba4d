"""Click models on lists, one list at a time and by the definitions: what the vectorised models must agree with."""

from __future__ import annotations

import itertools
from collections import defaultdict

from tests.oracles.pbm_em import Session


def count(sessions: list[Session]):
    """Counts per (query, item, position, position of the click before): impressions, clicks, examined, last clicks."""
    table: dict = defaultdict(lambda: [0, 0, 0, 0])
    for session in sessions:
        clicked_at = [rank for rank, clicked in enumerate(session.clicks, 1) if clicked]
        last = clicked_at[-1] if clicked_at else None
        for rank, (item, clicked) in enumerate(zip(session.items, session.clicks, strict=True), 1):
            before = max((other for other in clicked_at if other < rank), default=0)
            cell = table[session.query, item, rank, before]
            cell[0] += 1
            cell[1] += clicked
            cell[2] += last is None or rank <= last
            cell[3] += rank == last
    return dict(table)


def cascade_attraction(sessions: list[Session], prior=(1.0, 2.0)):
    sums = defaultdict(lambda: list(prior))
    for session in sessions:
        for item, clicked in zip(session.items, session.clicks, strict=True):
            sums[session.query, item][0] += clicked
            sums[session.query, item][1] += 1
            if clicked:
                break
    return {pair: top / bottom for pair, (top, bottom) in sums.items()}


def browsing_attraction(sessions: list[Session], prior=(1.0, 2.0)):
    """DCM and SDBN: clicks over impressions at or above the last click, or all of a list without clicks."""
    sums = defaultdict(lambda: list(prior))
    for session in sessions:
        reach = max((rank for rank, clicked in enumerate(session.clicks, 1) if clicked), default=len(session.items))
        for item, clicked in itertools.islice(zip(session.items, session.clicks, strict=True), reach):
            sums[session.query, item][0] += clicked
            sums[session.query, item][1] += 1
    return {pair: top / bottom for pair, (top, bottom) in sums.items()}


def walk_probabilities(attraction, go_on, clicks):
    """P(click | clicks above) and P(click) at each rank, by adding up every way a user may walk down the list.

    `go_on(rank, clicked)` is the probability to examine the next rank after a click or skip at `rank` (from 0).
    """
    size = len(attraction)
    patterns = {}
    for pattern in itertools.product((False, True), repeat=size):
        total = 0.0
        for depth in range(1, size + 1):  # the user examines exactly the first `depth` ranks
            chance = 1.0
            for rank in range(size):
                if rank >= depth:
                    chance *= not pattern[rank]
                    continue
                chance *= attraction[rank] if pattern[rank] else 1.0 - attraction[rank]
                on = go_on(rank, pattern[rank])
                chance *= on if rank < depth - 1 else (1.0 if depth == size else 1.0 - on)
            total += chance
        patterns[pattern] = total
    conditional, marginal = [], []
    for rank in range(size):
        above = [p for p in patterns if p[:rank] == tuple(clicks[:rank])]
        weight = sum(patterns[p] for p in above)
        conditional.append(sum(patterns[p] for p in above if p[rank]) / weight)
        marginal.append(sum(value for p, value in patterns.items() if p[rank]))
    return conditional, marginal


def ubm_probabilities(attraction, examination, clicks):
    """P(click | clicks above) and P(click) of the user browsing model, by adding up every pattern of clicks."""

    def at(rank, pattern):
        before = max((other + 1 for other in range(rank) if pattern[other]), default=0)
        return attraction[rank] * examination[rank][before]

    size = len(attraction)
    marginal = [0.0] * size
    for pattern in itertools.product((False, True), repeat=size):
        chance = 1.0
        for rank in range(size):
            chance *= at(rank, pattern) if pattern[rank] else 1.0 - at(rank, pattern)
        for rank in range(size):
            marginal[rank] += chance * pattern[rank]
    return [at(rank, clicks) for rank in range(size)], marginal
