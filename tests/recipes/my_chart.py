"""A bar for each name."""

from __future__ import annotations

import altair as alt
import polars as pl

from rankone.charts.chart import Chart


def my_chart(table: pl.DataFrame, name: str, value: str) -> Chart:
    """Draw a bar for each name.

    Args:
        table: a line per bar.
        name: column of the names.
        value: column of the numbers.

    >>> chart = my_chart(pl.DataFrame({"policy": ["uts", "ucb1"], "regret": [1.0, 7.5]}), name="policy", value="regret")
    """
    bars = alt.Chart(alt.InlineData(table.to_dicts())).mark_bar().encode(x=f"{value}:Q", y=f"{name}:N")
    return Chart(alt.layer(bars))
