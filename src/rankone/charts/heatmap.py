"""A heat map of ratios: a cell per pair of names, coloured on a log scale, its number written in it."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from rankone.charts.chart import ON_LIGHT, Chart

_CELL_WIDTH, _CELL_HEIGHT = 62, 24


def heatmap(table: pl.DataFrame, x: str, y: str, value: str, order: Sequence[str], title: str) -> Chart:
    """Draw `value` (positive, on a log scale) of each pair of names in the columns `x` and `y`.

    Args:
        table: a row per cell.
        x: column of the names across; they stand in the given `order`.
        y: column of the names down, in the order of the table.
        value: column of the numbers; a missing one leaves its cell empty.
        order: names across, from left to right.
        title: what the numbers are.

    >>> table = pl.DataFrame({"policy": ["uts", "ucb1"], "problem": ["2x2", "2x2"], "ratio": [1.0, 7.5]})
    >>> chart = heatmap(table, x="policy", y="problem", value="ratio", order=["uts", "ucb1"], title="regret, uts = 1")
    """
    shown = table.select(pl.col(x), pl.col(y), pl.col(value).alias("value")).filter(pl.col("value") > 0.0)
    shown = shown.with_columns(text=pl.col("value").map_elements(short_number, return_dtype=pl.String))
    low, high = (float(shown["value"].quantile(share) or 1.0) for share in (0.0, 1.0))
    names = table[y].unique(maintain_order=True).to_list()
    base = alt.Chart(alt.InlineData(shown.to_dicts())).encode(
        x=alt.X(f"{x}:N", sort=list(order), title=None, axis=alt.Axis(orient="top", labelAngle=-40, labelLimit=200)),
        y=alt.Y(f"{y}:N", sort=names, title=None, axis=alt.Axis(labelLimit=220)),
    )
    scale = alt.Scale(type="log", domain=[low, max(high, low * 1.01)], scheme="viridis", reverse=True)
    middle = (low * max(high, low * 1.01)) ** 0.5
    cells = base.mark_rect(stroke="white").encode(color=alt.Color("value:Q", scale=scale, legend=None))
    numbers = base.mark_text(fontSize=11).encode(
        text="text:N", color=alt.condition(f"datum.value > {middle}", alt.value("white"), alt.value(ON_LIGHT))
    )
    size = {"width": _CELL_WIDTH * len(order), "height": _CELL_HEIGHT * len(names)}
    return Chart(alt.layer(cells, numbers).properties(title=title, **size))


def short_number(value: float) -> str:
    """Write a positive number with two or three digits.

    >>> short_number(0.874), short_number(12.34), short_number(1234.5)
    ('0.87', '12', '1.2k')
    """
    if value >= 999.5:
        return f"{value / 1000:.1f}k" if value < 99_950 else f"{value / 1000:.0f}k"
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2f}" if value < 0.995 else f"{value:.1f}"
