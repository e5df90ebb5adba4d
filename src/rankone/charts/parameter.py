"""Regret against a parameter of the problem, the policy or the feedback: a line a policy, a panel for all else."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from rankone.charts.chart import COLOURS, DASHES, SHAPES, Chart

_TITLES = {
    "lines": "rows + columns, K + L",
    "pairs": "pairs, K L",
    "min_gap": "smallest gap",
    "horizon": "decisions",
    "delay": "mean delay (decisions)",
    "batch": "batch size (decisions)",
}


def parameter_chart(table: pl.DataFrame, x: str, exponents: pl.DataFrame, *, log: bool = True) -> Chart:
    """Draw regret_mean with two standard errors against the column x.

    Args:
        table: one line a point, with the columns panel, policy_text, regret_mean, regret_se, cut_off and x.
        x: what to draw against.
        exponents: panel, policy and exponent; shown in the legend when there is one panel.
        log: logarithmic axes, also for an x that starts at 0 (then it is linear up to 1).

    >>> table = pl.DataFrame({"panel": [""] * 2, "policy_text": ["uts"] * 2, "cut_off": [False] * 2, "lines": [8, 16],
    ...                       "regret_mean": [10.0, 21.0], "regret_se": [1.0, 1.5]})
    >>> exponents = pl.DataFrame({"panel": [""], "policy": ["uts"], "exponent": [1.07], "se": [0.1]})
    >>> chart = parameter_chart(table, "lines", exponents)
    """
    positive = table.select(pl.col(x).min()).item() > 0
    policies = table["policy_text"].unique(maintain_order=True).to_list()
    panels = table["panel"].unique(maintain_order=True).to_list()
    labels = {name: name for name in policies}
    if log and positive and len(panels) == 1:
        fitted = exponents.filter(pl.col("exponent").is_not_null()).select("policy", "exponent", "se").rows()
        labels |= {name: f"{name}: exponent {exponent:.2f} ± {se:.2f}" for name, exponent, se in fitted}
    error = 2 * pl.col("regret_se").fill_null(0.0)
    shown = table.select(
        "panel",
        "cut_off",
        x=pl.col(x).cast(pl.Float64),
        label=pl.col("policy_text").replace_strict(labels),
        mean="regret_mean",
        low=pl.max_horizontal(pl.col("regret_mean") - error, pl.col("regret_mean") * (0.01 if log else 0.0)),
        high=pl.col("regret_mean") + error,
    ).filter(pl.col("mean") > (0.0 if log else -1.0))
    names = list(labels.values())
    linear, logarithmic = alt.Scale(zero=True), alt.Scale(type="log", nice=False)
    x_scale = (logarithmic if positive else alt.Scale(type="symlog", constant=1)) if log else linear
    ticks = shown["x"].unique().sort().to_list()
    x_axis = alt.Axis(values=ticks if len(ticks) <= 12 else alt.Undefined, format=",.3~r", labelOverlap=True)
    across = alt.X("x:Q", title=_TITLES.get(x, x), scale=x_scale, axis=x_axis)
    up = alt.Y("mean:Q", title="cumulative regret", axis=alt.Axis(format="~s"), scale=logarithmic if log else linear)
    sizes = len(names)
    colour = alt.Color("label:N", title=None, scale=alt.Scale(domain=names, range=(COLOURS * 9)[:sizes]))
    dash = alt.StrokeDash("label:N", title=None, scale=alt.Scale(domain=names, range=(DASHES * 9)[:sizes]))
    shape = alt.Shape("label:N", title=None, scale=alt.Scale(domain=names, range=(SHAPES * 9)[:sizes]))

    def panel(name: str) -> Any:
        base = alt.Chart(alt.InlineData(shown.filter(pl.col("panel") == name).to_dicts()))
        line = base.mark_line(strokeWidth=2).encode(x=across, y=up, color=colour, strokeDash=dash)
        bars = base.mark_rule().encode(x=across, y=alt.Y("low:Q", title="cumulative regret"), y2="high:Q", color=colour)
        marks = base.mark_point(size=60, filled=True).encode(
            x=across, y=up, color=colour, shape=shape,
            opacity=alt.condition("datum.cut_off", alt.value(0.35), alt.value(1.0)),
            tooltip=["label:N", "x:Q", "mean:Q", "low:Q", "high:Q", "cut_off:N"],
        )  # fmt: skip
        return alt.layer(line, bars, marks).properties(width=400, height=300, title=name)

    grid = alt.concat(*(panel(name) for name in panels), columns=2)
    return Chart(grid.resolve_scale(color="shared", strokeDash="shared", shape="shared"))
