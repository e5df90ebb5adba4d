"""Draw the explanation pages' own pictures into docs/images: ``python docs/pictures.py``. (Other pictures there are
results, drawn by the commands that the pages name.)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl

import rankone
from rankone.charts.chart import COLOURS, Chart
from rankone.charts.heatmap import heatmap
from rankone.kernels.policy import race
from rankone.numerics.seeds import generator
from rankone.policies.engines.elimination import SWEEP_OPEN, SWEEP_TO_GO, bounds

IMAGES = Path(__file__).parent / "images"
HORIZON = 100_000
PROBLEM = rankone.RankOne(rows=[0.9, 0.75, 0.6, 0.45, 0.3, 0.15], cols=[0.8, 0.65, 0.5, 0.35, 0.2])
BLUE, ORANGE = COLOURS[:2]


def main() -> None:
    """Draw all of them."""
    shop = rankone.RankOne([0.9, 0.5, 0.2], [0.8, 0.3], row_names=["red", "blue", "grey"], col_names=["top", "side"])
    product(shop).save(IMAGES / "product.png", scale=1.5)
    sweep().save(IMAGES / "sweep.png", scale=1.5)
    stages().save(IMAGES / "stages.png", scale=1.5)
    first = rankone.simulate("needle:8x8", ["uts", "rank1elim-kl:c=0", "ucb1"], horizon=100_000, runs=10)
    first.chart().save(IMAGES / "first_study.png", scale=1.5)
    worlds_that_change()
    features()
    nature()


def nature() -> None:
    """Draw regret of policies for arriving users, as a share of what random items lose: docs/nature.md."""
    known = ["mts", "latent-ucb", "mixture-ts", "lowrank-ts", "pts:particles=10", "user-ts", "thompson"]
    linear = ["mixture-linear-ts", "club", "club:graph=random"]
    worlds = {
        "latent:50x3:figure=2": (known, 25_000),
        "latent:500x3:figure=5": (known, 25_000),
        "mixed:60x30": (known[2:], 60_000),
        "mixed:200x30:rate=0.1": (known[2:], 60_000),
        "clustered-linear:500x10": (linear, 55_000),
        "clustered-linear:500x10:clusters=10,noise=0.3": (linear, 55_000),
    }
    tables = []
    for world, (policies, horizon) in worlds.items():
        found = rankone.simulate(world, ["uniform", *policies], horizon, runs=3, workers=1, checkpoints=1).summary()
        most = found.filter(pl.col("policy") == "uniform")["regret_mean"][0]
        found = found.filter(pl.col("policy") != "uniform")
        tables.append(found.select("problem", "policy", share=pl.col("regret_mean") / most))
    title = "Regret as a share of what random items lose"
    drawn = heatmap(pl.concat(tables), x="policy", y="problem", value="share", order=[*known, *linear], title=title)
    drawn.save(IMAGES / "nature.png", scale=1.5)


def features() -> None:
    """Draw regret with and without features of items: docs/features.md."""
    policies = ["cascade-logit-ts", "vac2-ucb", "cascade-lin-ts", "cascade-lin-ts:sigma=1", "c3-ucb", "cascade-ts"]
    drawn = rankone.simulate("vial:100x10:d=10", policies, horizon=20_000, runs=4, workers=1, checkpoints=40)
    drawn.chart().save(IMAGES / "features.png", scale=1.5)


def worlds_that_change() -> None:
    """Draw regret where the world changes, and where it is no product: docs/when-the-world-changes.md and beside it."""
    changing = "random:8x8:low=0.3,seed=2|changes=3"
    policies = ["glr-uts", "discounted-uts", "sliding-uts", "uts"]
    drawn = rankone.simulate(changing, policies, horizon=100_000, runs=6, workers=1, checkpoints=60)
    drawn.chart().save(IMAGES / "changes.png", scale=1.5)
    tables = ["random:8x8:seed=1,low=0.3,high=0.8", "exception:8x8", "matches:8x8"]
    drawn = rankone.simulate(tables, ["uts", "insured-uts", "thompson"], horizon=50_000, runs=6, workers=1)
    drawn.chart().save(IMAGES / "insured.png", scale=1.5)


def product(problem: rankone.RankOne) -> Chart:
    """Draw a problem: its rows, its columns, and the click probability of every pair as their product."""
    rows = [{"row": f"{n}  u = {u:g}", "u": u} for n, u in zip(problem.row_names, problem.rows, strict=True)]
    cols = [{"col": f"{n}  v = {v:g}", "v": v} for n, v in zip(problem.col_names, problem.cols, strict=True)]
    cells = [
        {**row, **col, "p": row["u"] * col["v"], "text": f"{row['u'] * col['v']:.2f}"} for row in rows for col in cols
    ]
    base = alt.Chart(alt.InlineData(cells)).encode(
        x=alt.X("col:N", sort=None, title=None, axis=alt.Axis(orient="top", labelAngle=0, domain=False, ticks=False)),
        y=alt.Y("row:N", sort=None, title=None, axis=alt.Axis(domain=False, ticks=False)),
    )
    scale = alt.Scale(domain=[0, 1], scheme="blues")
    drawn = base.mark_rect(stroke="white").encode(color=alt.Color("p:Q", scale=scale, legend=None))
    numbers = base.mark_text(fontSize=15).encode(
        text="text:N", color=alt.condition("datum.p > 0.5", alt.value("white"), alt.value("black"))
    )
    return Chart(alt.layer(drawn, numbers).properties(width=260, height=150))


def sweep() -> Chart:
    """Draw a sweep: every row with one column, then every column with one row."""
    n_rows, n_cols = PROBLEM.n_rows, PROBLEM.n_cols
    halves = {"1. every row, with one random column": (None, 2), "2. every column, with one random row": (3, None)}
    panels = []
    for title, (row, col) in halves.items():
        cells = [
            {"row": i + 1, "col": j + 1, "played": "played" if i == row or j == col else "not now"}
            for i in range(n_rows)
            for j in range(n_cols)
        ]
        colour = alt.Scale(domain=["played", "not now"], range=[BLUE, "#eeeeee"])
        panels.append(
            alt.Chart(alt.InlineData(cells), title=title).mark_rect(stroke="white", strokeWidth=2).encode(
                x=alt.X("col:O", title="column", axis=alt.Axis(orient="bottom", labelAngle=0)),
                y=alt.Y("row:O", title="row"),
                color=alt.Color("played:N", scale=colour, legend=None),
            ).properties(width=200, height=200)
        )  # fmt: skip
    return Chart(alt.hconcat(*panels, spacing=50))


def stages() -> Chart:
    """Draw every level's interval at the end of each stage, and the bar under which levels are eliminated."""
    found = list(play_stages())
    panels = []
    for number, (decisions, levels) in enumerate(found, start=1):
        title = f"Stage {number} ends after {decisions:,} decisions"
        sides = [_side([level for level in levels if level["side"] == side], side) for side in ("row", "column")]
        panels.append(alt.vconcat(*sides, spacing=4, title=alt.Title(title, fontSize=13)))
    return Chart(alt.concat(*panels, columns=2, spacing=24))


def _side(levels: list[dict[str, Any]], side: str) -> alt.LayerChart:
    n_levels = PROBLEM.n_rows if side == "row" else PROBLEM.n_cols
    fates = ["stays", "is eliminated"]
    colour = alt.Scale(domain=fates, range=[BLUE, ORANGE])
    shape = alt.Scale(domain=fates, range=["circle", "cross"])
    base = alt.Chart(alt.InlineData(levels)).encode(
        y=alt.Y("level:O", title=side, scale=alt.Scale(domain=list(range(1, n_levels + 1)))),
        color=alt.Color("fate:N", title=None, scale=colour, legend=alt.Legend(orient="bottom")),
    )
    x = alt.X("lower:Q", scale=alt.Scale(domain=[0, 0.8]), title="click rate in sweeps" if side == "column" else None)
    interval = base.mark_rule(strokeWidth=3).encode(x=x, x2="upper:Q")
    mean = base.mark_point(filled=True, size=60, opacity=1).encode(
        x="mean:Q", shape=alt.Shape("fate:N", title=None, scale=shape)
    )
    bar = alt.Chart(alt.InlineData([{"bar": max(level["lower"] for level in levels)}]))
    return alt.layer(bar.mark_rule(strokeDash=[4, 3], color="#555").encode(x="bar:Q"), interval, mean).properties(
        width=260, height=20 * n_levels
    )


def play_stages(seed: int = 1) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Play Rank1ElimKL until one pair is left; yield for each stage the decisions so far and the levels in the race."""
    agent = rankone.Rank1ElimKL(horizon=HORIZON, c=0).agent(PROBLEM.n_rows, PROBLEM.n_cols, seed=seed)
    world, state, levels = generator(seed, "visitors"), agent.state, []
    for number in range(HORIZON):
        decision = agent.ask()  # the first one after a stage's last outcome closes the stage
        if levels:
            staying = _in_race(state)
            fates = ["stays" if level["key"] in staying else "is eliminated" for level in levels]
            yield number, [{**level, "fate": fate} for level, fate in zip(levels, fates, strict=True)]
            levels = []
        if len(_in_race(state)) == 2:
            return
        agent.tell(decision, int(world.random() < PROBLEM.means[decision.row, decision.col]))
        if state.clock[SWEEP_TO_GO] == 0 and state.clock[SWEEP_OPEN] == 0:
            levels = [_level(state, key) for key in sorted(_in_race(state))]


def _in_race(state: Any) -> set[int]:
    found = race(state)
    return {int(level) for level in np.flatnonzero([*found.rows, *found.cols])}


def _level(state: Any, key: int) -> dict[str, Any]:
    lower, upper = bounds(state, key)
    side, number = ("row", key) if key < PROBLEM.n_rows else ("column", key - PROBLEM.n_rows)
    mean = float(state.clicks[key] / state.pulls[key])
    return {"key": key, "side": side, "level": number + 1, "lower": lower, "mean": mean, "upper": upper}


if __name__ == "__main__":
    main()
