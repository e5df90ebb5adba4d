"""Figure 2 of the paper: two queries, their models (a, b) and the regret on them (c, d) (section 5.2)."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rankone.errors import InputError
from rankone.paper.claims import Claim, Reproduction
from rankone.paper.protocol import BASELINES, READINGS, Protocol
from rankone.paper.yandex import Models, labelled, models, ratio, shown, studies
from rankone.problems import RankOne
from rankone.simulation import Study

# What the paper prints about its two queries: items, mu, p_max, gamma.
PRINTED = ((871, 0.13, 0.85, 0.15), (807, 0.28, 0.66, 0.34))


def reproduce(protocol: Protocol) -> Reproduction:
    """Fit, choose two queries that differ in hardness, play, judge and draw."""
    fitted = models(protocol)
    pair = two_queries(fitted.problems, generated=protocol.log is None)
    played = studies(pair, protocol, "fig2")
    claims = [judge_hardness(pair, fitted.source)]
    for horizon, study in played.items():
        for policy, reading in READINGS.items():
            claims += judge(study, policy, f"{reading}, n = {horizon:,}")
    charts = {"fig2_regret": labelled(shown(played).chart(lower_bound=False), fitted.source)}
    if fitted.model is not None:
        charts["fig2_models"] = labelled(fitted.model.chart([problem.name for problem in pair]), fitted.source)
    summary = pl.concat([study.summary() for study in played.values()])
    columns = ["problem", "policy", "horizon", "runs", "regret_mean", "regret_se", "regret_median", "regret_p95"]
    return Reproduction({"queries": _hardness(fitted, pair), "summary": summary.select(columns)}, claims, charts)


def two_queries(problems: Sequence[RankOne], generated: bool) -> tuple[RankOne, RankOne]:
    """Return Queries 1 and 2 of a generated log; of any other, the hardest and the easiest query by mu * gamma."""
    if len(problems) < 2:
        raise InputError("a log of at least two queries", len(problems), "name a longer log")
    if generated:
        return problems[0], problems[1]
    by_hardness = sorted(problems, key=lambda problem: problem.mu * problem.gamma)
    return by_hardness[0], by_hardness[-1]


def judge_hardness(pair: Sequence[RankOne], source: str) -> Claim:
    """Judge the order of the two queries in mu, p_max and gamma; their values depend on the scale of the fit."""
    hard, easy = pair
    printed = "; ".join(f"{mu:.2f}, {p_max:.2f}, {gamma:.2f}" for _, mu, p_max, gamma in PRINTED)
    measured = "; ".join(f"{p.mu:.2f}, {p.p_max:.2f}, {p.gamma:.2f}" for p in pair)
    ordered = hard.mu < easy.mu and hard.p_max > easy.p_max and hard.gamma < easy.gamma
    return Claim(f"Query 1 has lower mu, higher p_max, lower gamma ({printed})", source, measured, ordered)


def judge(study: Study, policy: str, reading: str) -> list[Claim]:
    """Judge the sentences about Figure 2c and 2d for one reading of Rank1ElimKL at one horizon."""
    rows = {(row["problem"], row["policy"]): row for row in study.summary().to_dicts()}
    hard, easy = (problem.name for problem in study.problems)
    ratios = {
        problem: [ratio(rows[problem, name]["regret_mean"], rows[problem, policy]["regret_mean"]) for name in BASELINES]
        for problem in (hard, easy)
    }
    own = [rows[problem, policy]["regret_mean"] for problem in (hard, easy)]
    errors = sum((rows[hard, name]["regret_se"] or 0.0) ** 2 for name in (policy, "ucb1")) ** 0.5
    no_worse = own[0] <= rows[hard, "ucb1"]["regret_mean"] + 2.0 * errors
    of_others = {
        problem: "their regret / its: " + ", ".join(f"{each:.2f}" for each in ratios[problem]) for problem in ratios
    }
    better = min(ratios[hard][:2]) > 1.0 and no_worse
    judged = [
        ("Query 1: better than Rank1Elim and UCB1Elim, no worse than UCB1", of_others[hard], better),
        ("Query 2: better than Rank1Elim, UCB1Elim and UCB1", of_others[easy], min(ratios[easy]) > 1.0),
        ("less regret on Query 2 than on Query 1", f"{own[1]:,.0f} and {own[0]:,.0f}", own[1] < own[0]),
    ]
    return [Claim(claim, reading, measured, holds) for claim, measured, holds in judged]


def _hardness(fitted: Models, pair: Sequence[RankOne]) -> pl.DataFrame:
    """Return the rows of Query 1 and Query 2, in this order."""
    called = pl.DataFrame({"figure": ["Query 1", "Query 2"], "query": [problem.name for problem in pair]})
    table = called.join(fitted.hardness(), on="query", maintain_order="left")
    return table.with_columns(source=pl.lit(fitted.source))
