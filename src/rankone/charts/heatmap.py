"""Heat maps: of ratios on a log scale, and of deviations from a fit, blue below it and orange above."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from rankone.charts.chart import Chart, drawn, grid_axes, heat_cells, names_of

_CELL_WIDTH, _CELL_HEIGHT = 62, 24


def heatmap(table: pl.DataFrame, x: str, y: str, value: str, order: Sequence[str], title: str) -> Chart:
    """Draw `value` (positive, on a log scale) of each pair of names in the columns `x` and `y`.

    A row of the table is a cell, which a missing number leaves empty. Names across stand in the given `order`, those
    down in that of the table.

    >>> table = pl.DataFrame({"policy": ["uts", "ucb1"], "problem": ["2x2", "2x2"], "ratio": [1.0, 7.5]})
    >>> chart = heatmap(table, x="policy", y="problem", value="ratio", order=["uts", "ucb1"], title="regret, uts = 1")
    """
    shown = table.select(pl.col(x), pl.col(y), pl.col(value).alias("value")).filter(pl.col("value") > 0.0)
    shown = shown.with_columns(text=pl.col("value").map_elements(short_number, return_dtype=pl.String))
    low, high = (float(shown["value"].quantile(share) or 1.0) for share in (0.0, 1.0))
    names, high = names_of(table, y), max(high, low * 1.01)
    scale = alt.Scale(type="log", domain=[low, high], scheme="viridis", reverse=True)
    colour = alt.Color("value:Q", scale=scale, legend=None)
    cells = heat_cells(
        drawn(shown, **grid_axes(x, y, order, names)), colour, "text:N", f"datum.value > {(low * high) ** 0.5}"
    )
    return Chart(cells.properties(title=title, width=_CELL_WIDTH * len(order), height=_CELL_HEIGHT * len(names)))


def short_number(value: float) -> str:
    """Write a positive number with two or three digits.

    >>> short_number(0.874), short_number(12.34), short_number(1234.5)
    ('0.87', '12', '1.2k')
    """
    if value >= 999.5:
        return f"{value / 1000:.1f}k" if value < 99_950 else f"{value / 1000:.0f}k"
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2f}" if value < 0.995 else f"{value:.1f}"


MOST_LINES = 40
_DEVIATION_WIDTH, _DEVIATION_HEIGHT, _LEAST_WIDTH = 58, 22, 300
_STRONG = 4.0  # deviations beyond this have full colour


def residual_chart(cells: pl.DataFrame, title: str) -> Chart:
    """Draw the deviation of each pair from its fitted rate, in standard errors.

    `cells` has the columns row, col, outcomes, clicks, rate, rank_one_rate and deviation.

    >>> cells = pl.DataFrame({"row": ["a", "b"], "col": ["1", "1"], "outcomes": [9, 9], "clicks": [3, 6],
    ...                       "rate": [0.33, 0.67], "rank_one_rate": [0.4, 0.6], "deviation": [-0.4, 0.4]})
    >>> chart = residual_chart(cells, "rank 1 against every pair for itself")
    """
    size = cells.with_columns(pl.col("deviation").abs().alias("size"))
    kept = {side: _lines(size, side) for side in ("row", "col")}
    shown = cells.filter(*(pl.col(side).is_in(names) for side, names in kept.items()))
    hidden = [
        f"the {MOST_LINES} {what} that deviate most of {cells[side].n_unique():,}"
        for side, what in (("row", "rows"), ("col", "columns"))
        if cells[side].n_unique() > MOST_LINES
    ]
    subtitle = ["Standard errors above (orange) or below (blue) the rate without interaction"]
    subtitle += [f"Shown: {' and '.join(hidden)}"] if hidden else []
    # Rounded here: a deviation of -0.04 would be written as "-0.0".
    rounded = pl.col("deviation").round(1)
    shown = shown.with_columns(pl.when(rounded == 0.0).then(0.0).otherwise(rounded).alias("written"))
    tooltip = ["row:N", "col:N", "outcomes:Q", "clicks:Q", "rate:Q", "rank_one_rate:Q", "deviation:Q"]
    base = drawn(shown, **grid_axes("col", "row", kept["col"], kept["row"]), tooltip=tooltip)
    ends, colours = [-_STRONG, 0.0, _STRONG], ["#0072b2", "#ffffff", "#d55e00"]
    scale = alt.Scale(domain=ends, range=colours, clamp=True, interpolate="rgb")
    colour, text = alt.Color("deviation:Q", scale=scale, title="standard errors"), alt.Text("written:Q", format="+.1f")
    layers = heat_cells(base, colour, text, f"abs(datum.deviation) > {0.75 * _STRONG}", stroke="#ddd")
    width, height = max(_LEAST_WIDTH, _DEVIATION_WIDTH * len(kept["col"])), _DEVIATION_HEIGHT * len(kept["row"])
    return Chart(layers.properties(title=alt.TitleParams(title, subtitle=subtitle), width=width, height=height))


def _lines(cells: pl.DataFrame, side: str) -> list[str]:
    """Names of a side in natural order; of too many only those with the largest deviations."""
    names = cells[side].unique(maintain_order=True)
    if len(names) > MOST_LINES:
        names = cells.sort("size", descending=True)[side].unique(maintain_order=True).head(MOST_LINES)
    digits = names.str.extract(r"(\d+)$").cast(pl.Int64, strict=False).fill_null(-1)
    order = pl.DataFrame({"name": names, "text": names.str.replace(r"\d+$", ""), "number": digits})
    return order.sort("text", "number")["name"].to_list()
