"""How often `rankone check-rank1` doubts what is rank 1: on counts, and on what policies collected.

Figures are shares of random rank-1 problems rejected at 5 % (standard error 1.5 % at 200 problems), so what is wanted is
0.05, or less. "fixed" draws the outcomes of each pair again, "played again" the whole experiment.
"""

from __future__ import annotations

import numpy as np

import rankone
from rankone.clicks.pair_counts import pair_counts
from rankone.clicks.rank_one_check import check_table
from rankone.numerics.seeds import generator
from rankone.policies.rehearsal import Schedule, rehearse
from rankone.serving.rank_one_check import played_again

PROBLEMS, SIMULATIONS, LEVEL = 200, 99, 0.05
# rows, columns, mean outcomes a pair (Poisson, so some have none), lowest and highest click rate
COUNTS = {
    "6 x 6, 100 a pair": (6, 6, 100, 0.2, 0.8),
    "8 x 8, 200 a pair, rates 0.001 to 0.05": (8, 8, 200, 0.001, 0.05),
    "6 x 6, 30 a pair, rates 0.001 to 0.1": (6, 6, 30, 0.001, 0.1),
    "5 x 5, 50 a pair, rates 0.9 to 1": (5, 5, 50, 0.9, 1.0),
    "8 x 8, 3 a pair": (8, 8, 3, 0.1, 0.9),
    "10 x 10, 1 a pair": (10, 10, 1, 0.1, 0.9),
    "40 x 5, 10 a pair, rates 0.02 to 0.3": (40, 5, 10, 0.02, 0.3),
    "2 x 2, 20 a pair": (2, 2, 20, 0.1, 0.9),
}
POLICIES = ("uts", "thompson", "kl-ucb", "rank1elim-kl:c=0,horizon=2000", "uniform")
SIZES = ((4, 4, 2000), (8, 4, 2000))


def report() -> str:
    lines = ["| counts | rejected at 5 % |", "|---|---|"]
    lines += [f"| {name} | {on_counts(*case):.3f} |" for name, case in COUNTS.items()]
    lines += ["", "| collected by | size | fixed | played again |", "|---|---|---|---|"]
    for size in SIZES:
        for name in POLICIES:
            fixed, again = on_collected(name, *size)
            lines.append(f"| `{name}` | {size[0]} x {size[1]}, {size[2]:,} decisions | {fixed:.3f} | {again:.3f} |")
    return "\n".join(lines)


def on_counts(n_rows: int, n_cols: int, mean: float, low: float, high: float) -> float:
    rejected = 0
    for number in range(PROBLEMS):
        rng = generator(number, "rank-1 level", n_rows, n_cols)
        rates = np.outer(np.sqrt(rng.uniform(low, high, n_rows)), np.sqrt(rng.uniform(low, high, n_cols)))
        pulls = rng.poisson(mean, rates.shape)
        found = check_table(pair_counts(pulls, rng.binomial(pulls, rates)), SIMULATIONS, rng)
        rejected += found.p_value is not None and found.p_value <= LEVEL
    return rejected / PROBLEMS


def on_collected(name: str, n_rows: int, n_cols: int, decisions: int) -> tuple[float, float]:
    policy, schedule = rankone.policy(name), Schedule.at_once(decisions)
    rejected = np.zeros(2)
    for number in range(PROBLEMS):
        rng = generator(number, "rank-1 level", name, n_rows)
        rates = np.outer(rng.uniform(0.1, 0.9, n_rows), rng.uniform(0.1, 0.9, n_cols))
        _, pulls, clicks = rehearse(policy, rates, schedule, rng)
        for place, redraw in enumerate((None, played_again(policy, schedule))):
            found = check_table(pair_counts(pulls, clicks), SIMULATIONS, rng, redraw)
            rejected[place] += found.p_value is not None and found.p_value <= LEVEL
    return tuple((rejected / PROBLEMS).tolist())
