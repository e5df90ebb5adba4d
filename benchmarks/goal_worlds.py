"""Worlds that try to break statements about amounts: two levels, an adaptive policy, looks after every visitor.

A world gives what a visitor brings, in [0, 1], for two levels of which the first brings exactly `ratio` times what the
second does at every moment; the statement that is tested is "the first brings more than `ratio` times the second", and
"less" with it. It is wrong whenever it is made.
"""

import math

import numpy as np

ERROR = 0.05


def _zero_inflated(rng, n, site):
    """2% order, amounts are log-normal, cut at ten times the median."""
    amounts = np.minimum(rng.lognormal(0.0, 0.8, n) / 10.0, 1.0)
    return np.where(rng.random(n) < 0.02 * site, amounts, 0.0)


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


# what visitors bring, how the site moves, the ratio at which a guardrail's margin is exactly met, delays that differ
WORLDS = {
    "equal, zero-inflated orders": (_zero_inflated, _steady, 1.0, 0),
    "equal, site doubles": (_zero_inflated, _doubled, 1.0, 0),
    "equal, site cycles": (_zero_inflated, _cycle, 1.0, 0),
    "heavy tails": (_heavy, _steady, 1.0, 0),
    "heavy tails, site doubles": (_heavy, _doubled, 1.0, 0),
    "whales at the cap": (_whales, _steady, 1.0, 0),
    "yes or no, site cycles": (_clicks, _cycle, 1.0, 0),
    "hardly any variance": (_nearly_all, _cycle, 1.0, 0),
    "guardrail at its boundary": (_clicks, _doubled, 0.9, 0),
    "guardrail at its boundary, heavy tails": (_heavy, _cycle, 0.9, 0),
    "outcomes of one level come later": (_zero_inflated, _doubled, 1.0, 500),
}


def wrong(world, seed, visitors=20_000):
    """Return whether a run ever says what is not so, one-sided errors of half the promise each."""
    brings, moves, ratio, delay = WORLDS[world]
    rng = np.random.default_rng([seed, len(world)])
    site = moves(visitors)
    first, second = brings(rng, visitors, site) * ratio, brings(rng, visitors, site)
    return _ever(first, second, ratio, delay, rng)


def _ever(first, second, ratio, delay, rng):
    """Play an adaptive policy: it shows mostly what has brought more of late, which is where such tests break."""
    from rankone.evidence.amounts import BETS

    bets = np.array(BETS)
    costs, bar = -np.log1p(-bets) - bets, math.log(2.0 / ERROR) + math.log(len(BETS))
    logs = np.zeros((2, len(BETS)))
    recent, coins = np.zeros(2), rng.random(len(first))
    waiting = []  # policy learns from the first level at once, from the second after the delay
    for visitor in range(len(first)):
        a = 0.5 if visitor < 100 else 0.1 + 0.8 * (recent[0] > recent[1])
        shown = 0 if coins[visitor] < a else 1
        value = (first, second)[shown][visitor]
        waiting.append((visitor + delay * shown, shown, value))
        while waiting and waiting[0][0] <= visitor:
            _, level, learned = waiting.pop(0)
            recent *= 0.99
            recent[level] += learned / (a if level == 0 else 1 - a)
        if not value:
            continue
        for side, (chance, bound) in enumerate(((a, ratio), (1 - a, 1 / ratio))):
            d = value * (1 - chance) if shown == side else -bound * value * chance
            d /= bound * max(chance, 0.5)
            logs[side] += bets * d - costs * d * d
            if np.logaddexp.reduce(logs[side]) >= bar:
                return True
    return False
