"""Measured regret between its lower and its upper bound, a line per problem, on a log axis."""

from __future__ import annotations

import altair as alt
import polars as pl

from rankone.charts.axes import short_axis
from rankone.charts.chart import SHAPES, Chart


def bounds_chart(table: pl.DataFrame) -> Chart:
    """Draw lower_bound, regret_mean and upper_bound of each problem on one line.

    >>> table = pl.DataFrame({"problem": ["2x2"], "lower_bound": [3.0], "regret_mean": [20.0], "upper_bound": [900.0]})
    >>> chart = bounds_chart(table)
    """
    long = table.unpivot(["lower_bound", "regret_mean", "upper_bound"], index="problem").filter(pl.col("value") > 0)
    names = {"lower_bound": "lower bound", "regret_mean": "measured regret", "upper_bound": "Theorem 1's bound"}
    long = long.with_columns(what=pl.col("variable").replace_strict(names))
    order = list(names.values())
    x = alt.X("value:Q", scale=alt.Scale(type="log"), title="cumulative regret", axis=short_axis())
    y = alt.Y("problem:N", sort=table["problem"].to_list(), title=None, axis=alt.Axis(labelLimit=260))
    span = alt.Chart(alt.InlineData(table.filter(pl.col("lower_bound") > 0).to_dicts()))
    rule = span.mark_rule(color="#bbb").encode(
        x=alt.X("lower_bound:Q", title="cumulative regret"), x2="upper_bound:Q", y=y
    )
    points = alt.Chart(alt.InlineData(long.to_dicts())).mark_point(filled=True, size=90).encode(
        x=x, y=y,
        shape=alt.Shape("what:N", title=None, scale=alt.Scale(domain=order, range=SHAPES[:3])),
        color=alt.Color("what:N", title=None, scale=alt.Scale(domain=order, range=["#009e73", "#000000", "#d55e00"])),
    )  # fmt: skip
    return Chart(alt.layer(rule, points).properties(width=460, height=28 * table.height))
