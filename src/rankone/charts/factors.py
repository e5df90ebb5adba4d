"""Factors and their levels, a panel each: how good a level is beside the best one."""

import textwrap
from typing import Any

import altair as alt
import polars as pl

from rankone.charts.chart import COLOURS, Chart, drawn

_WIDE, _LINE, _MOST_POINTS = 420, 24, 30
_LONGEST_TITLE = 64  # a longer one would make the picture wider than its panels
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
    layers = alt.layer(bars, dots)
    return layers.properties(width=_WIDE, height=_LINE * len(names), title=alt.TitleParams(title, frame="group"))
