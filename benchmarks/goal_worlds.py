"""Worlds that try to break statements about goals: three prices on two pages, an adaptive policy, a look after every order.

A visitor may order (an amount, which steers), send back (a guardrail) and pay in parts (a second amount); the three
depend on each other. The kernels are those of live experiments. A world names what each level brings for each that the
first one does, so every statement can be judged: it is wrong whenever it is made.

* winner: an amount steers, and a level is proven to bring more than all others that brings no more than some other;
* interval: one of any goal, at its part of the error, does not hold the true ratio at some moment;
* guardrail: what any combination is said to keep or break is not so; at the boundary either is counted as wrong;
* any: of the three, which share 5%.
"""

import math
from typing import NamedTuple

import numpy as np

from rankone.compiling.compiled import compiled, noalloc
from rankone.evidence.amounts import error_shares, log_evidence, start_amounts, weigh_amounts

ERROR, GOALS = 0.05, 3
SIZES = (3, 2)
LEVELS, OTHERS = sum(SIZES), sum(SIZES) - len(SIZES)  # comparisons with the baseline
_FLOOR = 0.1  # of a factor's choices, spread evenly
_weigh = noalloc(weigh_amounts)


def _zero_inflated(rng, n, site):
    """2% order, amounts are log-normal, cut at ten times the median."""
    return np.where(rng.random(n) < 0.02 * site, np.minimum(rng.lognormal(0.0, 0.8, n) / 10.0, 1.0), 0.0)


def _heavy(rng, n, site):
    """Pareto with infinite variance, cut at a thousand times the least."""
    return np.where(rng.random(n) < 0.1 * site, np.minimum(rng.pareto(1.2, n) / 1000.0 + 0.001, 1.0), 0.0)


def _whales(rng, n, site):
    """One visitor in 500 brings the cap, the others next to nothing."""
    return np.where(rng.random(n) < 0.002 * site, 1.0, 0.001 * (rng.random(n) < 0.1))


def _clicks(rng, n, site):
    return (rng.random(n) < 0.2 * site).astype(float)


def _nearly_all(rng, n, site):
    return np.clip(0.9 * site / 2.5 + 0.05 * rng.normal(size=n), 0.0, 1.0)


def _steady(n):
    return np.ones(n)


def _cycle(n):
    return 1.0 + 0.6 * np.sin(np.arange(n) / n * 40.0)


def _doubled(n):
    return np.where(np.arange(n) < n // 4, 1.0, 2.0)


class World(NamedTuple):
    """What visitors bring, how the site moves, and what levels do to it."""

    brings: object
    moves: object
    ratios: tuple[float, ...] = (1.0,) * LEVELS  # of each level; the best has 1
    delays: tuple[int, ...] = (0,) * SIZES[0]  # visitors until the policy hears of an outcome, by level of factor one


_WORSE = (1.0, 0.9, 0.9, 1.0, 1.0)  # 10% less than the baseline is just what the guardrail allows
WORLDS = {
    "all equal, zero-inflated orders": World(_zero_inflated, _steady),
    "all equal, the site doubles": World(_zero_inflated, _doubled),
    "all equal, the site cycles": World(_zero_inflated, _cycle),
    "all equal, heavy tails": World(_heavy, _steady),
    "all equal, heavy tails, the site doubles": World(_heavy, _doubled),
    "all equal, whales at the cap": World(_whales, _steady),
    "all equal, hardly any variance": World(_nearly_all, _cycle),
    "all equal, outcomes of some levels come later": World(_clicks, _doubled, delays=(0, 500, 2000)),
    "guardrail at its boundary, yes or no": World(_clicks, _doubled, _WORSE),
    "guardrail at its boundary, heavy tails": World(_heavy, _cycle, _WORSE),
    "guardrail at its boundary, orders, delays": World(_zero_inflated, _cycle, _WORSE, (0, 500, 2000)),
}
KINDS = ("winner", "interval", "guardrail", "any")


def wrong(world, seed, visitors=20_000, known=True):
    """Return which statements a run ever makes that are not so, as `KINDS`.

    Unless probabilities are `known`, outcomes are weighed as if choices had been even: that breaks statements.
    """
    chosen = WORLDS[world]
    rng = np.random.default_rng([seed, len(world), 33])
    site = chosen.moves(visitors)
    order = chosen.brings(rng, visitors, site)
    back = np.where((order > 0.0) & (rng.random(visitors) < 0.3), 1.0, 0.0)
    parts = np.minimum(order * rng.random(visitors) + chosen.brings(rng, visitors, site) / 2.0, 1.0)
    shares = error_shares(ERROR, GOALS)
    bars = np.array([math.log(2.0 * OTHERS / share) for share in shares])
    winner = math.log((LEVELS - len(SIZES)) / shares[0])
    goals = [start_amounts(SIZES) for _ in range(GOALS)]
    found = np.zeros(3, np.int64)
    play = compiled(_play, weigh_amounts.__module__, __name__)
    outcomes = np.stack([order, back, parts], axis=1)
    scratch = (
        np.zeros(LEVELS),
        np.zeros((1, len(SIZES)), np.int64),
        np.zeros(1),
        np.zeros((1, LEVELS)),
        np.zeros(LEVELS),
    )
    coins, late = rng.random((visitors, len(SIZES))), np.zeros((visitors, LEVELS))
    play(
        *goals,
        outcomes,
        np.array(chosen.ratios),
        np.array(chosen.delays),
        coins,
        late,
        bars,
        winner,
        known,
        *scratch,
        found,
    )
    return dict(zip(KINDS, [*map(bool, found), bool(found.any())], strict=True))


@noalloc
def _choose(recent, chances, first, size, coin):
    """Draw a level of a factor: mostly what has brought most of late; fill in the probabilities."""
    best = first
    for level in range(first, first + size):
        best = level if recent[level] > recent[best] else best
    for level in range(first, first + size):
        chances[level] = _FLOOR / size + (1.0 - _FLOOR if level == best else 0.0)
    level, left = first, coin - chances[first]
    while left >= 0.0 and level < first + size - 1:
        level += 1
        left -= chances[level]
    return level


@noalloc
def _judge(amounts, ratios, bar, found, guards):
    """Note statements that are not so: intervals without the true ratio; of a guardrail, any statement at its boundary."""
    for factor in range(2):
        base = amounts.starts[factor]
        for level in range(base + 1, amounts.starts[factor + 1]):
            truth = ratios[level] / ratios[base]
            for x, y, ratio in ((level, base, truth), (base, level, 1.0 / truth)):
                sums = amounts.gain[x, y], amounts.loss[x, y], amounts.gain2[x, y], amounts.loss2[x, y]
                if log_evidence(sums[0], sums[1], sums[2], sums[3], ratio) >= bar:
                    found[1] = 1
                    if guards and truth < 1.0:
                        found[2] = 1


@noalloc
def _judge_winner(amounts, ratios, bar, found):
    for factor in range(2):
        first, end = amounts.starts[factor], amounts.starts[factor + 1]
        for x in range(first, end):
            proven, tied = True, False
            for y in range(first, end):
                if y != x:
                    proven &= amounts.proof[x, y] >= bar
                    tied |= ratios[x] <= ratios[y]
            if proven and tied:
                found[0] = 1


def _play(
    one,
    two,
    three,
    outcomes,
    ratios,
    delays,
    coins,
    late,
    bars,
    winner,
    known,
    recent,
    shown,
    value,
    cross,
    chances,
    found,
):
    n = len(outcomes)
    for visitor in range(n):
        for level in range(5):
            recent[level] = 0.995 * recent[level] + late[visitor, level]
        for factor in range(2):
            shown[0, factor] = _choose(
                recent, chances, one.starts[factor], one.starts[factor + 1] - one.starts[factor], coins[visitor, factor]
            )
        whole = chances[shown[0, 0]] * chances[shown[0, 1]]
        for level in range(5):
            instead = whole / chances[shown[0, 0 if level < 3 else 1]] * chances[level]
            cross[0, level] = instead if known else 1.0 / 6.0
        times = ratios[shown[0, 0]] * ratios[shown[0, 1]]
        heard = visitor + 1 + delays[shown[0, 0]]
        for goal in range(3):
            if outcomes[visitor, goal] == 0.0:
                continue
            value[0] = outcomes[visitor, goal] * times
            amounts = one if goal == 0 else two if goal == 1 else three
            _weigh(amounts, shown, value, cross)
            _judge(amounts, ratios, bars[goal], found, goal > 0)
            if goal == 0:
                _judge_winner(amounts, ratios, winner, found)
                if heard < n:
                    for factor in range(2):
                        late[heard, shown[0, factor]] += value[0] / chances[shown[0, factor]]
