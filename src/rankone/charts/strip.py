"""A strip of moments side by side: who was shown how often since the last one, and what was believed at its end."""

from typing import Any

import altair as alt
import polars as pl

from rankone.charts.chart import COLOURS, Chart, drawn, heat_cells, names_of

_CELL, _WIDTH = 34, 190
_IN, _OUT = "in the race", "eliminated"


def strip_chart(cells: pl.DataFrame, levels: pl.DataFrame, title: str, note: str) -> Chart:
    """Draw each moment as a grid of shares and, below it, the estimates of rows and of columns.

    `cells` has the columns moment, when, row, col, share, left, `levels` moment, when, side ("row" or "col"), name,
    mean, low, high, left. The `note` says what the panels show.

    >>> moment = {"moment": [0, 0], "when": ["decisions 1 to 9"] * 2}
    >>> cells = pl.DataFrame({**moment, "row": ["a", "b"], "col": ["x", "x"], "share": [0.8, 0.2],
    ...                       "left": [True, True]})
    >>> bounds = {"mean": [0.7, 0.2], "low": [0.5, 0.1], "high": [0.9, 0.4], "left": [True, False]}
    >>> rows = pl.DataFrame({**moment, "side": ["row"] * 2, "name": ["a", "b"], **bounds})
    >>> levels = pl.concat([rows, rows.with_columns(side=pl.lit("col"))])
    >>> chart = strip_chart(cells, levels, "a policy", "what it did")
    """
    moments = names_of(cells, "moment")
    if levels["left"].all():  # nobody is ever eliminated: then no bound matters more than others
        levels = levels.with_columns(best=pl.lit(None, pl.Float64))
    else:
        best = pl.col("low").filter("left").max().over("moment", "side")
        levels = levels.with_columns(best=pl.when(pl.col("left").sum().over("moment", "side") > 1).then(best))
    panels = [
        _moment(cells.filter(pl.col("moment") == moment), levels.filter(pl.col("moment") == moment), first=moment == 0)
        for moment in moments
    ]
    # The bundled layout aligns rows of a grid, and cannot align what is nested: so one concat, filled row by row.
    grid = alt.concat(*(moment[part] for part in range(3) for moment in panels), columns=len(moments), spacing=14)
    return Chart(grid.properties(title=alt.TitleParams(title, subtitle=note)))


def _moment(cells: pl.DataFrame, levels: pl.DataFrame, first: bool) -> tuple[Any, Any, Any]:
    rows, cols = names_of(cells, "row"), names_of(cells, "col")
    percent = pl.format("{}%", (100 * pl.col("share")).round(0).cast(pl.Int64))
    nothing = pl.when("left").then(pl.lit("0")).otherwise(pl.lit("×"))
    shown = cells.with_columns(text=pl.when(pl.col("share") >= 0.005).then(percent).otherwise(nothing))
    above = alt.Axis(orient="top", labelAngle=-30, domain=False, ticks=False, title=None)
    base = drawn(shown, x=alt.X("col:N", sort=cols, axis=above), y=alt.Y("row:N", sort=rows, axis=_names(first)))
    shades = alt.Scale(domain=[0, 1], range=["#ffffff", COLOURS[0]], interpolate="rgb")
    colour = alt.Color("share:Q", scale=shades, legend=None)
    top = heat_cells(base, colour, "text:N", "datum.share > 0.6", stroke="#bbb")
    width = max(_WIDTH, _CELL * len(cols))
    top = top.properties(title=cells["when"][0], width=width, height=_CELL * len(rows))
    sides = [_estimates(levels.filter(pl.col("side") == side), width, first) for side in ("row", "col")]
    return top, sides[0], sides[1]


def _names(first: bool) -> alt.Axis:
    """Names stand left of the first moment only."""
    return alt.Axis(labelLimit=110, domain=False, ticks=False, title=None, labels=first)


def _estimates(levels: pl.DataFrame, width: int, first: bool) -> Any:
    shown = levels.with_columns(state=pl.when("left").then(pl.lit(_IN)).otherwise(pl.lit(_OUT)))
    order, x = shown["name"].to_list(), alt.Scale(domain=[0, 1])

    def by_state(kind: Any, inside: Any, out: Any) -> Any:
        return kind("state:N", scale=alt.Scale(domain=[_IN, _OUT], range=[inside, out]), legend=None)

    y = alt.Y("name:N", sort=order, axis=_names(first))
    base = drawn(shown, y=y, color=by_state(alt.Color, "#000000", "#999999"))
    low = "low:Q" if shown["low"].is_not_null().any() else "mean:Q"
    bars = base.mark_rule(strokeWidth=3).encode(
        x=alt.X(low, scale=x, title=None, axis=alt.Axis(values=[0, 0.5, 1])),
        x2="high:Q",
        strokeDash=by_state(alt.StrokeDash, [1, 0], [3, 3]),
    )
    dots = base.mark_point(filled=True, size=55, opacity=1)
    layers = [bars, dots.encode(x=alt.X("mean:Q", scale=x, title=None), shape=by_state(alt.Shape, "circle", "cross"))]
    if shown["best"].is_not_null().any():
        mark = drawn(shown.select("best").head(1), x=alt.X("best:Q", scale=x, title=None))
        layers.append(mark.mark_rule(strokeDash=[2, 2]).encode(color=alt.value(COLOURS[1])))
    return alt.layer(*layers).properties(width=width, height=20 * len(order))
