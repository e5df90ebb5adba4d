"""The tables "More than two factors" of docs/measured.md: ``python -m benchmarks.which_factor_policy [--runs 20]`` plays and writes it.

The arena of two to eight factors, every policy that plays any number of them. ``--out`` keeps finished runs, so that it
can be played in pieces.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

import rankone
from benchmarks.which_list_policy import markdown
from rankone.simulation.arena import Arena

PAGE = Path(__file__).parent / "measured" / "factors.md"
BY_PROBLEM = ("per-factor", "glm-thompson", "thompson", "uniform")


def written(found: Arena, runs: int) -> str:
    """Return the tables: a row per policy, then a row per problem."""
    noise = pl.col("mean_ratio_se") / pl.col("mean_ratio")
    halves = {
        (row["half"], row["policy"]): f"{row['mean']:.2f} ± {row['mean'] * row['noise']:.2f}"
        for row in found.ratios()
        .group_by("half", "policy")
        .agg(mean=pl.col("mean_ratio").log().mean().exp(), noise=noise.pow(2).sum().sqrt() / pl.len())
        .to_dicts()
    }
    errors = {(row["problem"], row["policy"]): row["mean_ratio_se"] for row in found.ratios().to_dicts()}
    scores = [["policy", "half tune", "half report", "worst", "on", "worst 99% quantile on traps"]]
    for row in found.scores().to_dicts():
        means = [halves.get((half, row["policy"]), "") for half in ("tune", "report")]
        means = ["1" if row["policy"] == found.against else each for each in means]
        tail, error = row["against_trap_p99"], errors[row["worst_problem"], row["policy"]]
        worst = [f"{row['against_worst']:.2f} ± {error:.2f}", row["worst_problem"]]
        worst = ["1", "", "1"] if row["policy"] == found.against else [*worst, "" if tail is None else f"{tail:.2f}"]
        scores.append([f"`{row['policy']}`", *means, *worst])
    order = [row[0].strip("`") for row in scores[1:]]
    ratios = {(row["problem"], row["policy"]): row["mean_ratio"] for row in found.ratios().to_dicts()}
    own = found.table.filter(pl.col("policy") == found.against)
    others = [name for name in order if name in BY_PROBLEM]
    problems = [["problem", "decisions", f"`{found.against}`", *(f"`{name}`" for name in others)]]
    for row in own.to_dicts():
        regret = f"{row['regret_mean']:,.0f} ± {row['regret_se']:,.0f}"
        cells = [f"{ratios[row['problem'], name]:.2f}" for name in others]
        problems.append([row["problem"], f"{row['horizon']:,}", regret, *cells])
    each = found.ratios().filter(pl.col("policy") != found.against).select(noise)["mean_ratio_se"]
    note = f"\n{runs} runs each, seed 0; ± is the standard error. Regret of `{found.against}`, and of the others as a "
    note += f"multiple of it (standard errors of these multiples are {each.median():.0%} of them in the median, and at "
    note += f"most {each.max():.0%}):\n\n"
    return markdown(scores) + note + markdown(problems)


def main() -> None:
    """Play, and write the tables into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    found = rankone.arena(of="factors", runs=given.runs, workers=given.workers, out=given.out)
    PAGE.write_text(written(found, given.runs))


if __name__ == "__main__":
    main()
