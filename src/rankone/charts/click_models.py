"""Fitted click models as in the paper's Figure 2a and 2b: sorted attraction, sorted examination, and its intervals."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from rankone.charts.chart import COLOURS, Chart, Marks, drawn

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
    names, shown = list(queries)[:MOST_QUERIES], list(queries)[:MOST_QUERIES]
    if "query" not in examination.columns:
        shown, examination = ["all queries"], examination.with_columns(query=pl.lit("all queries"))
    by_item = _ranked(attraction.filter(pl.col("query").is_in(names)), "attraction")
    by_place = _ranked(examination.filter(pl.col("query").is_in(shown)), "examination")
    known = "low" in by_place.columns
    label = "examination, 95% interval" if known else "examination probability"
    left = _lines(by_item, names, "rank", "attraction", "item, best first", "attraction probability", False)
    middle = _lines(by_place, shown, "rank", "examination", "position, best first", "examination probability", True)
    right = _lines(by_place, shown, "position", "examination", "position", label, True)
    if known:
        bars = drawn(by_place, x=_places(by_place, "position", "position"), color=_marks(shown).colour)
        bars = bars.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q", title=label), y2="high:Q")
        right = alt.layer(right, bars)
    titles = ("a. Attraction, sorted", "b. Examination, sorted", "c. Examination by position")
    panels = zip((left, middle, right), titles, strict=True)
    together = alt.hconcat(*(panel.properties(width=280, height=240, title=title) for panel, title in panels))
    together = together.resolve_scale(color="independent" if shown != names else "shared")
    total = attraction["query"].n_unique()
    if len(names) < total:
        together = together.properties(title=f"{len(names)} of {total:,} queries: {', '.join(names)}")
    return Chart(together)


def _ranked(table: pl.DataFrame, value: str) -> pl.DataFrame:
    """Add each value's rank within its query, the largest first."""
    rank = pl.col(value).rank("ordinal", descending=True).over("query")
    return table.with_columns(rank=rank).sort("query", "rank")


def _marks(names: Sequence[str]) -> Marks:
    return Marks("query", names, title="query", sort=None)


def _places(table: pl.DataFrame, x: str, title: str) -> Any:
    return alt.X(f"{x}:Q", title=title, axis=alt.Axis(values=table[x].unique().sort().to_list(), format="d"))


def _lines(table: pl.DataFrame, names: Sequence[str], x: str, y: str, x_title: str, y_title: str, points: bool) -> Any:
    marks = _marks(names)
    across = _places(table, x, x_title) if points else alt.X(f"{x}:Q", title=x_title, axis=alt.Axis(format="d"))
    up = alt.Y(f"{y}:Q", title=y_title, scale=alt.Scale(domain=[0, 1]))
    base = drawn(table, x=across, y=up, color=marks.colour)
    line = base.mark_line(strokeWidth=2).encode(strokeDash=marks.dash())
    return alt.layer(line, base.mark_point(filled=True, size=45).encode(shape=marks.shape)) if points else line
