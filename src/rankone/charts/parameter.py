"""Regret against a parameter of problem, policy or feedback: a line for each policy, panels for the rest."""

from typing import Any

import altair as alt
import polars as pl

from rankone.charts.chart import Chart, Marks, drawn, log_lines, names_of, round_numbers, short_axis, small_title

_TITLES = {
    "lines": "rows + columns, K + L",
    "pairs": "pairs, K L",
    "min_gap": "smallest gap",
    "horizon": "decisions",
    "delay": "mean delay (decisions)",
    "batch": "batch size (decisions)",
}
_MOST_TICKS = 12


def parameter_chart(
    table: pl.DataFrame,
    x: str,
    exponents: pl.DataFrame,
    *,
    log: bool = True,
    title: str = "",
    theory: float | None = None,
) -> Chart:
    """Draw regret_mean with two standard errors against the column x.

    Args:
        table: one row per point, with the columns panel, policy_text, regret_mean, regret_se, cut_off and x.
        x: what to draw against.
        exponents: panel, policy and exponent; shown in the legend when there is one panel.
        log: logarithmic axes, also for an x that starts at 0 (then it is linear up to 1).
        title: what the chart shows.
        theory: the exponent of x that theory promises the first policy: a grey line of that slope above its points.

    >>> table = pl.DataFrame({"panel": [""] * 2, "policy_text": ["uts"] * 2, "cut_off": [False] * 2, "lines": [8, 16],
    ...                       "regret_mean": [10.0, 21.0], "regret_se": [1.0, 1.5]})
    >>> exponents = pl.DataFrame({"panel": [""], "policy": ["uts"], "exponent": [1.07], "se": [0.1]})
    >>> chart = parameter_chart(table, "lines", exponents, theory=1.0)
    """
    positive = table.select(pl.col(x).min()).item() > 0
    powers = log and positive  # a power of x is a straight line
    panels, labels = names_of(table, "panel"), {name: name for name in names_of(table, "policy_text")}
    if powers and len(panels) == 1:
        fitted = exponents.filter(pl.col("exponent").is_not_null()).select("policy", "exponent", "se").rows()
        labels |= {name: f"{name}: exponent {exponent:.2f} ± {se:.2f}" for name, exponent, se in fitted}
    error = 2 * pl.col("regret_se").fill_null(0.0)
    shown = table.select(
        "panel",
        "cut_off",
        x=pl.col(x).cast(pl.Float64),
        label=pl.col("policy_text").replace_strict(labels),
        mean="regret_mean",
        low=pl.max_horizontal(pl.col("regret_mean") - error, pl.col("regret_mean") * (0.01 if log else 0.0)),
        high=pl.col("regret_mean") + error,
    ).filter(pl.col("mean") > (0.0 if log else -1.0))
    names, promise = list(labels.values()), None
    if powers and theory is not None:
        promise = f"theory: exponent {theory:g}"
        shown = pl.concat([shown, _promise(shown.filter(label=names[0]), theory, promise)], how="diagonal")
    marks = Marks("label", names, promise, legend=alt.Legend(symbolStrokeWidth=1))  # dashes would spoil a symbol
    linear, logarithmic = alt.Scale(zero=True), alt.Scale(type="log", nice=False, padding=14)
    ticks = shown["x"].unique().sort().to_list()
    from_zero = alt.Scale(type="symlog", constant=1, domain=[-0.5, 1.5 * max(ticks, default=1.0)], nice=False)
    x_scale = (logarithmic if positive else from_zero) if log else linear
    x_axis = alt.Axis(values=ticks if len(ticks) <= _MOST_TICKS else alt.Undefined, format=",.4~r", labelOverlap=True)
    y_axis = short_axis(values=_lines(shown) if log else alt.Undefined)
    across = alt.X("x:Q", title=_TITLES.get(x, x), scale=x_scale, axis=x_axis)
    up = alt.Y("mean:Q", title="cumulative regret", axis=y_axis, scale=logarithmic if log else linear)
    bounds = {"y": alt.Y("low:Q", title="cumulative regret"), "y2": "high:Q"}
    opacity = alt.condition("datum.cut_off", alt.value(0.35), alt.value(1.0))
    tooltip = ["label:N", "x:Q", "mean:Q", "low:Q", "high:Q", "cut_off:N"]

    def panel(name: str) -> Any:
        base = drawn(shown.filter(pl.col("panel") == name), x=across, color=marks.colour)
        line = base.mark_line(strokeWidth=2).encode(y=up, strokeDash=marks.dash([3, 3]))
        points = base.transform_filter("isValid(datum.low)").mark_point(size=60, filled=True)
        points = points.encode(y=up, shape=marks.shape, opacity=opacity, tooltip=tooltip)
        layers = alt.layer(line, base.mark_rule().encode(**bounds), points)
        return layers.properties(width=400, height=300, title=name)

    faded = [f"Faded: cut off by the horizon while it still explored{'; not in the exponents' if powers else ''}."]
    about = ["Means of runs; bars are two standard errors.", *(faded if shown["cut_off"].any() else [])]
    heading = alt.TitleParams(title, subtitle=about) if title else small_title(about)
    grid = alt.concat(*(panel(name) for name in panels), columns=2).properties(title=heading)
    return Chart(grid.resolve_scale(color="shared", strokeDash="shared", shape="shared"))


def _promise(points: pl.DataFrame, theory: float, label: str) -> pl.DataFrame:
    """The ends of a line of the promised slope above the points, in each panel."""
    power = pl.col("x").pow(theory)
    heights = points.with_columns(height=(pl.col("mean") / power).max().over("panel"))
    ends = heights.filter((pl.col("x") == pl.col("x").min()) | (pl.col("x") == pl.col("x").max()))
    return ends.select("panel", "x", label=pl.lit(label), mean=1.5 * pl.col("height") * power)


def _lines(shown: pl.DataFrame) -> list[float]:
    values = pl.concat([shown["low"], shown["mean"], shown["high"]]).drop_nulls().to_list()
    return log_lines(round_numbers(min(values), max(values))) if values else []
