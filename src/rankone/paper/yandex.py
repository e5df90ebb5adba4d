"""The models of Figures 2 and 3: the 20 most frequent queries of a Yandex log, fitted by PyClick's rule (section 5.2).

The paper's log is not public any more. A log of the user's own takes its place, or, with none, a generated one whose
Queries 1 and 2 have the paper's size, mu and p_max; everything made from it is labelled as generated. Which horizon the
paper played is not printed either, so every claim is judged at several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rankone import clicks
from rankone.charts.chart import Chart
from rankone.paper.protocol import POLICIES, Played, Protocol
from rankone.problems import RankOne
from rankone.simulation import Study

# The figures show FIGURE_HORIZON: long enough for Rank1ElimKL to eliminate on 800 items, short enough that Rank1Elim
# and UCB1 still differ as the paper describes. The claims are judged at all of them.
HORIZONS = (1_000_000, 3_000_000, 10_000_000)
FIGURE_HORIZON = 3_000_000
QUICK_HORIZONS = (100_000, 300_000)
QUERIES, RUNS = 20, 5
GENERATED_LISTS = 400_000


@dataclass(frozen=True)
class Models:
    """Problems of the most frequent queries, where they come from, and the model they are of (none for the truth)."""

    source: str
    problems: Sequence[RankOne]
    model: clicks.PBM | None

    def hardness(self) -> pl.DataFrame:
        """One row per query: sizes, mu, p_max and gamma."""
        return pl.DataFrame(
            [(p.name, p.n_rows, p.n_cols, p.mu, p.p_max, p.gamma, p.best_mean) for p in self.problems],
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
