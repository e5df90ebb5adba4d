"""Obvious slow policies on lists, straight from the papers. Each is a generator: it yields a list and is sent its clicks.

They draw from `rng` in the order the rules name the draws, so that the fast kernels must show the same lists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from itertools import count

import numpy as np
from scipy.special import rel_entr

from tests.oracles.policies import kl, shuffled_first_choices, upper

Lists = Generator[tuple[int, ...], Sequence[int], None]


def looked_at(clicks: Sequence[int], until: str) -> int:
    """How many positions from the top were looked at."""
    clicked = [place for place, click in enumerate(clicks) if click]
    if until == "miss":
        return next((place + 1 for place, click in enumerate(clicks) if not click), len(clicks))
    if until == "all" or not clicked:
        return len(clicks)
    return (clicked[0] if until == "first" else clicked[-1]) + 1


def index_lists(
    n_items: int, positions: Sequence[int], rng, index: Callable[[int, int, int], float], until: str = "first"
) -> Lists:
    """The K largest ``index(clicks, looks, t)``, the r-th of them at ``places[r]``; ties to the item shown longest ago."""
    shown_at = [when * len(positions) for when in shuffled_first_choices(n_items, rng)]
    looks, clicks = [0] * n_items, [0] * n_items
    for t in count():
        heights = [index(clicks[i], looks[i], t) if looks[i] else math.inf for i in range(n_items)]
        ranked = sorted(range(n_items), key=lambda i: (-heights[i], shown_at[i]))[: len(positions)]
        for rank, item in enumerate(ranked):
            shown_at[item] = t * len(positions) + rank
        shown = [0] * len(positions)
        for rank, item in enumerate(ranked):
            shown[positions[rank]] = item
        clicked = yield tuple(shown)
        for item, click in list(zip(shown, clicked, strict=True))[: looked_at(clicked, until)]:
            looks[item] += 1
            clicks[item] += click


def ucb1_index(clicks: int, looks: int, t: int) -> float:
    return clicks / looks + math.sqrt(1.5 * math.log(max(t, 1)) / looks)


def comb_index(clicks: int, looks: int, t: int) -> float:
    return min(1.0, ucb1_index(clicks, looks, t))


def kl_index(c: float):
    def index(clicks: int, looks: int, t: int) -> float:
        level = math.log(max(t, 1))
        level += c * math.log(level) if level > 1.0 else 0.0
        return upper(clicks / looks, level / looks)

    return index


def thompson_lists(n_items: int, positions: Sequence[int], rng, until: str = "first") -> Lists:
    """The K largest of draws from Beta(clicks + 1, misses + 1), one of every item."""
    looks, clicks = [0] * n_items, [0] * n_items
    while True:
        draws = [rng.beta(clicks[i] + 1, looks[i] - clicks[i] + 1) for i in range(n_items)]
        ranked = sorted(range(n_items), key=lambda i: -draws[i])[: len(positions)]
        shown = [0] * len(positions)
        for rank, item in enumerate(ranked):
            shown[positions[rank]] = item
        clicked = yield tuple(shown)
        for item, click in list(zip(shown, clicked, strict=True))[: looked_at(clicked, until)]:
            looks[item] += 1
            clicks[item] += click


# Twins of policies that score every item anew. Where a fast kernel draws Betas or factors, the twin draws with the same
# sampler, so that the same random numbers give the same lists.


def counted(n_items: int, n_positions: int, score, positions, rng, until: str) -> Lists:
    """The K largest ``score(clicks, looks, t)``; `score` returns all scores, ties are drawn afresh where it says so."""
    looks, clicks = [0] * n_items, [0] * n_items
    for t in count(1):
        shown = score(clicks, looks, t)
        clicked = yield tuple(shown[positions.index(place)] for place in range(n_positions))
        listed = [shown[positions.index(place)] for place in range(n_positions)]
        for item, click in list(zip(listed, clicked, strict=True))[: looked_at(clicked, until)]:
            looks[item] += 1
            clicks[item] += click


def ranked(scores: Sequence[float], rng, n_positions: int) -> list[int]:
    """The best items, ties drawn afresh: one number an item."""
    ties = [rng.random() for _ in scores]
    return sorted(range(len(scores)), key=lambda i: (-scores[i], ties[i]))[:n_positions]


def ts_cascade(n_items: int, n_positions: int, rng) -> Lists:
    def score(clicks, looks, t):
        level = math.log(t + 1)
        z = math.sqrt(-2.0 * math.log1p(-rng.random())) * math.cos(2.0 * math.pi * rng.random())
        scores = []
        for s, n in zip(clicks, looks, strict=True):
            mean = s / n if n else 0.0
            scores.append(mean + z * max(math.sqrt(mean * (1 - mean) * level / (n + 1)), level / (n + 1)))
        return ranked(scores, rng, n_positions)

    return counted(n_items, n_positions, score, list(range(n_positions)), rng, "first")


def swap_neighbours(n_positions: int, rng, rates: Sequence[float] | None = None) -> Lists:
    rates = [0.1 / max(n_positions - 1, 1)] * (n_positions - 1) if rates is None else rates
    while True:
        items, draw = list(range(n_positions)), rng.random()
        for place in range(n_positions - 1):
            if sum(rates[:place]) <= draw < sum(rates[: place + 1]):
                items[place : place + 2] = items[place + 1], items[place]
        yield tuple(items)


def pie(n_items: int, n_positions: int, rng, position: int) -> Lists:
    def score(clicks, looks, t):
        means = [s / n if n else 0.0 for s, n in zip(clicks, looks, strict=True)]
        leaders = ranked(means, rng, n_positions)
        level = math.log(t)
        level += 4.0 * math.log(level) if level > 1.0 else 0.0
        last = means[leaders[-1]]
        candidates = [
            i for i in range(n_items)
            if i not in leaders and (looks[i] == 0 or looks[i] * kl(means[i], last) <= level)
        ]  # fmt: skip
        if candidates and rng.random() < 0.5:
            newcomer = candidates[int(rng.random() * len(candidates))]
            leaders = [*leaders[: position - 1], newcomer, *leaders[position - 1 :]][:n_positions]
        return leaders

    return counted(n_items, n_positions, score, list(range(n_positions)), rng, "first")


def by_weight(weights: Sequence[float]) -> list[int]:
    """Positions, the largest weight first."""
    return sorted(range(len(weights)), key=lambda place: (-weights[place], place))


def cells(n_items: int, examination: Sequence[float], choose) -> Lists:
    """``choose(shows, clicks, looks, t)`` sees displays and clicks of each item at each position and returns a list.

    Looks, the sum of the examinations of its displays, are added up as they come: rounding would break ties otherwise.
    """
    n_positions, looks = len(examination), [0.0] * n_items
    shows, clicks = ([[0] * n_positions for _ in range(n_items)] for _ in range(2))
    for t in count(1):
        shown = choose(shows, clicks, looks, t)
        clicked = yield tuple(shown)
        for place, item in enumerate(shown):
            looks[item] += examination[place]
            shows[item][place] += 1
            clicks[item][place] += clicked[place]


def placed(top: Sequence[int], weights: Sequence[float]) -> list[int]:
    """The r-th item at the position of the r-th largest weight."""
    shown = [0] * len(top)
    for place, item in zip(by_weight(weights), top, strict=True):
        shown[place] = item
    return shown


def pbm_ucb(n_items: int, examination: Sequence[float], rng, epsilon: float) -> Lists:
    def choose(shows, clicks, looks, t):
        level = (1 + epsilon) * math.log(t)
        indices = [
            sum(clicks[i]) / looks[i] + math.sqrt(sum(shows[i]) * level / (2.0 * looks[i] * looks[i]))
            if looks[i] else math.inf
            for i in range(n_items)
        ]  # fmt: skip
        return placed(ranked(indices, rng, len(examination)), examination)

    return cells(n_items, examination, choose)


def pbm_pie(n_items: int, examination: Sequence[float], rng, horizon: int) -> Lists:
    order, n_positions = list(range(n_items)), len(examination)
    for item in range(n_items):
        other = int(rng.random() * (item + 1))
        order[item], order[other] = order[other], order[item]

    def upper_bound(shows, clicks):
        """Every value of a grid, where the kernel looks at a slope."""
        grid, doubt = np.arange(1, 20_001) / 20_000, 0.0
        for n, s, e in zip(shows, clicks, examination, strict=True):
            if n:
                rate, rates = s / n, np.minimum(e * grid, 1.0)
                doubt = doubt + n * (rel_entr(rate, rates) + rel_entr(1.0 - rate, 1.0 - rates))
        return max(grid[doubt <= math.log(horizon)], default=grid[np.argmin(doubt)])

    def choose(shows, clicks, looks, t):
        if t <= n_items:
            return [order[(t - 1 + place) % n_items] for place in range(n_positions)]
        estimates = [sum(clicks[i]) / looks[i] for i in range(n_items)]
        leaders = ranked(estimates, rng, n_positions)
        last = estimates[leaders[-1]]
        outside = [i for i in range(n_items) if i not in leaders]
        candidates = [i for i in outside if upper_bound(shows[i], clicks[i]) >= last]
        shown = placed(leaders, examination)
        if candidates and rng.random() < 0.5:
            shown[by_weight(examination)[-1]] = candidates[int(rng.random() * len(candidates))]
        return shown

    return cells(n_items, examination, choose)


def bc_ts(n_items: int, examination: Sequence[float], rng, draw) -> Lists:
    def choose(shows, clicks, looks, t):
        draws = [draw(max(looks[i], float(sum(clicks[i]))), float(sum(clicks[i])), rng) for i in range(n_items)]
        return placed(sorted(range(n_items), key=lambda i: -draws[i])[: len(examination)], examination)

    return cells(n_items, examination, choose)


def factor_drawer(sampler, rng):
    """Draws of factors from their posteriors, every hull made anew for every draw, from where its last mode was."""
    hulls: dict = {}

    def draw(key, clicks: int, misses: Sequence[int], rates: Sequence[float]) -> float:
        hull = hulls.setdefault(key, np.zeros(5))
        return sampler(float(clicks), np.array(misses, float), np.array(rates), hull, rng)

    return draw


def misses_of(shows, clicks):
    """Displays without a click, item by item and position by position."""
    return [[n - s for n, s in zip(*both, strict=True)] for both in zip(shows, clicks, strict=True)]


def pbm_ts(n_items: int, examination: Sequence[float], draw) -> Lists:
    def choose(shows, clicks, looks, t):
        misses = misses_of(shows, clicks)
        draws = [draw(("item", i), sum(clicks[i]), misses[i], examination) for i in range(n_items)]
        return placed(sorted(range(n_items), key=lambda i: -draws[i])[: len(examination)], examination)

    return cells(n_items, examination, choose)


def gibbs_ts(n_items: int, n_positions: int, draw, every: int = 1) -> Lists:
    """Attractions given the examinations drawn last, then every so often examinations given these attractions."""
    exams = [1.0] * n_positions

    def choose(shows, clicks, looks, t):
        misses = misses_of(shows, clicks)
        draws = [draw(("item", i), sum(clicks[i]), misses[i], exams) for i in range(n_items)]
        if (t - 1) % every == 0:
            columns = [([row[k] for row in clicks], [row[k] for row in misses]) for k in range(n_positions)]
            drawn = [draw(("place", k), sum(hits), missed, draws) for k, (hits, missed) in enumerate(columns)]
            exams[:] = [exam / max(drawn) for exam in drawn]
        return placed(sorted(range(n_items), key=lambda i: -draws[i])[:n_positions], exams)

    return cells(n_items, exams, choose)


def ranked_ts(n_items: int, n_positions: int, rng, draw) -> Lists:
    def choose(shows, clicks, looks, t):
        shown = []
        for place in range(n_positions):
            draws = {i: draw(shows[i][place], clicks[i][place], rng) for i in range(n_items) if i not in shown}
            shown.append(max(draws, key=draws.__getitem__))
        return shown

    return cells(n_items, [1.0] * n_positions, choose)
