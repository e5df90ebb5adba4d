"""Factors and their levels: how good each level is beside the best one, and who was shown when; a row per factor."""

from __future__ import annotations

import textwrap
from typing import Any

import altair as alt
import polars as pl

from rankone.charts.chart import COLOURS, SHAPES, Chart, short_axis

_WIDTH, _LINE, _SHORTEST = 260, 24, 90
_MOST, _LONGEST, _MOST_TIMES = 7, 90, 50
_GREY = "#777777"
_NOTE = (
    "Left: click rates with each level, as a share of the best level's. "
    "Right: shares of the decisions of one run over time, levels in the same order from the top."
)


def factor_chart(levels: pl.DataFrame, traffic: pl.DataFrame, title: str) -> Chart:
    """Draw a row of panels for each factor: its levels' click rates as shares of the best one's, then who was shown.

    `levels` has the columns factor, level, ratio (None where the level may not be shown with the best of the others),
    `traffic` policy, factor, level, step (the end of a stretch of decisions) and share (of the stretch). Beyond seven
    levels of a factor, those that were shown least are drawn as one.

    >>> levels = pl.DataFrame({"factor": ["headline"] * 2, "level": ["A", "B"], "ratio": [1.0, 0.7]})
    >>> traffic = pl.DataFrame({"policy": ["uts"] * 4, "factor": ["headline"] * 4, "level": ["A", "B"] * 2,
    ...                         "step": [50, 50, 100, 100], "share": [0.6, 0.4, 0.9, 0.1]})
    >>> chart = factor_chart(levels, traffic, "Headlines")
    """
    policies = traffic["policy"].unique(maintain_order=True).to_list()
    panels = []
    for (factor,), part in levels.group_by("factor", maintain_order=True):
        seen = _fewer_times(traffic.filter(pl.col("factor") == factor))
        joined = part.height > _MOST
        part, seen = _fewer_levels(part, seen) if joined else (part, seen)
        marks = _Marks(part["level"].to_list(), joined)
        panels.append(_ratios(part, str(factor), marks))
        panels += [_shares(seen.filter(pl.col("policy") == policy), policy, marks) for policy in policies]
    # The bundled layout aligns rows of a grid, and cannot align what is nested: so one concat, filled row by row.
    grid = alt.concat(*panels, columns=1 + len(policies), spacing=18).resolve_scale(
        color="independent", shape="independent"
    )
    note = textwrap.wrap(_NOTE, _LONGEST)
    return Chart(grid.properties(title=alt.TitleParams(textwrap.wrap(title, _LONGEST), subtitle=note)))


class _Marks:
    """Colours and shapes of the levels of a factor."""

    def __init__(self, names: list[str], joined: bool) -> None:
        self.names = names
        own = len(names) - joined
        self.colours = alt.Scale(domain=names, range=[*COLOURS[:own], _GREY][: len(names)])
        self.shapes = alt.Scale(domain=names, range=[*SHAPES[:own], "stroke"][: len(names)])

    @property
    def height(self) -> int:
        return max(_SHORTEST, _LINE * len(self.names))


def _fewer_times(traffic: pl.DataFrame) -> pl.DataFrame:
    """Join stretches that are too short to be seen."""
    steps = traffic["step"].unique().sort()
    before = pl.DataFrame({"step": steps, "length": steps.diff().fill_null(steps[0])})
    every = -(-len(steps) // _MOST_TIMES)
    before = before.with_row_index("place").with_columns(
        end=pl.col("step").max().over(pl.col("place") // every), joined=pl.col("place") // every
    )
    shown = traffic.join(before, on="step", maintain_order="left")
    return (
        shown.group_by("policy", "level", "end", maintain_order=True)
        .agg(share=(pl.col("share") * pl.col("length")).sum() / pl.col("length").sum())
        .rename({"end": "step"})
    )


def _fewer_levels(levels: pl.DataFrame, traffic: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Keep the levels that were shown most, in their order, and join the others."""
    most = traffic.group_by("level").agg(pl.col("share").sum()).sort("share", descending=True).head(_MOST - 1)["level"]
    name = f"{levels.height - _MOST + 1} others, at best"
    kept = levels.filter(pl.col("level").is_in(most.implode()))
    best = levels.filter(~pl.col("level").is_in(most.implode()))["ratio"].max()
    kept = pl.concat([kept, kept.head(1).with_columns(level=pl.lit(name), ratio=pl.lit(best, pl.Float64))])
    shown = traffic.with_columns(
        level=pl.when(pl.col("level").is_in(most.implode())).then("level").otherwise(pl.lit(name))
    )
    return kept, shown.group_by("policy", "level", "step", maintain_order=True).agg(pl.col("share").sum())


def _ratios(levels: pl.DataFrame, factor: str, marks: _Marks) -> Any:
    text = (
        pl.when(pl.col("ratio").is_null())
        .then(pl.lit("not with the best"))
        .otherwise(pl.format("{} %", (100 * pl.col("ratio")).round(0).cast(pl.Int64)))
    )
    shown = levels.with_columns(text=text, at=pl.col("ratio").fill_null(0.0), zero=pl.lit(0.0))
    base = alt.Chart(alt.InlineData(shown.to_dicts())).encode(
        y=alt.Y("level:N", sort=marks.names, title=None, axis=alt.Axis(labelLimit=150, domain=False, ticks=False)),
        color=alt.Color("level:N", scale=marks.colours, legend=None),
    )
    scale = alt.Scale(domain=[0, 1.25])
    axis = alt.Axis(values=[0, 0.5, 1], format=".0%")
    lines = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("zero:Q", scale=scale, title="share of the best level's rate", axis=axis), x2="at:Q"
    )
    shape = alt.Shape("level:N", scale=marks.shapes, legend=None)
    dots = base.mark_point(filled=True, size=90, opacity=1).encode(x=alt.X("ratio:Q", scale=scale), shape=shape)
    texts = base.mark_text(align="left", dx=9, fontSize=12).encode(x=alt.X("at:Q", scale=scale), text="text:N")
    return alt.layer(lines, dots, texts).properties(
        width=_WIDTH, height=marks.height, title=alt.TitleParams(factor, frame="group")
    )


def _shares(traffic: pl.DataFrame, policy: str, marks: _Marks) -> Any:
    """Areas on top of each other, the first level on top; a stretch of decisions has one share."""
    order = {name: index for index, name in enumerate(marks.names)}
    placed = traffic.with_columns(place=pl.col("level").replace_strict(order)).sort("step", "place")
    below = 1.0 - pl.col("share").cum_sum().over("step")
    areas = placed.with_columns(low=below.clip(0.0), high=(below + pl.col("share")).clip(upper_bound=1.0))
    begin = areas.filter(pl.col("step") == pl.col("step").min()).with_columns(step=pl.lit(0, areas.schema["step"]))
    percent = alt.Axis(format=".0%", tickCount=3)
    base = alt.Chart(alt.InlineData(pl.concat([begin, areas]).to_dicts()))
    area = base.mark_area(interpolate="step-before", opacity=0.85, stroke="white", strokeWidth=0.7).encode(
        x=alt.X("step:Q", title="decisions", axis=short_axis(tickCount=4)),
        y=alt.Y("low:Q", title="share of decisions", scale=alt.Scale(domain=[0, 1]), axis=percent),
        y2="high:Q",
        color=alt.Color("level:N", scale=marks.colours, legend=None),
        tooltip=["level:N", "step:Q", alt.Tooltip("share:Q", format=".1%")],
    )
    return area.properties(width=_WIDTH, height=marks.height, title=alt.TitleParams(policy, frame="group"))
