"""Sample ratio mismatch: how often is one said of a split that was even, and how often of visitors that are missing?

`python -m benchmarks split` takes half a minute. An even split is called none in at most 1 of 1,000 tables, also where
visitors come twice on average (sessions, or visitors counted day by day); the rows below say when that breaks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankone.analysis.split_check import check_split
from rankone.clicks.counts.factor_counts import FactorCounts
from rankone.numerics.arrays import Ints
from rankone.numerics.seeds import generator

RUNS = 20_000
AGAIN = 3.0  # what `rankone.analyse` allows for sessions


def shares(visitors: int, *parts: float) -> Callable[[np.random.Generator], Ints]:
    """Visitors who come once, each sent to a level with a fixed probability."""
    chances = np.array(parts) / sum(parts)
    return lambda rng: rng.multinomial(visitors, chances)


def sessions(visitors: int, levels: int, mean: float) -> Callable[[np.random.Generator], Ints]:
    """Sessions of visitors who stay at their level and come again a geometric number of times."""

    def draw(rng: np.random.Generator) -> Ints:
        sent = rng.multinomial(visitors, np.full(levels, 1.0 / levels))
        return sent + rng.negative_binomial(sent, 1.0 / mean)

    return draw


def thompson(visitors: int, *rates: float) -> Callable[[np.random.Generator], Ints]:
    """Visitors sent by Thompson sampling, in batches of a hundred."""

    def draw(rng: np.random.Generator) -> Ints:
        shown, clicked = np.zeros((2, len(rates)), np.int64)
        for _ in range(visitors // 100):
            best = rng.beta(1 + clicked, 1 + shown - clicked, (100, len(rates))).argmax(axis=1)
            sent = np.bincount(best, minlength=len(rates))
            shown += sent
            clicked += rng.binomial(sent, rates)
        return shown

    return draw


def lost(visitors: int, share: float) -> Callable[[np.random.Generator], Ints]:
    """Two levels, of the second of which a share of the visitors is never counted."""
    return lambda rng: rng.binomial(rng.multinomial(visitors, [0.5, 0.5]), [1.0, 1.0 - share])


KINDS = {
    "even, 2 levels, 300 visitors": (shares(300, 1, 1), 1.0),
    "even, 2 levels, 20,000": (shares(20_000, 1, 1), 1.0),
    "even, 3 levels, 1,000,000": (shares(1_000_000, 1, 1, 1), 1.0),
    "even, 30 levels, 6,000": (shares(6_000, *[1.0] * 30), 1.0),
    "even, sessions, 2 on average, 20,000 visitors": (sessions(20_000, 2, 2.0), AGAIN),
    "even, sessions, 2 on average, 5 levels": (sessions(20_000, 5, 2.0), AGAIN),
    "even, sessions, 4 on average (more than allowed for)": (sessions(20_000, 2, 4.0), AGAIN),
    "9 to 1 on purpose, 20,000": (shares(20_000, 9, 1), 1.0),
    "2 to 1 on purpose, 20,000": (shares(20_000, 2, 1), 1.0),
    "55 to 45 on purpose, 20,000": (shares(20_000, 55, 45), 1.0),
    "Thompson sampling, 5% and 6%, 20,000": (thompson(20_000, 0.05, 0.06), AGAIN),
    "Thompson sampling, 5% and 5%, 20,000": (thompson(20_000, 0.05, 0.05), AGAIN),
    "1% of one level lost, 100,000": (lost(100_000, 0.01), 1.0),
    "3% of one level lost, 100,000": (lost(100_000, 0.03), 1.0),
    "10% of one level lost, 20,000": (lost(20_000, 0.1), 1.0),
    "10% of one level lost, 20,000 sessions": (lost(20_000, 0.1), AGAIN),
}


def alarms(draw: Callable[[np.random.Generator], Ints], per_visitor: float, runs: int, seed: int) -> int:
    """Return how many tables are said to be a mismatch."""
    rng = generator(seed, "split")
    found = 0
    for _ in range(runs):
        shown = draw(rng)
        levels = tuple(str(place) for place in range(len(shown)))
        cells = np.arange(len(shown))[:, None]
        counts = FactorCounts(("variant",), (levels,), cells, shown, shown // 20, per_visitor=per_visitor)
        found += check_split(counts) is not None
    return found


def report() -> str:
    """Return a table for a page."""
    lines = ["| visitors | tables | said to be a mismatch |", "|---|---|---|"]
    for name, (draw, per_visitor) in KINDS.items():
        runs = RUNS if "Thompson" not in name else RUNS // 20
        lines.append(f"| {name} | {runs:,} | {alarms(draw, per_visitor, runs, 1) / runs:.2%} |")
    return "\n".join(lines)
