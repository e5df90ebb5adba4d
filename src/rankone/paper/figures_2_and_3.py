"""Figures 2 and 3 of the paper (section 5.2): regret on the most frequent queries of a Yandex log, fitted by PyClick's
rule.

The paper's log is not public any more. A log of the user's own takes its place, or a generated one, labelled so, whose
Queries 1 and 2 have the paper's size, mu and p_max. The horizon is not printed either, so claims are judged at several.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from rankone import clicks
from rankone.charts.chart import Chart
from rankone.charts.regret import regret_chart
from rankone.errors import InputError
from rankone.paper.claims import Claim, Reproduction
from rankone.paper.protocol import BASELINES, POLICIES, READINGS, Played, Protocol
from rankone.problems import RankOne
from rankone.simulation import Study

# The figures show FIGURE_HORIZON: long enough for Rank1ElimKL to eliminate on 800 items, short enough that Rank1Elim
# and UCB1 still differ as the paper describes. The claims are judged at all of them.
HORIZONS = (1_000_000, 3_000_000, 10_000_000)
FIGURE_HORIZON = 3_000_000
QUICK_HORIZONS = (100_000, 300_000)
QUERIES, RUNS = 20, 5
GENERATED_LISTS = 400_000
# What the paper prints about its two queries: items, mu, p_max, gamma.
PRINTED_QUERIES = ((871, 0.13, 0.85, 0.15), (807, 0.28, 0.66, 0.34))
# How much lower than another policy's the paper says Rank1ElimKL's regret is.
PRINTED_SHARES = {"ucb1": 0.109, "rank1elim": 0.79}


@dataclass(frozen=True)
class Models:
    """Problems of the most frequent queries, where they come from, and the model they are of (none for the truth)."""

    source: str
    problems: Sequence[RankOne]
    model: clicks.PBM | None


def hardness(problems: Sequence[RankOne]) -> pl.DataFrame:
    """Return one row per query: sizes, mu, p_max and gamma."""
    return pl.DataFrame(
        [(p.name, p.n_rows, p.n_cols, p.mu, p.p_max, p.gamma, p.best_mean) for p in problems],
        schema=["query", "items", "positions", "mu", "p_max", "gamma", "best"],
        orient="row",
    )


def models(protocol: Protocol) -> Models:
    """Fit the log the user names or, with none, a generated one; or take what is true in the generated one."""

    def reading(done: int, total: int, rows: int) -> None:
        protocol.preparing(done // 1_000_000, total // 1_000_000, "megabytes of the log")

    def writing(done: int, total: int) -> None:
        protocol.preparing(done, total, "sessions of the log")

    if protocol.log is not None:
        counts = clicks.read(protocol.log, protocol.format, progress=reading).top(QUERIES)
        source = f"{Path(protocol.log).name} ({counts.report['lists']:,} lists), fitted by PyClick's rule"
    else:
        lists = GENERATED_LISTS // 10 if protocol.quick else GENERATED_LISTS
        made = clicks.generate_log(
            Path(protocol.out or ".") / "generated-log.tsv.gz", lists, queries=QUERIES, progress=writing
        )
        if protocol.truth:
            return Models("truth of a GENERATED log", made.problems, None)
        counts = clicks.read(made.path, progress=reading)
        source = f"a GENERATED log ({lists:,} lists), fitted by PyClick's rule"
    model = clicks.PBM.pyclick().fit(counts)
    return Models(source, [model.problem(query) for query in counts.queries["query"]], model)


def studies(problems: Sequence[RankOne], protocol: Protocol, figure: str) -> dict[int, Study]:
    """Play every policy on the problems at every horizon; elimination policies plan for theirs: a study each."""
    horizons = QUICK_HORIZONS if protocol.quick else HORIZONS
    wanted = [Played(problems, POLICIES, horizon, f"{figure}/runs-{horizon}") for horizon in horizons]
    return dict(zip(horizons, protocol.play(wanted, runs=1 if protocol.quick else RUNS, seed=2), strict=True))


def labelled(chart: Chart, source: str) -> Chart:
    """Say on a chart which log it was made from."""
    chart.altair = chart.altair.properties(title=source.split(", "))  # one line each
    return chart


def shown(played: dict[int, Study]) -> Study:
    """Return the study that the figures show."""
    return played.get(FIGURE_HORIZON) or played[max(played)]


def ratio(regret: float, other: float) -> float:
    """Return a regret over another; on a problem whose pairs are all equally good both are 0, and equal."""
    return regret / other if other > 0.0 else 1.0 if regret == 0.0 else float("inf")


def fig2(protocol: Protocol) -> Reproduction:
    """Figure 2: two queries that differ in hardness, their models (a, b) and the regret on them (c, d)."""
    fitted = models(protocol)
    pair = two_queries(fitted.problems, generated=protocol.log is None)
    played = studies(pair, protocol, "fig2")
    claims = [judge_hardness(pair, fitted.source)]
    for horizon, study in played.items():
        for policy, reading in READINGS.items():
            claims += judge_two(study, policy, f"{reading}, n = {horizon:,}")
    charts = {"fig2_regret": labelled(shown(played).chart(lower_bound=False), fitted.source)}
    if fitted.model is not None:
        charts["fig2_models"] = labelled(fitted.model.chart([problem.name for problem in pair]), fitted.source)
    summary = pl.concat([study.summary() for study in played.values()])
    columns = ["problem", "policy", "horizon", "runs", "regret_mean", "regret_se", "regret_median", "regret_p95"]
    queries = hardness(pair).select(
        pl.Series("figure", ["Query 1", "Query 2"]), pl.all(), pl.lit(fitted.source).alias("source")
    )
    return Reproduction({"queries": queries, "summary": summary.select(columns)}, claims, charts)


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
    printed = "; ".join(f"{mu:.2f}, {p_max:.2f}, {gamma:.2f}" for _, mu, p_max, gamma in PRINTED_QUERIES)
    measured = "; ".join(f"{p.mu:.2f}, {p.p_max:.2f}, {p.gamma:.2f}" for p in pair)
    ordered = hard.mu < easy.mu and hard.p_max > easy.p_max and hard.gamma < easy.gamma
    return Claim(f"Query 1 has lower mu, higher p_max, lower gamma ({printed})", source, measured, ordered)


def judge_two(study: Study, policy: str, reading: str) -> list[Claim]:
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


def fig3(protocol: Protocol) -> Reproduction:
    """Figure 3: regret averaged over the 20 most frequent queries, 5 runs each.

    As the paper does it, the regret of a run is the average over the queries, and the standard error is over the runs.
    """
    fitted = models(protocol)
    played = studies(fitted.problems, protocol, "fig3")
    claims, averages, charts = [], [], {}
    for horizon, study in played.items():
        curves = averaged(study)
        averages.append(final(curves).with_columns(horizon=pl.lit(horizon), source=pl.lit(fitted.source)))
        if study is shown(played):
            charts["fig3"] = labelled(regret_chart(curves, {}, columns=1), fitted.source)
        for policy, reading in READINGS.items():
            claims += judge_average(curves, policy, f"{reading}, n = {horizon:,}")
    tables = {"average": pl.concat(averages), "by_horizon": by_horizon(claims), "queries": hardness(fitted.problems)}
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


def judge_average(curves: pl.DataFrame, policy: str, reading: str) -> list[Claim]:
    """Judge the sentences about Figure 3 for one reading of Rank1ElimKL at one horizon."""
    last = curves.filter(pl.col("step") == pl.col("step").max())
    runs = {
        name: last.filter(pl.col("policy") == name).sort("run")["regret"].to_numpy() for name in (policy, *BASELINES)
    }
    means = {name: float(regrets.mean()) for name, regrets in runs.items()}
    lowest = min(BASELINES, key=lambda name: means[name])
    measured = f"{means[policy]:,.0f}; lowest other: {lowest} {means[lowest]:,.0f}"
    claims = [Claim("lowest regret of the paper's four", reading, measured, means[policy] < means[lowest])]
    for name, printed in PRINTED_SHARES.items():
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
