"""Every run for itself: a mark per run, a line per policy, a panel per problem. Means hide runs that went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from rankone.charts.axes import short_axis
from rankone.charts.chart import COLOURS, Chart


def spread_chart(table: pl.DataFrame, columns: int = 3, titles: Mapping[str, str] | None = None) -> Chart:
    """Draw the final regret of every run and, as a diamond, the median.

    Args:
        table: problem, policy, run, regret; a row per run.
        columns: panels in a row.
        titles: what to write above the panel of a problem, where that is not its name.

    >>> runs = {"problem": ["p"] * 3, "policy": ["a", "a", "b"], "run": [0, 1, 0], "regret": [3.0, 4.0, 7.0]}
    >>> chart = spread_chart(pl.DataFrame(runs))
    """
    policies = table["policy"].unique(maintain_order=True).to_list()
    x = alt.X("regret:Q", title="cumulative regret of a run", axis=short_axis(tickCount=5))
    y = alt.Y("policy:N", sort=policies, title=None, axis=alt.Axis(labelLimit=170))

    def panel(name: str) -> Any:
        here = table.filter(pl.col("problem") == name)
        runs = alt.Chart(alt.InlineData(here.to_dicts())).mark_tick(thickness=2, opacity=0.55, color=COLOURS[0])
        middle = here.group_by("policy", maintain_order=True).agg(pl.col("regret").median())
        median = alt.Chart(alt.InlineData(middle.to_dicts())).mark_point(
            shape="diamond", filled=True, size=90, color="black", opacity=1
        )
        tooltip = ["policy:N", "run:Q", alt.Tooltip("regret:Q", format=",.1f")]
        layers = alt.layer(runs.encode(x=x, y=y, tooltip=tooltip), median.encode(x=x, y=y))
        return layers.properties(title=(titles or {}).get(name, name), width=330, height=24 * len(policies))

    problems = table["problem"].unique(maintain_order=True).to_list()
    about = alt.TitleParams("Marks: one run each. Diamonds: medians.", fontSize=12, fontWeight="normal", color="#444")
    grid = alt.concat(*(panel(name) for name in problems), columns=columns, title=about)
    return Chart(grid.resolve_scale(x="independent"))
