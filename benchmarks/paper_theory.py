"""The paper's theory against measurement: Theorem 1, Lemma 2 (event 1), Lemma 3 and the extreme needle (section 1).

For the lemmas stages of Rank1ElimKL are played by its own kernels up to the moment before its eliminations; there the
confidence intervals are compared with the conditional means they should contain (event 1 of Lemma 2).

``python -m benchmarks.paper_theory`` takes about two minutes, with ``--quick`` less.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from rankone.charts.chart import Chart, Marks, drawn, short_axis
from rankone.charts.parameter import parameter_chart
from rankone.cli._progress import progress_bar
from rankone.cli.study.reproduce import show_reproduction
from rankone.compiling.compiled import compiled
from rankone.kernels.feedback import Scratch
from rankone.kernels.policy import decide, learn, settled
from rankone.kernels.world import respond
from rankone.numerics.kl import kl_lower, kl_upper
from rankone.numerics.power_law import fit_power_law
from rankone.numerics.seeds import generator
from rankone.paper.claims import Claim, Reproduction
from rankone.paper.protocol import AS_PRINTED, Played, Protocol
from rankone.policies.engines.elimination import SWEEP_CONFIDENCE, SWEEP_OPEN, SWEEP_STAGE, SWEEP_TO_GO
from rankone.policies.factors.elimination.rank1elim_kl import Rank1ElimKL
from rankone.problems import RankOne, lower_bound, needle, random_problem, upper_bound

SEED = 1
CUT_OFF = 0.5  # a policy that lost more than this share of all there is to lose was still exploring at the horizon


def theory(protocol: Protocol) -> Reproduction:
    """Measure what the theory speaks of; return tables, verdicts and pictures. Progress is of parts."""
    runs, alone = 5 if protocol.quick else 20, dataclasses.replace(protocol, progress=lambda finished, total: None)
    parts: dict[str, Callable[[], pl.DataFrame]] = {
        "theorem 1": lambda: theorem_1(alone, runs),
        "lemma 2": lambda: lemma_2(100 if protocol.quick else 1000),
        "lemma 3": lambda: lemma_3(runs),
        "extreme needle": lambda: extreme_needle(alone, runs),
    }
    tables: dict[str, pl.DataFrame] = {}
    for number, (name, part) in enumerate(parts.items()):
        protocol.progress(number, len(parts))
        tables[name] = part()
    protocol.progress(len(parts), len(parts))
    exponents = growth_exponents(tables["extreme needle"])
    needles = extreme_needle_chart(tables["extreme needle"], exponents)
    charts = {"theorem1": bounds_chart(tables["theorem 1"]), "extreme_needle": needles}
    return Reproduction(tables, _claims(tables, exponents), charts)


def theorem_1(protocol: Protocol, runs: int) -> pl.DataFrame:
    """Measured regret of Rank1ElimKL, its lower bound and Theorem 1's upper bound, on a grid of problems."""
    problems = [
        *(needle(size, size, p=p, gap=gap) for size in (4, 16) for p, gap in ((0.25, 0.5), (0.7, 0.2), (0.0, 0.5))),
        *(random_problem(8, 12, seed=seed) for seed in range(3)),
    ]
    horizon = 100_000_000  # long enough for the bound to say more than "at most everything"
    (study,) = protocol.play([Played(problems, ["rank1elim-kl"], horizon, "theorem-1")], runs, SEED, checkpoints=10)
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
        for horizon, c in itertools.product((1_000, 10_000, 100_000), (0.0, 3.0)):
            logs = [play_stages(problem, Rank1ElimKL(horizon, c), SEED, run) for run in range(runs)]
            stages, misses = sum(log.stages for log in logs), sum(log.misses for log in logs)
            bound = 6 * math.e * sum(problem.shape) / (horizon * math.log(horizon))
            rows.append(
                (problem.name, horizon, c, stages, misses, misses / stages if stages else None, min(1.0, bound))
            )
    return pl.DataFrame(rows, ["problem", "horizon", "c", "stages", "misses", "miss_rate", "bound"], orient="row")


def lemma_3(runs: int) -> pl.DataFrame:
    """Stage at whose end a level was eliminated, against the stage Lemma 3 promises, on benign problems."""
    rows = []
    steps = RankOne([0.8, 0.6, 0.4, 0.2], [0.9, 0.5, 0.1], name="steps:4x3")
    for problem in (needle(8, 8), needle(8, 8, p=0.7, gap=0.2), steps):
        logs = [play_stages(problem, Rank1ElimKL(2_000_000), SEED, run) for run in range(runs)]
        for side, gaps in (("row", problem.row_gaps), ("column", problem.col_gaps)):
            for gap in np.unique(gaps[gaps > 0].round(12)).tolist():
                levels = np.flatnonzero(np.isclose(gaps, gap)).tolist()
                stages = [log.eliminated[side].get(level) for log in logs for level in levels]
                seen = [stage for stage in stages if stage is not None]
                mean = float(np.mean(seen)) if seen else None
                promised, never = promised_stage(problem, gap), len(stages) - len(seen)
                rows.append((problem.name, side, gap, promised, mean, max(seen, default=None), never))
    columns = ["problem", "side", "gap", "promised_stage", "mean_stage", "latest_stage", "never"]
    return pl.DataFrame(rows, columns, orient="row", infer_schema_length=None)


def extreme_needle(protocol: Protocol, runs: int, sizes: Sequence[int] = (2, 3, 4, 6, 8, 12)) -> pl.DataFrame:
    """Regret against K on the needle with p = 0 (section 1: K^2 log n for Rank1ElimKL, K^3 log n for Rank1Elim)."""
    problems = [needle(size, size, p=0.0, gap=0.5) for size in sizes]
    wanted = Played(problems, ["rank1elim-kl", "rank1elim", "ucb1"], 10_000_000, "extreme-needle")
    (study,) = protocol.play([wanted], runs, SEED, checkpoints=10)
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


def bounds_chart(table: pl.DataFrame) -> Chart:
    """Draw lower_bound, regret_mean and upper_bound of each problem on one line.

    >>> table = pl.DataFrame({"problem": ["2x2"], "lower_bound": [3.0], "regret_mean": [20.0], "upper_bound": [900.0]})
    >>> chart = bounds_chart(table)
    """
    names = {"lower_bound": "lower bound", "regret_mean": "measured regret", "upper_bound": "Theorem 1's bound"}
    long = table.unpivot(list(names), index="problem").filter(pl.col("value") > 0)
    long, order = long.with_columns(what=pl.col("variable").replace_strict(names)), list(names.values())
    x = alt.X("value:Q", scale=alt.Scale(type="log"), title="cumulative regret", axis=short_axis())
    y = alt.Y("problem:N", sort=table["problem"].to_list(), title=None, axis=alt.Axis(labelLimit=260))
    lower = alt.X("lower_bound:Q", title="cumulative regret")
    span = drawn(table.filter(pl.col("lower_bound") > 0), x=lower, x2="upper_bound:Q", y=y)
    colours = alt.Scale(domain=order, range=["#009e73", "#000000", "#d55e00"])
    points = drawn(
        long, x=x, y=y, shape=Marks("what", order).shape, color=alt.Color("what:N", title=None, scale=colours)
    )
    layers = alt.layer(span.mark_rule(color="#bbb"), points.mark_point(filled=True, size=90))
    return Chart(layers.properties(width=460, height=28 * table.height))


def growth_exponents(table: pl.DataFrame) -> dict[str, tuple[float, float]]:
    """Return how the regret of each policy grows with K; what the horizon cut off is left out."""
    finished = table.filter(pl.col("share_of_most") < CUT_OFF)
    return {
        str(policy): fit_power_law(part["size"], part["regret_mean"], part["regret_se"])
        for (policy,), part in finished.group_by("policy", maintain_order=True)
    }


def extreme_needle_chart(table: pl.DataFrame, exponents: Mapping[str, tuple[float, float]]) -> Chart:
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
        [{"panel": "", "policy": policy, "exponent": law, "se": se} for policy, (law, se) in exponents.items()]
    )
    return parameter_chart(points, "K = L", fitted, title="The extreme needle", theory=2.0)


def _claims(tables: dict[str, pl.DataFrame], exponents: Mapping[str, tuple[float, float]]) -> list[Claim]:
    theorem, events, stages = tables["theorem 1"], tables["lemma 2"], tables["lemma 3"]
    telling = theorem.filter(pl.col("upper_bound") < pl.col("most_regret"))["bound_over_regret"].to_list()
    ours, theirs = exponents["rank1elim-kl"][0], exponents["rank1elim"][0]
    late = stages.filter((pl.col("never") > 0) | (pl.col("latest_stage") > pl.col("promised_stage")))
    bounded = f"the bound is {min(telling):.0f} to {max(telling):.0f} times the regret, on the {len(telling)} of "
    bounded += f"{theorem.height} problems where it is below the largest regret possible"
    in_time = f"{stages.height - late.height} of {stages.height} gaps in time"
    needle_claim = "extreme needle: {} grows as K^{} ({} to {})"
    return [
        Claim("Theorem 1 bounds the regret", AS_PRINTED, bounded, min(telling) >= 1),
        *(_lemma_2_claim(events.filter(pl.col("c") == c), c) for c in (3.0, 0.0)),
        Claim("Lemma 3: eliminated by the promised stage", AS_PRINTED, in_time, late.height == 0),
        Claim.within(needle_claim.format("Rank1ElimKL", 2, 1.5, 2.5), AS_PRINTED, "as K to the", [ours], 1.5, 2.5),
        Claim.within(needle_claim.format("Rank1Elim", 3, 2.5, 3.5), "AISTATS 2017", "as K to the", [theirs], 2.5, 3.5),
    ]


def _lemma_2_claim(events: pl.DataFrame, c: float) -> Claim:
    """The claim fails only where so many misses would be surprising (1 in 100) at the stated rate."""
    chances = [at_least(row["misses"], row["stages"], row["bound"]) for row in events.to_dicts()]
    return Claim(
        "Lemma 2: intervals miss at most at the stated rate",
        AS_PRINTED if c else "c = 0 (the proof needs c = 3)",
        f"{events['misses'].sum()} misses in {events['stages'].sum():,} stages (chance: {min(chances):.2g})",
        min(chances) > 0.01 / len(chances),
    )


def at_least(count: int, stages: int, rate: float) -> float:
    """Return the chance that `count` stages or more miss if each does at this rate."""
    below = sum(math.comb(stages, k) * rate**k * (1.0 - rate) ** (stages - k) for k in range(count))
    return max(0.0, 1.0 - below)


@dataclasses.dataclass
class StageLog:
    """What happened in one run."""

    stages: int = 0
    misses: int = 0  # stages and sides in which some interval missed its conditional mean
    # By side ("row" or "column"): the level and the stage at whose end it was eliminated.
    eliminated: dict[str, dict[int, int]] = dataclasses.field(default_factory=lambda: {"row": {}, "column": {}})


def finish_stage(state: Any, world: Any, limit: int, rng: Any, scratch: Any) -> int:
    """Play until every outcome of the current stage is in, or `limit` decisions; return the decisions played."""
    steps = 0
    while steps < limit and (steps == 0 or state.counters[SWEEP_TO_GO] > 0 or state.counters[SWEEP_OPEN] > 0):
        tag = decide(state, scratch.context, rng, scratch.shown)
        if settled(state):  # one pair is left: no stage will end again
            return limit
        respond(world, scratch.shown, scratch.outcome, rng)
        learn(state, scratch.shown, tag, scratch.outcome)
        steps += 1
    return steps


def play_stages(problem: RankOne, policy: Rank1ElimKL, seed: int, run: int) -> StageLog:
    """Play one run up to its horizon and return what each stage did."""
    horizon = policy.horizon or 0
    state = policy.start(problem.n_rows, problem.n_cols)
    rng = generator(seed, "stages", problem.digest, policy.label, run)
    play, scratch = compiled(finish_stage, type(policy).__module__), Scratch.new(problem.layout)
    clock, log, sides = state.counters, StageLog(), _Sides(problem)
    while horizon > 0 and state.left.sum() > 2:
        remaining = _remaining(state)
        stage_before = int(clock[SWEEP_STAGE])
        horizon -= play(state, problem.start(), horizon, rng, scratch)
        if clock[SWEEP_STAGE] > stage_before:  # the first decision of this call closed the stage before
            for level in remaining - _remaining(state):
                side, own = ("row", level) if level < problem.n_rows else ("column", level - problem.n_rows)
                log.eliminated[side][own] = stage_before
        if clock[SWEEP_TO_GO] > 0:  # the horizon came first
            break
        log.misses += sides.misses(state)
        log.stages += 1
    return log


class _Sides:
    """Conditional means of Lemma 2: c_l u_i, where c_l averages the partners of all stages so far."""

    def __init__(self, problem: RankOne) -> None:
        self._means = np.concatenate([problem.rows, problem.cols])
        self._weighted = np.zeros(2)  # sum over stages of sweeps times the mean partner, for rows and for columns
        self._sweeps = 0

    def misses(self, state: Any) -> int:
        """Number of sides (0, 1 or 2) on which an interval misses its conditional mean at the end of this stage."""
        n_rows, sweeps = int(state.sizes[0]), int(state.pulls[state.remaining[0]])
        partners = self._means[state.defeated_by]
        self._weighted += (sweeps - self._sweeps) * np.array([partners[n_rows:].mean(), partners[:n_rows].mean()])
        self._sweeps = sweeps
        missed = set()
        for level in _remaining(state):
            side = int(level >= n_rows)
            mean = self._weighted[side] / sweeps * self._means[level]
            estimate, radius = state.clicks[level] / sweeps, state.constants[SWEEP_CONFIDENCE] / sweeps
            if not kl_lower(estimate, radius) <= mean <= kl_upper(estimate, radius):
                missed.add(side)
        return len(missed)


def promised_stage(problem: RankOne, gap: float) -> int:
    """Return the stage by whose end Lemma 3 promises elimination: the first m with 2^-m < sqrt(mu gamma) gap."""
    return math.floor(-math.log2(math.sqrt(problem.mu * problem.gamma) * gap)) + 1


def _remaining(state: Any) -> set[int]:
    levels = np.arange(len(state.defeated_by))
    return set(levels[state.defeated_by == levels].tolist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    parser.add_argument(
        "--out", type=Path, default=Path("out", "theory"), help="directory for runs, tables and figures"
    )
    parser.add_argument("--workers", type=int)
    chosen = parser.parse_args()
    with progress_bar("parts", out=chosen.out, compiles=True) as progress:
        result = theory(Protocol(chosen.out, chosen.quick, chosen.workers, progress))
    show_reproduction(result, chosen.out, "theory", quick=chosen.quick)


if __name__ == "__main__":
    main()
