"""Regret: against time with its error band and the lower bound, and of every run by itself."""

import math
from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from rankone.charts.chart import Chart, Marks, drawn, log_axis, names_of, short_axis, small_title

LOWER_BOUND = "asymptotic lower bound"
_WORTH_A_LOOK = 1.0  # lost clicks: up to here policies differ by chance alone, and a log axis would magnify that


def regret_chart(
    table: pl.DataFrame,
    bound_constants: Mapping[str, float],
    *,
    log_steps: bool = False,
    log_regret: bool = False,
    columns: int = 3,
    titles: Mapping[str, str] | None = None,
) -> Chart:
    """Draw a study's long table (problem, policy, run, step, regret), a panel a problem, `columns` panels in a row.

    `bound_constants` are C(u, v) of problems that should show their lower bound C log(step), `titles` what to write
    above panels, where that is not the problem's name.

    >>> table = pl.DataFrame({"problem": ["2x2"] * 4, "policy": ["uts"] * 4, "run": [0, 0, 1, 1],
    ...                       "step": [1, 100, 1, 100], "regret": [0.0, 6.0, 0.4, 9.0]})
    >>> chart = regret_chart(table, {"2x2": 1.5})
    """
    curves, bounds = _curves(table), _bounds(table, bound_constants)
    begin = _begin(curves, log_regret=log_regret)
    if log_regret:
        curves, bounds = (frame.filter(pl.col("mean") >= begin) for frame in (curves, bounds))
        curves = curves.with_columns(low=pl.max_horizontal("low", pl.lit(begin)))
    policies, grey = names_of(table, "policy"), LOWER_BOUND if bounds.height else None
    marks, looks = (Marks("policy", policies, grey, **more) for more in ({}, {"legend": alt.Legend(symbolOpacity=1)}))
    y_scale, y_axis = alt.Scale(zero=True), short_axis()
    if log_regret:  # the same in every panel, so that panels can be compared
        seen = pl.concat([curves["mean"], curves["high"], bounds["mean"]]).to_list() or [1.0]
        y_scale, y_axis = log_axis(min(seen), max(seen), nice=False, clamp=True)
    y = alt.Y("mean:Q", title="cumulative regret", scale=y_scale, axis=y_axis)

    def panel(name: str) -> Any:
        shown = pl.concat([curves, bounds], how="diagonal").filter(pl.col("problem") == name)
        x_scale, x_axis = alt.Scale(zero=True), short_axis(tickCount=5)
        if log_steps:
            worth = shown.filter((pl.col("mean") >= begin) & (pl.col("policy") != LOWER_BOUND))["step"].to_list()
            first, last = min(worth, default=1), max(table["step"].to_list())
            shown = shown.filter(pl.col("step") >= first)
            x_scale, x_axis = log_axis(first, last, exact=True, most=10, nice=False)
        x = alt.X("step:Q", title="decisions", scale=x_scale, axis=x_axis)
        base = drawn(shown, x=x, color=looks.colour)
        tooltip = ["policy:N", "step:Q", "mean:Q", "se:Q", "runs:Q"]
        band = base.mark_area(opacity=0.18).encode(y="low:Q", y2="high:Q")
        line = base.mark_line(strokeWidth=2).encode(y=y, strokeDash=marks.dash(), tooltip=tooltip)
        points = base.transform_filter("datum.marked").mark_point(filled=True, size=45)
        layers = alt.layer(band, line, points.encode(y=y, shape=marks.shape))
        return layers.properties(title=(titles or {}).get(name, name), width=330, height=270)

    panels = [panel(name) for name in names_of(table, "problem")]
    grid = alt.concat(*panels, columns=columns, title=small_title(_about(curves)))
    return Chart(grid.resolve_scale(color="shared", strokeDash="shared", shape="shared"))


def _about(curves: pl.DataFrame) -> str:
    low, high = (int(curves["runs"].quantile(share) or 0) for share in (0.0, 1.0))
    runs = f"{high:,} runs" if low == high else f"{low:,} to {high:,} runs"
    return "One run of each." if high <= 1 else f"Lines: mean of {runs}. Bands: two standard errors to each side."


def _begin(curves: pl.DataFrame, *, log_regret: bool) -> float:
    """Return the regret from which there is something to see: one click, or less where nobody loses ten."""
    positive = curves.filter(pl.col("mean") > 0)["mean"]
    least, most = float(positive.min() or 1.0), float(positive.max() or 1.0)  # type: ignore[arg-type]
    if log_regret:
        return max(least, _WORTH_A_LOOK) if most > 10 * _WORTH_A_LOOK else least
    return max(least, most / 100)


def _curves(table: pl.DataFrame) -> pl.DataFrame:
    """Mean regret and its band of two standard errors at each step; a few steps are marked with a shape."""
    regret = pl.col("regret")
    curves = (
        table.group_by("problem", "policy", "step", maintain_order=True)
        .agg(mean=regret.mean(), se=(regret.std() / pl.len().sqrt()).fill_null(0.0), runs=pl.len())
        .with_columns(
            low=pl.max_horizontal(pl.col("mean") - 2 * pl.col("se"), 0.0), high=pl.col("mean") + 2 * pl.col("se")
        )
    )
    index = pl.int_range(pl.len()).over("problem", "policy")
    stride = max(1, table["step"].n_unique() // 5)
    return curves.with_columns(marked=(index % stride == stride // 2))


def _bounds(table: pl.DataFrame, constants: Mapping[str, float]) -> pl.DataFrame:
    known = [(name, constant) for name, constant in constants.items() if 0.0 < constant < math.inf]
    problems = pl.DataFrame(known, schema={"problem": pl.String, "constant": pl.Float64}, orient="row")
    steps = table.select(pl.col("step").unique().sort()).filter(pl.col("step") > 1)
    mean = pl.col("constant") * pl.col("step").log()
    return problems.join(steps, how="cross").select(
        "problem", "step", policy=pl.lit(LOWER_BOUND), mean=mean, marked=False
    )
