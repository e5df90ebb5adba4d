"""Figure 1 of the paper: regret on needle problems with K = L = 32, 64, 128 (section 5.1).

p = 0.25 and gap = 0.5 are printed, the horizon is not: 2,000,000 decisions, as in the authors' experiments. Rank1ElimKL
is judged in two readings of its confidence level: as printed (c = 3) and log n alone (c = 0).

On request the figure also tells what came after the paper: today's policies and the lower bound, on a log scale.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from rankone.paper.claims import BASELINES, POLICIES, READINGS, Claim, Reproduction, in_a_row
from rankone.problems import needle
from rankone.progress import Progress
from rankone.simulation import Study, simulate

TODAY = (*POLICIES, "uts")
# A curve is flat when its last tenth adds less than this share of the regret.
FLAT = 0.01


def reproduce(
    out: Path | None = None,
    quick: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
    sizes: Sequence[int] = (32, 64, 128),
    today: bool = False,
) -> Reproduction:
    """Simulate Figure 1, judge the paper's sentences about it, and draw it.

    Args:
        out: directory that keeps finished runs (a stopped reproduction continues there).
        quick: fewer runs, for a first look; sizes and horizon stay the paper's.
        workers: processes to use.
        progress: called with (finished runs, all runs).
        sizes: values of K = L, each twice the one before.
        today: add the policies of today and the lower bound, in a second chart on a log scale.
    """
    study = simulate(
        [needle(size, size, p=0.25, gap=0.5) for size in sizes],
        TODAY if today else POLICIES,
        horizon=2_000_000,
        runs=5 if quick else 20,
        seed=1,
        workers=workers,
        out=out,
        progress=progress,
        on_stop="raise",
    )
    claims = [claim for policy, reading in READINGS.items() for claim in judge(study, policy, reading)]
    charts = {"fig1": study.only(POLICIES).chart()}
    if today:
        charts["fig1-today"] = study.chart(log_regret=True)
    return Reproduction({"summary": study.summary()}, claims, charts)


def judge(study: Study, policy: str, reading: str) -> list[Claim]:
    """Judge the sentences of section 5.1 for one reading of Rank1ElimKL."""
    mean = {(row["problem"], row["policy"]): row["regret_mean"] for row in study.summary().to_dicts()}
    problems = [problem.name for problem in study.problems]
    rises = [_last_rise(study, problem, policy) for problem in problems]
    growth = {name: _ratios([mean[problem, name] for problem in problems]) for name in (policy, "ucb1", "ucb1-elim")}
    margins = [min(mean[problem, name] for name in BASELINES) / mean[problem, policy] for problem in problems]
    better = [mean[problem, "rank1elim"] / mean[problem, policy] for problem in problems]
    return [
        Claim(
            "regret flattens in all three problems",
            reading,
            f"last tenth adds {in_a_row(rises, '.1%')}",
            max(rises) < FLAT,
        ),
        Claim(
            "regret doubles when K and L double",
            reading,
            f"grows by {in_a_row(growth[policy])}",
            all(1.6 <= ratio <= 2.5 for ratio in growth[policy]),
        ),
        Claim(
            "UCB1 and UCB1Elim quadruple",
            reading,
            f"UCB1 {in_a_row(growth['ucb1'])}; UCB1Elim {in_a_row(growth['ucb1-elim'])}",
            all(3.2 <= ratio <= 5.0 for name in ("ucb1", "ucb1-elim") for ratio in growth[name]),
        ),
        Claim(
            "lowest regret of the paper's four in all problems",
            reading,
            f"best other / Rank1ElimKL {in_a_row(margins)}",
            min(margins) > 1.0,
        ),
        Claim(
            "about 4 times better than Rank1Elim",
            reading,
            f"Rank1Elim / Rank1ElimKL {in_a_row(better)}",
            all(3.0 <= ratio <= 6.0 for ratio in better),
        ),
    ]


def _last_rise(study: Study, problem: str, policy: str) -> float:
    """Share of the mean regret that the last tenth of the horizon adds."""
    here = study.table.filter((pl.col("problem") == problem) & (pl.col("policy") == policy))
    curve = here.group_by("step").agg(pl.col("regret").mean()).sort("step")["regret"]
    return float(1.0 - curve[int(0.9 * len(curve)) - 1] / curve[-1])


def _ratios(values: Sequence[float]) -> list[float]:
    return [later / earlier for earlier, later in itertools.pairwise(values)]
