"""Figure 1 of the paper: regret on needle problems with K = L = 32, 64, 128 (section 5.1).

p = 0.25 and gap = 0.5 are printed, the horizon is not: 2,000,000 decisions, as in the authors' experiments. Rank1ElimKL
is judged in two readings of its confidence level: as printed (c = 3) and log n alone (c = 0).

On request the figure also tells what came after the paper: today's policies and the lower bound, on a log scale.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from rankone.paper.claims import Claim, Reproduction
from rankone.paper.protocol import BASELINES, POLICIES, READINGS, Played, Protocol
from rankone.problems import needle
from rankone.simulation import Study

HORIZON = 2_000_000
TODAY = (*POLICIES, "uts")
# A curve is flat when its last tenth adds less than this share of the regret.
FLAT = 0.01


def fig1(protocol: Protocol, sizes: Sequence[int] = (32, 64, 128), today: bool = False) -> Reproduction:
    """Simulate Figure 1, judge the paper's sentences about it, and draw it; sizes, K = L, are each twice the one
    before.

    `today` adds the policies of today and the lower bound, in a second chart on a log scale.
    """
    problems = [needle(size, size, p=0.25, gap=0.5) for size in sizes]
    policies = TODAY if today else POLICIES
    (study,) = protocol.play([Played(problems, policies, HORIZON)], runs=5 if protocol.quick else 20)
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
    margins = [min(mean[problem, name] for name in BASELINES) / mean[problem, policy] for problem in problems]
    better = [mean[problem, "rank1elim"] / mean[problem, policy] for problem in problems]

    def growth(name: str) -> list[float]:
        return [mean[later, name] / mean[earlier, name] for earlier, later in pairwise(problems)]

    quadruple = growth("ucb1") + growth("ucb1-elim")
    lowest = "lowest regret of the paper's four in all problems"
    return [
        Claim.within("regret flattens in all three problems", reading, "last tenth adds", rises, -1.0, FLAT, ".1%"),
        Claim.within("regret doubles when K and L double", reading, "grows by", growth(policy), 1.6, 2.5),
        Claim.within("UCB1 and UCB1Elim quadruple", reading, "UCB1, then UCB1Elim:", quadruple, 3.2, 5.0),
        Claim.within(lowest, reading, "best other / Rank1ElimKL", margins, 1.0, math.inf),
        Claim.within("about 4 times better than Rank1Elim", reading, "Rank1Elim / Rank1ElimKL", better, 3.0, 6.0),
    ]


def _last_rise(study: Study, problem: str, policy: str) -> float:
    here = study.table.filter((pl.col("problem") == problem) & (pl.col("policy") == policy))
    curve = here.group_by("step").agg(pl.col("regret").mean()).sort("step")["regret"]
    return float(1.0 - curve[int(0.9 * len(curve)) - 1] / curve[-1])
