"""More than two factors: regret against an independent implementation, an arena of products, and speed.

The figures to compare with were measured by a separate prototype (20 runs each). Regret is mean and standard error;
speed is processor time of one thread, compilation left out, ratios within this run.
"""

from __future__ import annotations

import math
import time

import numpy as np
import polars as pl

import rankone
from rankone.numerics.seeds import generator
from rankone.simulation.work_unit import play_run, start_on

THEIR_RUNS = 20
TOLERANCE = 3.0  # standard errors, of both implementations together
INDEPENDENT = {  # (problem, policy): regret at 100,000 decisions, its standard error
    ("needle:4x4x4", "uts"): (153, 10),
    ("needle:10x10x10", "uts"): (444, 25),
    ("needle:10x10x10x10", "uts"): (795, 51),
    ("needle:2x2x2x2x2x2x2x2", "uts"): (250, 15),
    ("needle:4x4x4", "per-factor"): (67, 4),
    ("needle:4x4x4", "glm-thompson"): (160, 4),
    ("needle:10x10x10", "glm-thompson"): (542, 17),
    ("needle:10x10x10x10", "glm-thompson"): (756, 27),
    ("needle:2x2x2x2x2x2x2x2", "glm-thompson"): (237, 8),
}
ELIMINATION = {"needle:4x4": 3_280, "needle:4x4x4": 16_652, "needle:4x4x4x4": 50_746}  # regret at 4,000,000 decisions
SPEED = {"needle:10x10x10x10": 0.3, "needle:100x100x100x100": 0.1}  # of the steps a second on 32 x 32, at the least
STEPS = 5_000_000
TURNS, ASKS = 15, 300
POLICIES = ("uts", "per-factor", "glm-thompson")


def arena(runs: int) -> list[str]:
    """Regret of each policy as a share of that of `uts`, and 99% quantiles likewise."""
    lines = []
    for half in ("tune", "report"):
        found = rankone.arena(policies=list(POLICIES), of="factors", half=half, runs=runs, seed=17, workers=1)  # type: ignore[arg-type]
        lines += ["", f"Half {half}, {runs} runs, regret as a share of that of `uts` (99% quantile likewise):", ""]
        lines += [f"| problem | `uts` | {' | '.join(f'`{name}`' for name in POLICIES[1:])} |", "|---|---|---|---|"]
        shares = {(row["problem"], row["policy"]): row for row in found.ratios().to_dicts()}
        for base in found.table.filter(pl.col("policy") == "uts").to_dicts():
            each = [shares[base["problem"], name] for name in POLICIES[1:]]
            cells = [f"{row['mean_ratio']:.2f} ({row['p99_ratio']:.2f})" for row in each]
            lines.append(
                f"| {base['problem']} | {base['regret_mean']:,.0f} ± {base['regret_se']:,.0f} | {' | '.join(cells)} |"
            )
        means = dict(found.scores().select("policy", "against_mean").iter_rows())
        lines.append(f"| **geometric mean** | | {' | '.join(f'**{means[name]:.2f}**' for name in POLICIES[1:])} |")
    return lines


def regret(runs: int) -> list[str]:
    """Regret beside that of the independent implementation.

    If both follow one law, the mean of its 20 runs scatters as 20 of ours do. Its own standard error is taken where it is
    larger: regret has a long tail, and 20 runs without one of the worst look surer than they are.
    """
    lines = [
        "| problem, 100,000 decisions | policy | here | independent | its error by our scatter | within 3 standard errors |",
        "|---|---|---|---|---|---|",
    ]
    for (problem, policy), (mean, error) in INDEPENDENT.items():
        many = 5 * runs if policy == "uts" else runs
        found = rankone.simulate(problem, policy, horizon=100_000, runs=many, seed=3, workers=1).summary()
        own, its = found["regret_mean"][0], found["regret_se"][0]
        scatter = its * math.sqrt(many / THEIR_RUNS)
        met = "yes" if abs(own - mean) <= TOLERANCE * math.hypot(its, max(error, scatter)) else "no"
        cells = [problem, f"`{policy}`", f"{own:,.0f} ± {its:,.0f}", f"{mean:,} ± {error}", f"± {scatter:,.0f}", met]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def stuck(runs: int) -> list[str]:
    """How many runs still lose in their last tenth: more than 5% of the best click rate, 100,000 decisions."""
    policies = ["uts", "per-factor"]
    lines = [f"| runs that never recover | {' | '.join(f'`{name}`' for name in policies)} |", "|---|---|---|"]
    for problem in ("needle:10x10x10", "needle:10x10x10x10", "needle:2x2x2x2x2x2x2x2", "product:6x6x6x6:seed=1"):
        found = rankone.simulate(
            problem, policies, 100_000, runs=runs, seed=3, workers=1, checkpoints=[90_000, 100_000]
        )
        most = 0.05 * 10_000 * rankone.as_problem(problem).best_mean
        lost = {name: [run.regret[1] - run.regret[0] > most for run in found.only([name]).runs] for name in policies}
        lines.append(f"| {problem} | {' | '.join(f'{np.mean(each):.0%}' for each in lost.values())} |")
    return lines


def elimination(runs: int) -> list[str]:
    """Regret of elimination, which grows with every factor, beside that of `uts`."""
    lines = ["| problem, 4,000,000 decisions | `rank1elim-kl:c=0` | independent | `uts` |", "|---|---|---|---|"]
    for problem, independent in ELIMINATION.items():
        policies = ["rank1elim-kl:c=0", "uts"]
        found = rankone.simulate(problem, policies, horizon=4_000_000, runs=runs, seed=3, workers=1).summary()
        own, uts = (f"{row['regret_mean']:,.0f} ± {row['regret_se']:,.0f}" for row in found.iter_rows(named=True))
        lines.append(f"| {problem} | {own} | {independent:,} | {uts} |")
    return lines


def steps_a_second(spec: str) -> float:
    """Steps a second of `uts`, the better of two runs."""
    problem, policy, taken = rankone.as_problem(spec), rankone.as_policy("uts"), []
    play_run(start_on(policy, problem), problem, np.array([2]), generator(0))  # compiles
    for _ in range(2):
        begin = time.process_time()
        play_run(start_on(policy, problem), problem, np.array([STEPS]), generator(1))
        taken.append(time.process_time() - begin)
    return STEPS / min(taken)


def speed() -> list[str]:
    """Speed of `uts` beside that on 32 x 32."""
    base = steps_a_second("needle:32x32")
    lines = [
        f"| {STEPS:,} steps of `uts` | million steps a second | share of 32 x 32 | wanted | met |",
        "|---|---|---|---|---|",
    ]
    lines.append(f"| needle:32x32 | {base / 1e6:.1f} | 1 | | |")
    for spec, wanted in SPEED.items():
        found = steps_a_second(spec)
        met = "yes" if found >= wanted * base else "no"
        lines.append(f"| {spec} | {found / 1e6:.1f} | {found / base:.2f} | {wanted} | {met} |")
    return lines


def live() -> list[str]:
    """Processor time of a live ask, and of one with its tell, beside that on 8 x 8: the median over turns."""
    lines = ["| live, 10 x 10 x 10 x 10 in times of 8 x 8 | ask | ask and tell |", "|---|---|---|"]
    for rate in (0.1, 0.0):
        with (
            rankone.Experiment("pairs", 8, 8, db=None, seed=1) as pairs,
            rankone.Experiment("factors", factors=dict.fromkeys("abcd", 10), db=None, seed=1) as factors,
        ):
            rng = generator(1, "live")
            turns = [(_turn(pairs, rate, rng), _turn(factors, rate, rng)) for _ in range(TURNS + 5)][5:]  # as in use
        asks, both = (np.median([ours[what] / base[what] for base, ours in turns]) for what in (0, 1))
        lines.append(f"| {rate:.0%} of the visitors click | {asks:.2f} | {both:.2f} |")
    return lines


def _turn(experiment: rankone.Experiment, rate: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return the processor time of some asks, and of these with their tells."""
    asking, begin = 0.0, time.process_time()
    for click in rng.random(ASKS) < rate:
        asked = time.process_time()
        decision = experiment.ask()
        asking += time.process_time() - asked
        experiment.tell(decision, bool(click))
    return asking, time.process_time() - begin


def report() -> str:
    """Regret, the arena and speed, in Markdown."""
    return "\n".join([*regret(40), "", *stuck(100), "", *elimination(10), *arena(40), "", *speed(), "", *live()])
