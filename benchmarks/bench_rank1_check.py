"""How often `rankone check-rank1` doubts what is rank 1, on counts and on what policies collected, and what it sees.

Figures are shares of random problems rejected at 5%, with their standard error: of rank-1 problems 5% is wanted, of
others much.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import rankone
from rankone.clicks.counts.factor_counts import FactorCounts, as_factor_counts
from rankone.clicks.rank1_test.two_factors import check_two
from rankone.numerics.seeds import generator

PROBLEMS = 1000
# Simulations, and the p-value up to which they reject. Most rank-1 problems are far from it, as the few first ones tell.
STAGES = ((20, 0.35), (199, 0.05))
# rows, columns, mean outcomes a pair (Poisson, so some have none), lowest and highest click rate
COUNTS = {
    "6 x 6, 100 a pair": (6, 6, 100, 0.2, 0.8),
    "8 x 8, 200 a pair, rates 0.001 to 0.05": (8, 8, 200, 0.001, 0.05),
    "6 x 6, 30 a pair, rates 0.001 to 0.1": (6, 6, 30, 0.001, 0.1),
    "6 x 6, 30 a pair, rates 0.001 to 0.01": (6, 6, 30, 0.001, 0.01),
    "5 x 5, 50 a pair, rates 0.9 to 1": (5, 5, 50, 0.9, 1.0),
    "8 x 8, 3 a pair": (8, 8, 3, 0.1, 0.9),
    "10 x 10, 1 a pair": (10, 10, 1, 0.1, 0.9),
    "40 x 5, 10 a pair, rates 0.02 to 0.3": (40, 5, 10, 0.02, 0.3),
    "2 x 2, 20 a pair": (2, 2, 20, 0.1, 0.9),
}
POLICIES = ("uts", "thompson", "kl-ucb", "rank1elim-kl:c=0,horizon=1000", "uniform")
SIZE = (4, 4, 1000)  # rows, columns, decisions

Floats = np.ndarray[Any, np.dtype[np.float64]]
Departure = Callable[[Floats, Floats, np.random.Generator], Floats]


def product(rows: Floats, cols: Floats, rng: np.random.Generator) -> Floats:
    """Rank 1: a click needs both."""
    return np.outer(rows, cols)


def pair_raised(rows: Floats, cols: Floats, rng: np.random.Generator) -> Floats:
    """One pair is clicked more often, by 0.2."""
    rates = np.outer(rows, cols)
    rates[rng.integers(len(rows)), rng.integers(len(cols))] += 0.2
    return np.minimum(rates, 1.0)


def two_tastes(rows: Floats, cols: Floats, rng: np.random.Generator) -> Floats:
    """Rank 2: half the visitors like some lines more and others less, the other half the other way round."""
    tastes = [0.35 * rng.choice([-1.0, 1.0], len(lines)) for lines in (rows, cols)]
    return np.clip(np.outer(rows, cols) * (1.0 + np.outer(*tastes)), 0.0, 1.0)


def one_is_enough(rows: Floats, cols: Floats, rng: np.random.Generator) -> Floats:
    """A click comes from the row or from the column, half the time each."""
    return (rows[:, None] ** 2 + cols**2) / 2.0


DEPARTURES = {
    "one pair up by 0.2": pair_raised,
    "rank 2, two tastes": two_tastes,
    "the row or the column": one_is_enough,
}
SEEN_IN = tuple(list(COUNTS)[place] for place in (0, 2))


def report() -> str:
    lines = [
        f"{PROBLEMS:,} problems each, {STAGES[-1][0]} simulations",
        "",
        "| counts | rejected at 5% |",
        "|---|---|",
    ]
    lines += [f"| {name} | {on_counts(name)} |" for name in COUNTS]
    lines += ["", "| not rank 1 | " + " | ".join(SEEN_IN) + " |", "|---|---|---|"]
    for name, departure in DEPARTURES.items():
        lines.append(f"| {name} | " + " | ".join(on_counts(case, departure) for case in SEEN_IN) + " |")
    size = "{} x {}, {:,} decisions".format(*SIZE)
    lines += ["", f"| {size}, collected by | rejected at 5% |", "|---|---|"]
    lines += [f"| `{name}` | {on_collected(name)} |" for name in POLICIES]
    return "\n".join(lines)


def on_counts(name: str, departure: Departure = product) -> str:
    n_rows, n_cols, mean, low, high = COUNTS[name]
    found = []
    for number in range(PROBLEMS):
        rng = generator(number, "rank-1 level", name, departure.__name__)
        rows, cols = (np.sqrt(rng.uniform(low, high, lines)) for lines in (n_rows, n_cols))
        pulls = rng.poisson(mean, (n_rows, n_cols))
        clicks = rng.binomial(pulls, departure(rows, cols, rng))
        found.append(rejected(as_factor_counts((pulls, clicks)), rng))
    return share(found)


def on_collected(name: str) -> str:
    n_rows, n_cols, decisions = SIZE
    found = []
    for number in range(PROBLEMS):
        rng = generator(number, "rank-1 level", name, n_rows)
        rates = np.outer(rng.uniform(0.1, 0.9, n_rows), rng.uniform(0.1, 0.9, n_cols))
        agent = rankone.as_policy(name).agent(n_rows, n_cols, seed=number)
        pulls, clicks = np.zeros((2, n_rows, n_cols), np.int64)
        for _ in range(decisions):
            decision = agent.ask()
            clicked = bool(rng.random() < rates[decision.shown])
            agent.tell(decision, clicked)
            pulls[decision.shown] += 1
            clicks[decision.shown] += clicked
        found.append(rejected(as_factor_counts((pulls, clicks)), rng))
    return share(found)


def rejected(table: FactorCounts, rng: np.random.Generator) -> bool:
    found = (check_two(table, simulations, rng).p_value for simulations, _ in STAGES)
    return all(p is not None and p <= bound for p, (_, bound) in zip(found, STAGES, strict=True))


def share(found: list[bool]) -> str:
    """A share in percent with its standard error.

    >>> share([True] + [False] * 99)
    '1.0% ± 1.0'
    """
    mean = float(np.mean(found))
    return f"{mean:.1%}".replace("%", " %") + f" ± {100.0 * np.sqrt(mean * (1.0 - mean) / len(found)):.1f}"
