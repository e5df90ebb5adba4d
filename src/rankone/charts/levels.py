"""Levels against the best of their factor: a point with its interval each, on a ratio scale; a panel per factor."""

from __future__ import annotations

import textwrap
from typing import Any

import altair as alt
import polars as pl

from rankone.charts.chart import COLOURS, Chart

_WIDTH, _LINE, _MOST = 420, 24, 30
_LONGEST = 64  # letters of a title on one line: longer ones would make the picture wider than its panels, or be cut
_LEFT_OF = 0.05  # lower ends below this are drawn here: a ratio scale has no 0
_STATES = ("may be the best", "not the best")


def level_chart(levels: pl.DataFrame, title: str, subtitle: str) -> Chart:
    """Draw the ratio of each level to the best one of its factor.

    `levels` has the columns factor, level, ratio (None where it is not known), low and high.

    >>> levels = pl.DataFrame({"factor": ["headline"] * 2, "level": ["A", "B"], "ratio": [1.0, 0.7],
    ...                        "low": [0.95, 0.5], "high": [1.0, 0.9]})
    >>> chart = level_chart(levels, "Headlines", "95 % intervals")
    """
    left = max(_LEFT_OF, min(0.5, min(levels["low"].to_list()) * 0.9))
    panels = []
    for (factor,), part in levels.group_by("factor", maintain_order=True):
        shown = (
            part.sort(pl.col("ratio").fill_nan(None), descending=True, nulls_last=True)
            .head(_MOST)
            .with_columns(
                pl.col("low").clip(left),
                pl.col("ratio").fill_nan(None).clip(left),
                state=pl.when(pl.col("high") < 1.0).then(pl.lit(_STATES[1])).otherwise(pl.lit(_STATES[0])),
            )
        )
        more = f" (the first {_MOST} of {part.height})" if part.height > _MOST else ""
        panels.append(_panel(shown, f"{factor}{more}", left))
    lines = textwrap.wrap(title, _LONGEST)
    return Chart(alt.vconcat(*panels).properties(title=alt.TitleParams(lines, subtitle=subtitle)))


def _panel(shown: pl.DataFrame, title: str, left: float) -> Any:
    scale = alt.Scale(type="log", domain=[left, 1.02], nice=False, clamp=True)
    base = alt.Chart(alt.InlineData(shown.to_dicts())).encode(
        y=alt.Y("level:N", sort=shown["level"].to_list(), title=None, axis=alt.Axis(labelLimit=220)),
        color=alt.Color(
            "state:N",
            title=None,
            scale=alt.Scale(domain=list(_STATES), range=[COLOURS[0], "#888888"]),
            legend=alt.Legend(orient="top"),
        ),
    )
    ticks = [tick for tick in (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0) if tick >= left]
    axis = alt.Axis(values=ticks, format=".0%")
    bars = base.mark_rule(strokeWidth=3).encode(
        x=alt.X("low:Q", scale=scale, title="click rate, as a share of the best level's", axis=axis), x2="high:Q"
    )
    shape = alt.Shape("state:N", scale=alt.Scale(domain=list(_STATES), range=["circle", "cross"]), title=None)
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("ratio:Q", scale=scale), shape=shape)
    return alt.layer(bars, dots).properties(
        width=_WIDTH, height=_LINE * shown.height, title=alt.TitleParams(title, frame="group")
    )
