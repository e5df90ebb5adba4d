"""How a quantity grows with the size of a problem, on log axes, with the fitted exponent in the legend."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import polars as pl

from rankone.charts.chart import COLOURS, DASHES, SHAPES, Chart


def growth_chart(table: pl.DataFrame, slopes: Mapping[str, float]) -> Chart:
    """Draw regret_mean against size, a line per policy; `slopes` are the exponents the legend shows.

    >>> table = pl.DataFrame({"policy": ["ucb1"] * 2, "size": [4, 8], "regret_mean": [10.0, 41.0],
    ...                       "regret_se": [1.0, 2.0]})
    >>> chart = growth_chart(table, {"ucb1": 2.04})
    """
    labels = {
        policy: f"{policy}: grows as K^{slopes[policy]:.2f}" if policy in slopes else policy
        for policy in table["policy"].unique(maintain_order=True)
    }
    shown = table.with_columns(
        label=pl.col("policy").replace_strict(labels),
        low=pl.max_horizontal(pl.col("regret_mean") - 2 * pl.col("regret_se"), pl.col("regret_mean") * 1e-2),
        high=pl.col("regret_mean") + 2 * pl.col("regret_se"),
    )
    names = list(labels.values())
    sizes = shown["size"].unique().sort().to_list()
    x = alt.X("size:Q", scale=alt.Scale(type="log", base=2), title="K = L", axis=alt.Axis(values=sizes))
    y = alt.Y("regret_mean:Q", scale=alt.Scale(type="log"), title="cumulative regret", axis=alt.Axis(format="~s"))
    colour = alt.Color("label:N", scale=alt.Scale(domain=names, range=COLOURS[: len(names)]), title=None)
    base = alt.Chart(alt.InlineData(shown.to_dicts()))
    line = base.mark_line(strokeWidth=2).encode(
        x=x, y=y, color=colour,
        strokeDash=alt.StrokeDash("label:N", scale=alt.Scale(domain=names, range=DASHES[: len(names)]), title=None),
    )  # fmt: skip
    points = base.mark_point(filled=True, size=60).encode(
        x=x, y=y, color=colour,
        shape=alt.Shape("label:N", scale=alt.Scale(domain=names, range=SHAPES[: len(names)]), title=None),
    )  # fmt: skip
    bars = base.mark_rule().encode(x=x, y=alt.Y("low:Q", title="cumulative regret"), y2="high:Q", color=colour)
    return Chart(alt.layer(line, bars, points).properties(width=460, height=320))
