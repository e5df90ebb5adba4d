"""Fitted click models as in the paper's Figure 2a and 2b: sorted attraction, sorted examination, and its intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from rankone.charts.chart import COLOURS, DASHES, SHAPES, Chart

MOST_QUERIES = len(COLOURS)


def click_model_chart(attraction: pl.DataFrame, examination: pl.DataFrame, queries: Sequence[str]) -> Chart:
    """Draw sorted attraction, sorted examination, and examination by position with its intervals.

    `attraction` has the columns query and attraction, `examination` position, examination, query (without it, one curve
    for all queries), and low and high where intervals are drawn. Of more than eight queries the first are shown.

    >>> attraction = pl.DataFrame({"query": ["q", "q"], "attraction": [0.3, 0.6]})
    >>> examination = pl.DataFrame({"query": ["q", "q"], "position": [1, 2], "examination": [1.0, 0.4],
    ...                             "low": [0.9, 0.3], "high": [1.0, 0.5]})
    >>> chart = click_model_chart(attraction, examination, ["q"])
    """
    names = list(queries)[:MOST_QUERIES]
    curves = examination if "query" in examination.columns else examination.with_columns(query=pl.lit("all queries"))
    shown = curves["query"].unique(maintain_order=True).to_list() if "query" not in examination.columns else names
    by_item = _ranked(attraction.filter(pl.col("query").is_in(names)), "attraction")
    by_place = _ranked(curves.filter(pl.col("query").is_in(shown)), "examination")
    left = _lines(by_item, names, "rank", "attraction", "item, best first", "attraction probability", False)
    middle = _lines(by_place, shown, "rank", "examination", "position, best first", "examination probability", True)
    known = "low" in by_place.columns
    label = "examination, 95 % interval" if known else "examination probability"
    right = _lines(by_place, shown, "position", "examination", "position", label, True)
    bars = (
        alt.Chart(alt.InlineData(by_place.to_dicts()))
        .mark_rule(opacity=0.5)
        .encode(
            x=_places(by_place, "position", "position"),
            y=alt.Y("low:Q", title=label),
            y2="high:Q",
            color=_colour(shown),
        )
    )
    panels = [
        panel.properties(width=280, height=240, title=title)
        for panel, title in (
            (left, "a. Attraction, sorted"),
            (middle, "b. Examination, sorted"),
            (alt.layer(right, bars) if known else right, "c. Examination by position"),
        )
    ]
    together = alt.hconcat(*panels).resolve_scale(color="independent" if shown != names else "shared")
    total = attraction["query"].n_unique()
    title = f"{len(names)} of {total:,} queries: {', '.join(names)}" if len(names) < total else ""
    return Chart(together.properties(title=title) if title else together)


def _ranked(table: pl.DataFrame, value: str) -> pl.DataFrame:
    """Add each value's rank within its query, the largest first."""
    return table.with_columns(pl.col(value).rank("ordinal", descending=True).over("query").alias("rank")).sort(
        "query", "rank"
    )


def _colour(names: Sequence[str]) -> Any:
    return alt.Color(
        "query:N", scale=alt.Scale(domain=list(names), range=COLOURS[: len(names)]), title="query", sort=None
    )


def _places(table: pl.DataFrame, x: str, title: str) -> Any:
    """An axis that marks every place."""
    places = [int(place) for place in table[x].unique().sort()]
    return alt.X(f"{x}:Q", title=title, axis=alt.Axis(values=places, format="d"))


def _lines(table: pl.DataFrame, names: Sequence[str], x: str, y: str, x_title: str, y_title: str, points: bool) -> Any:
    base = alt.Chart(alt.InlineData(table.to_dicts())).encode(
        x=_places(table, x, x_title) if points else alt.X(f"{x}:Q", title=x_title, axis=alt.Axis(format="d")),
        y=alt.Y(f"{y}:Q", title=y_title, scale=alt.Scale(domain=[0, 1])),
        color=_colour(names),
    )
    dash = alt.StrokeDash(
        "query:N", scale=alt.Scale(domain=list(names), range=DASHES[: len(names)]), title="query", sort=None
    )
    line = base.mark_line(strokeWidth=2).encode(strokeDash=dash)
    if not points:
        return line
    shape = alt.Shape(
        "query:N", scale=alt.Scale(domain=list(names), range=SHAPES[: len(names)]), title="query", sort=None
    )
    return alt.layer(line, base.mark_point(filled=True, size=45).encode(shape=shape))
