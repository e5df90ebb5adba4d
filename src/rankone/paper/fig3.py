"""Figure 3 of the paper: regret averaged over the 20 most frequent queries, 5 runs each (section 5.2).

As the paper does it, the regret of a run is the average over the queries, and the standard error is over the runs.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from rankone.charts.regret import regret_chart
from rankone.paper.claims import Claim, Reproduction
from rankone.paper.protocol import BASELINES, READINGS, Protocol
from rankone.paper.yandex import labelled, models, ratio, shown, studies
from rankone.simulation import Study

# How much lower than another policy's the paper says Rank1ElimKL's regret is.
PRINTED = {"ucb1": 0.109, "rank1elim": 0.79}


def reproduce(protocol: Protocol) -> Reproduction:
    """Fit, play on every query, average, judge and draw."""
    fitted = models(protocol)
    played = studies(fitted.problems, protocol, "fig3")
    claims, averages, charts = [], [], {}
    for horizon, study in played.items():
        curves = averaged(study)
        averages.append(final(curves).with_columns(horizon=pl.lit(horizon), source=pl.lit(fitted.source)))
        if study is shown(played):
            charts["fig3"] = labelled(regret_chart(curves, {}, columns=1), fitted.source)
        for policy, reading in READINGS.items():
            claims += judge(curves, policy, f"{reading}, n = {horizon:,}")
    tables = {"average": pl.concat(averages), "by_horizon": by_horizon(claims), "queries": fitted.hardness()}
    return Reproduction(tables, claims, charts)


def averaged(study: Study) -> pl.DataFrame:
    """Return regret averaged over the problems of a study: policy, run, step, regret."""
    return (
        study.table.group_by("policy", "run", "step", maintain_order=True)
        .agg(pl.col("regret").mean())
        .with_columns(problem=pl.lit(f"average of {len(study.problems)} queries"))
    )


def final(curves: pl.DataFrame) -> pl.DataFrame:
    """Return the regret at the end: mean over runs and its standard error."""
    last = curves.filter(pl.col("step") == pl.col("step").max())
    return last.group_by("policy", maintain_order=True).agg(
        regret_mean=pl.col("regret").mean(), regret_se=pl.col("regret").std() / pl.len().sqrt()
    )


def judge(curves: pl.DataFrame, policy: str, reading: str) -> list[Claim]:
    """Judge the sentences about Figure 3 for one reading of Rank1ElimKL at one horizon."""
    last = curves.filter(pl.col("step") == pl.col("step").max())
    runs = {
        name: last.filter(pl.col("policy") == name).sort("run")["regret"].to_numpy() for name in (policy, *BASELINES)
    }
    means = {name: float(regrets.mean()) for name, regrets in runs.items()}
    lowest = min(BASELINES, key=lambda name: means[name])
    measured = f"{means[policy]:,.0f}; lowest other: {lowest} {means[lowest]:,.0f}"
    claims = [Claim("lowest regret of the paper's four", reading, measured, means[policy] < means[lowest])]
    for name, printed in PRINTED.items():
        reductions = np.array([1.0 - ratio(*pair) for pair in zip(runs[policy], runs[name], strict=True)])
        reduction = float(reductions.mean())
        error = float(reductions.std(ddof=1)) / len(reductions) ** 0.5 if len(reductions) > 1 else 0.0
        spread = f" ± {error:.1%}" if len(reductions) > 1 else " (one run)"
        measured = f"{abs(reduction):.1%}{spread} {'lower' if reduction > 0.0 else 'higher'}"
        holds = reduction + 2.0 * error >= printed
        claims.append(Claim(f"regret {printed:.1%} lower than {name}'s", reading, measured, holds))
    return claims


def by_horizon(claims: list[Claim]) -> pl.DataFrame:
    """Return how the verdicts change with the horizon: a row per claim and reading, a column per horizon."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for claim in claims:
        level, _, horizon = claim.reading.partition(", ")
        rows.setdefault((claim.claim, level), {})[horizon] = f"{claim.verdict}: {claim.measured}"
    return pl.DataFrame([{"claim": claim, "reading": level} | cells for (claim, level), cells in rows.items()])
