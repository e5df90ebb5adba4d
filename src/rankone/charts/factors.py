"""Factors and their levels, a row of panels each: how good a level is beside the best one, and who was shown when."""

import textwrap
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from rankone.charts.chart import COLOURS, Chart, Marks, drawn, names_of, short_axis

_WIDTH, _LINE, _SHORTEST = 260, 24, 90
_MOST, _LONGEST, _MOST_TIMES = 7, 90, 50
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
    policies = names_of(traffic, "policy")
    panels = []
    for (factor,), part in levels.group_by("factor", maintain_order=True):
        seen = _fewer_times(traffic.filter(pl.col("factor") == factor))
        joined = part.height > _MOST
        part, seen = _fewer_levels(part, seen) if joined else (part, seen)
        names = part["level"].to_list()
        marks = Marks("level", names[:-1] if joined else names, names[-1] if joined else None, legend=None)
        panels.append(_ratios(part, str(factor), marks))
        panels += [_shares(seen.filter(pl.col("policy") == policy), policy, marks) for policy in policies]
    # The bundled layout aligns rows of a grid, and cannot align what is nested: so one concat, filled row by row.
    grid = alt.concat(*panels, columns=1 + len(policies), spacing=18).resolve_scale(
        color="independent", shape="independent"
    )
    note = textwrap.wrap(_NOTE, _LONGEST)
    return Chart(grid.properties(title=alt.TitleParams(textwrap.wrap(title, _LONGEST), subtitle=note)))


def _fewer_times(traffic: pl.DataFrame) -> pl.DataFrame:
    """Join stretches that are too short to be seen."""
    steps = traffic["step"].unique().sort()
    every = -(-len(steps) // _MOST_TIMES)
    lengths = pl.DataFrame({"step": steps, "length": steps.diff().fill_null(steps[0])}).with_row_index()
    lengths = lengths.with_columns(end=pl.col("step").max().over(pl.col("index") // every))
    shown = traffic.join(lengths, on="step", maintain_order="left").drop("step").rename({"end": "step"})
    share = (pl.col("share") * pl.col("length")).sum() / pl.col("length").sum()
    return shown.group_by("policy", "level", "step", maintain_order=True).agg(share=share)


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


def _ratios(levels: pl.DataFrame, factor: str, marks: Marks) -> Any:
    percent = pl.format("{}%", (100 * pl.col("ratio")).round(0).cast(pl.Int64))
    text = pl.when(pl.col("ratio").is_null()).then(pl.lit("not with the best")).otherwise(percent)
    shown = levels.with_columns(text=text, at=pl.col("ratio").fill_null(0.0), zero=pl.lit(0.0))
    axis = alt.Axis(labelLimit=150, domain=False, ticks=False)
    base = drawn(shown, y=alt.Y("level:N", sort=marks.names, title=None, axis=axis), color=marks.colour)
    scale = alt.Scale(domain=[0, 1.25])
    shares = alt.Axis(values=[0, 0.5, 1], format=".0%")
    across = alt.X("zero:Q", scale=scale, title="share of the best level's rate", axis=shares)
    lines = base.mark_rule(strokeWidth=2).encode(x=across, x2="at:Q")
    dots = base.mark_point(filled=True, size=90, opacity=1).encode(x=alt.X("ratio:Q", scale=scale), shape=marks.shape)
    texts = base.mark_text(align="left", dx=9, fontSize=12).encode(x=alt.X("at:Q", scale=scale), text="text:N")
    return _panel(alt.layer(lines, dots, texts), factor, _WIDTH, marks.names)


def _panel(layers: Any, title: str, width: int, levels: Sequence[str], shortest: int = _SHORTEST) -> Any:
    height = max(shortest, _LINE * len(levels))
    return layers.properties(width=width, height=height, title=alt.TitleParams(title, frame="group"))


def _shares(traffic: pl.DataFrame, policy: str, marks: Marks) -> Any:
    """Areas on top of each other, the first level on top; a stretch of decisions has one share."""
    order = {name: index for index, name in enumerate(marks.names)}
    ordered = traffic.with_columns(order=pl.col("level").replace_strict(order)).sort("step", "order")
    below = 1.0 - pl.col("share").cum_sum().over("step")
    areas = ordered.with_columns(low=below.clip(0.0), high=(below + pl.col("share")).clip(upper_bound=1.0))
    begin = areas.filter(pl.col("step") == pl.col("step").min()).with_columns(step=pl.lit(0, areas.schema["step"]))
    axis = alt.Axis(format=".0%", tickCount=3)
    base = drawn(
        pl.concat([begin, areas]),
        x=alt.X("step:Q", title="decisions", axis=short_axis(tickCount=4)),
        y=alt.Y("low:Q", title="share of decisions", scale=alt.Scale(domain=[0, 1]), axis=axis),
        y2="high:Q",
        color=marks.colour,
        tooltip=["level:N", "step:Q", alt.Tooltip("share:Q", format=".1%")],
    )
    area = base.mark_area(interpolate="step-before", opacity=0.85, stroke="white", strokeWidth=0.7)
    return _panel(area, policy, _WIDTH, marks.names)


_WIDE, _MOST_POINTS, _LONGEST_TITLE = 420, 30, 64  # a longer title would make the picture wider than its panels
_LEFT_OF = 0.05  # lower ends below this are drawn here: a ratio scale has no 0
_STATES = ["may be the best", "not the best"]


def level_chart(levels: pl.DataFrame, title: str, subtitle: str) -> Chart:
    """Draw the ratio of each level to the best one of its factor.

    `levels` has the columns factor, level, ratio (None where it is not known), low and high.

    >>> levels = pl.DataFrame({"factor": ["headline"] * 2, "level": ["A", "B"], "ratio": [1.0, 0.7],
    ...                        "low": [0.95, 0.5], "high": [1.0, 0.9]})
    >>> chart = level_chart(levels, "Headlines", "95% intervals")
    """
    left = max(_LEFT_OF, min(0.5, min(levels["low"].to_list()) * 0.9))
    panels = []
    for (factor,), part in levels.group_by("factor", maintain_order=True):
        state = pl.when(pl.col("high") < 1.0).then(pl.lit(_STATES[1])).otherwise(pl.lit(_STATES[0]))
        shown = part.with_columns(pl.col("ratio").fill_nan(None)).sort("ratio", descending=True, nulls_last=True)
        shown = shown.head(_MOST_POINTS).with_columns(pl.col("low", "ratio").clip(left), state=state)
        more = f" (the first {_MOST_POINTS} of {part.height})" if part.height > _MOST_POINTS else ""
        panels.append(_points(shown, f"{factor}{more}", left))
    lines = textwrap.wrap(title, _LONGEST_TITLE)
    return Chart(alt.vconcat(*panels).properties(title=alt.TitleParams(lines, subtitle=subtitle)))


def _points(shown: pl.DataFrame, title: str, left: float) -> Any:
    names, states = shown["level"].to_list(), alt.Scale(domain=_STATES, range=[COLOURS[0], "#888888"])
    y = alt.Y("level:N", sort=names, title=None, axis=alt.Axis(labelLimit=220))
    colour = alt.Color("state:N", title=None, scale=states, legend=alt.Legend(orient="top"))
    base, scale = drawn(shown, y=y, color=colour), alt.Scale(type="log", domain=[left, 1.02], nice=False, clamp=True)
    ticks = [tick for tick in (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0) if tick >= left]
    axis, about = alt.Axis(values=ticks, format=".0%"), "click rate, as a share of the best level's"
    bars = base.mark_rule(strokeWidth=3).encode(x=alt.X("low:Q", scale=scale, title=about, axis=axis), x2="high:Q")
    shape = alt.Shape("state:N", scale=alt.Scale(domain=_STATES, range=["circle", "cross"]), title=None)
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("ratio:Q", scale=scale), shape=shape)
    return _panel(alt.layer(bars, dots), title, _WIDE, names, shortest=0)
