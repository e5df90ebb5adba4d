"""How far a model of clicks can be believed: clicks as it predicts them against clicks as observed."""

import altair as alt
import polars as pl

from rankone.charts.chart import COLOURS, Chart, drawn
from rankone.wording.numbers import percent

_SIZE = 320


def calibration_chart(table: pl.DataFrame, level: float = 0.95) -> Chart:
    """Draw groups of decisions by predicted and observed click rate; on the line the model is right.

    `table` has the columns decisions, predicted, observed, low and high.

    >>> table = pl.DataFrame({"decisions": [500, 500], "predicted": [0.04, 0.1], "observed": [0.05, 0.09],
    ...                       "low": [0.03, 0.06], "high": [0.08, 0.13]})
    >>> chart = calibration_chart(table)
    """
    most = 1.05 * float(table.select(pl.max_horizontal("high", "predicted").max()).item())
    scale = alt.Scale(domain=[0, most], nice=False)
    axis = alt.Axis(format=".0%" if most > 0.1 else ".1%", tickCount=5)
    along = alt.X("predicted:Q", scale=scale, axis=axis, title="predicted click rate")
    base = drawn(table, x=along)
    up = alt.Y("observed:Q", scale=scale, axis=axis, title="observed click rate")
    low = alt.Y("low:Q", scale=scale, axis=axis, title="observed click rate")
    bars = base.mark_rule(strokeWidth=2, color=COLOURS[0]).encode(y=low, y2="high:Q")
    dots = base.mark_point(filled=True, size=70, opacity=1, color=COLOURS[0]).encode(y=up)
    ends = pl.DataFrame({"predicted": [0.0, most], "observed": [0.0, most]})
    line = drawn(ends, x=along).mark_line(strokeDash=[5, 4], strokeWidth=1, color="#888888")
    layers = alt.layer(line.encode(y=up), bars, dots).properties(width=_SIZE, height=_SIZE)
    note = f"Bars: {percent(level)} intervals that hold together. On the dashed line the model is right."
    return Chart(layers.properties(title=alt.TitleParams("Predicted and observed clicks", subtitle=note)))
