"""The paper's theory against measurement: Theorem 1, Lemma 2 (event 1), Lemma 3 and the extreme needle (section 1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from rankone.charts.chart import Chart
from rankone.charts.parameter import parameter_chart
from rankone.charts.regret import bounds_chart
from rankone.numerics.power_law import PowerLaw, fit_power_law
from rankone.paper.claims import AS_PRINTED, Claim, Reproduction
from rankone.paper.stages import play_stages, promised_stage
from rankone.policies.factors.elimination.rank1elim_kl import Rank1ElimKL
from rankone.problems import RankOne, lower_bound, needle, random_problem, upper_bound
from rankone.progress import Progress
from rankone.simulation import simulate

SEED = 1
CUT_OFF = 0.5  # a policy that lost more than this share of all there is to lose was still exploring at the horizon


def reproduce(
    out: Path | None = None, quick: bool = False, workers: int | None = None, progress: Progress | None = None
) -> Reproduction:
    """Measure what the theory speaks of; return tables, verdicts and pictures.

    `out` keeps finished runs of the simulations; `progress` is called with (finished parts, all parts).
    """
    runs = 5 if quick else 20
    report = progress or (lambda finished, total: None)
    parts: list[Callable[[], tuple[str, pl.DataFrame]]] = [
        lambda: ("theorem 1", theorem_1(runs, workers, out)),
        lambda: ("lemma 2", lemma_2(100 if quick else 1000)),
        lambda: ("lemma 3", lemma_3(runs)),
        lambda: ("extreme needle", extreme_needle(runs, workers, out)),
    ]
    tables: dict[str, pl.DataFrame] = {}
    for number, part in enumerate(parts):
        report(number, len(parts))
        name, tables[name] = part()
    report(len(parts), len(parts))
    exponents = growth_exponents(tables["extreme needle"])
    return Reproduction(
        tables,
        _claims(tables, exponents),
        {
            "theorem1": bounds_chart(tables["theorem 1"]),
            "extreme_needle": extreme_needle_chart(tables["extreme needle"], exponents),
        },
    )


def theorem_1(runs: int, workers: int | None, out: Path | None) -> pl.DataFrame:
    """Measured regret of Rank1ElimKL, its lower bound and Theorem 1's upper bound, on a grid of problems."""
    problems = [
        *(needle(size, size, p=p, gap=gap) for size in (4, 16) for p, gap in ((0.25, 0.5), (0.7, 0.2), (0.0, 0.5))),
        *(random_problem(8, 12, seed=seed) for seed in range(3)),
    ]
    horizon = 100_000_000  # long enough for the bound to say more than "at most everything"
    study = simulate(
        problems,
        "rank1elim-kl",
        horizon=horizon,
        runs=runs,
        seed=SEED,
        workers=workers,
        checkpoints=10,
        out=None if out is None else out / "theorem-1",
        on_stop="raise",
    )
    bounds = pl.DataFrame(
        {
            "problem": [problem.name for problem in problems],
            "lower_bound": [lower_bound(problem, horizon) for problem in problems],
            "upper_bound": [upper_bound(problem, horizon).total for problem in problems],
            "most_regret": [float(problem.best_mean - problem.means.min()) * horizon for problem in problems],
        }
    )
    summary = study.summary().select("problem", "runs", "horizon", "regret_mean", "regret_se")
    return summary.join(bounds, on="problem").with_columns(
        bound_over_regret=pl.col("upper_bound") / pl.col("regret_mean")
    )


def lemma_2(runs: int) -> pl.DataFrame:
    """How often a stage's intervals miss (event 1), against the paper's bound 6 e (K + L) / (n log n) a stage."""
    rows = []
    for problem in (needle(2, 2), needle(4, 4, p=0.7, gap=0.2)):
        for horizon in (1_000, 10_000, 100_000):
            for c in (0.0, 3.0):
                logs = [play_stages(problem, Rank1ElimKL(horizon, c), SEED, run) for run in range(runs)]
                stages = sum(log.stages for log in logs)
                misses = sum(log.misses for log in logs)
                bound = 6 * math.e * (problem.n_rows + problem.n_cols) / (horizon * math.log(horizon))
                rows.append(
                    {
                        "problem": problem.name,
                        "horizon": horizon,
                        "c": c,
                        "stages": stages,
                        "misses": misses,
                        "miss_rate": misses / stages if stages else None,
                        "bound": min(1.0, bound),
                    }
                )
    return pl.DataFrame(rows)


def lemma_3(runs: int) -> pl.DataFrame:
    """Stage at whose end a level was eliminated, against the stage Lemma 3 promises, on benign problems."""
    table = []
    steps = RankOne([0.8, 0.6, 0.4, 0.2], [0.9, 0.5, 0.1], name="steps:4x3")
    for problem in (needle(8, 8), needle(8, 8, p=0.7, gap=0.2), steps):
        logs = [play_stages(problem, Rank1ElimKL(2_000_000), SEED, run) for run in range(runs)]
        for side, gaps in (("row", problem.row_gaps), ("column", problem.col_gaps)):
            for gap in np.unique(gaps[gaps > 0].round(12)):
                levels = np.flatnonzero(np.isclose(gaps, gap))
                stages = [log.eliminated[side].get(int(level)) for log in logs for level in levels]
                seen = [stage for stage in stages if stage is not None]
                table.append(
                    {
                        "problem": problem.name,
                        "side": side,
                        "gap": float(gap),
                        "promised_stage": promised_stage(problem, gap),
                        "mean_stage": float(np.mean(seen)) if seen else None,
                        "latest_stage": max(seen, default=None),
                        "never": len(stages) - len(seen),
                    }
                )
    return pl.DataFrame(table)


def extreme_needle(
    runs: int, workers: int | None, out: Path | None, sizes: Sequence[int] = (2, 3, 4, 6, 8, 12)
) -> pl.DataFrame:
    """Regret against K on the needle with p = 0 (section 1: K^2 log n for Rank1ElimKL, K^3 log n for Rank1Elim)."""
    problems = [needle(size, size, p=0.0, gap=0.5) for size in sizes]
    study = simulate(
        problems,
        ["rank1elim-kl", "rank1elim", "ucb1"],
        horizon=10_000_000,
        runs=runs,
        seed=SEED,
        workers=workers,
        checkpoints=10,
        out=None if out is None else out / "extreme-needle",
        on_stop="raise",
    )
    sized = pl.DataFrame(
        {
            "problem": [problem.name for problem in problems],
            "size": list(sizes),
            "most": [problem.best_mean * study.horizon for problem in problems],
        }
    )
    summary = study.summary().select("problem", "policy", "runs", "horizon", "regret_mean", "regret_se")
    return (
        summary.join(sized, on="problem")
        .with_columns(share_of_most=pl.col("regret_mean") / pl.col("most"))
        .drop("most")
    )


def growth_exponents(table: pl.DataFrame) -> dict[str, PowerLaw]:
    """Return how the regret of each policy grows with K; what the horizon cut off is left out."""
    finished = table.filter(pl.col("share_of_most") < CUT_OFF)
    return {
        str(policy): fit_power_law(part["size"], part["regret_mean"], part["regret_se"])
        for (policy,), part in finished.group_by("policy", maintain_order=True)
    }


def extreme_needle_chart(table: pl.DataFrame, exponents: Mapping[str, PowerLaw]) -> Chart:
    """Draw regret against K, with the exponents and the K^2 that the paper promises Rank1ElimKL."""
    points = table.select(
        "regret_mean",
        "regret_se",
        pl.col("policy").alias("policy_text"),
        pl.col("size").alias("K = L"),
        panel=pl.lit(""),
        cut_off=pl.col("share_of_most") >= CUT_OFF,
    )
    fitted = pl.DataFrame(
        [{"panel": "", "policy": policy, "exponent": law.exponent, "se": law.se} for policy, law in exponents.items()]
    )
    return parameter_chart(points, "K = L", fitted, title="The extreme needle", theory=2.0)


def _claims(tables: dict[str, pl.DataFrame], exponents: Mapping[str, PowerLaw]) -> list[Claim]:
    theorem, events, stages = tables["theorem 1"], tables["lemma 2"], tables["lemma 3"]
    telling = theorem.filter(pl.col("upper_bound") < pl.col("most_regret"))["bound_over_regret"].to_list()
    ours, theirs = exponents["rank1elim-kl"].exponent, exponents["rank1elim"].exponent
    late = stages.filter((pl.col("never") > 0) | (pl.col("latest_stage") > pl.col("promised_stage")))
    return [
        Claim(
            "Theorem 1 bounds the regret",
            AS_PRINTED,
            f"the bound is {min(telling):.0f} to {max(telling):.0f} times the regret, on the {len(telling)} of "
            f"{theorem.height} problems where it is below the largest regret possible",
            min(telling) >= 1,
        ),
        *(_lemma_2_claim(events.filter(pl.col("c") == c), c) for c in (3.0, 0.0)),
        Claim(
            "Lemma 3: eliminated by the promised stage",
            AS_PRINTED,
            f"{stages.height - late.height} of {stages.height} gaps in time",
            late.height == 0,
        ),
        Claim(
            "extreme needle: Rank1ElimKL grows as K^2 (1.5 to 2.5)", AS_PRINTED, f"as K^{ours:.2f}", abs(ours - 2) < 0.5
        ),
        Claim(
            "extreme needle: Rank1Elim grows as K^3 (2.5 to 3.5)",
            "AISTATS 2017",
            f"as K^{theirs:.2f}",
            abs(theirs - 3) < 0.5,
        ),
    ]


def _lemma_2_claim(events: pl.DataFrame, c: float) -> Claim:
    """The claim fails only where so many misses would be surprising (1 in 100) at the stated rate."""
    chances = [at_least(row["misses"], row["stages"], row["bound"]) for row in events.to_dicts()]
    return Claim(
        "Lemma 2: intervals miss at most at the stated rate",
        AS_PRINTED if c else "c = 0 (the proof needs c = 3)",
        f"{events['misses'].sum()} misses in {events['stages'].sum():,} stages (chance of so many: {min(chances):.2g})",
        min(chances) > 0.01 / len(chances),
    )


def at_least(count: int, stages: int, rate: float) -> float:
    """Return the chance that `count` stages or more miss if each does at this rate."""
    below = sum(math.comb(stages, k) * rate**k * (1.0 - rate) ** (stages - k) for k in range(count))
    return max(0.0, 1.0 - below)
