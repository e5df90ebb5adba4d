"""Regret: against time with its error band and the lower bound, of every run by itself, and between its two bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import altair as alt
import polars as pl

from rankone.charts.chart import COLOURS, DASHES, SHAPES, Chart, log_lines, round_numbers, short_axis

Kind = TypeVar("Kind")

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
    """Draw a study's long table (problem, policy, run, step, regret).

    Args:
        table: one row per run and step.
        bound_constants: C(u, v) of each problem that should show its lower bound C log(step).
        log_steps: logarithmic time.
        log_regret: logarithmic regret.
        columns: panels in a row.
        titles: what to write above the panel of a problem, where that is not its name.

    >>> table = pl.DataFrame({"problem": ["2x2"] * 4, "policy": ["uts"] * 4, "run": [0, 0, 1, 1],
    ...                       "step": [1, 100, 1, 100], "regret": [0.0, 6.0, 0.4, 9.0]})
    >>> chart = regret_chart(table, {"2x2": 1.5})
    """
    problems = table["problem"].unique(maintain_order=True).to_list()
    policies = table["policy"].unique(maintain_order=True).to_list()
    curves = _curves(table)
    bounds = _bounds(table, bound_constants)
    begin = _begin(curves, log_regret=log_regret)
    if log_regret:
        curves, bounds = (frame.filter(pl.col("mean") >= begin) for frame in (curves, bounds))
        curves = curves.with_columns(low=pl.max_horizontal("low", pl.lit(begin)))
    names = [*policies, LOWER_BOUND] if bounds.height else policies
    domain = alt.Scale(domain=names, range=_cycle(COLOURS, policies, "#777777" if bounds.height else None))
    dashes = alt.Scale(domain=names, range=_cycle(DASHES, policies, DASHES[0] if bounds.height else None))
    shapes = alt.Scale(domain=names, range=_cycle(SHAPES, policies, "stroke" if bounds.height else None))
    y_scale, y_axis = _scale(log_regret), short_axis()
    if log_regret:  # the same in every panel, so that panels can be compared
        seen = pl.concat([curves["mean"], curves["high"], bounds["mean"]])
        y_scale, y_axis = _log_scale(float(seen.min() or 1.0), float(seen.max() or 1.0))  # type: ignore[arg-type]
    y = alt.Y("mean:Q", title="cumulative regret", scale=y_scale, axis=y_axis)
    colour = alt.Color("policy:N", scale=domain, title=None, sort=names, legend=alt.Legend(symbolOpacity=1))

    def panel(name: str) -> Any:
        shown = pl.concat([curves, bounds], how="diagonal").filter(pl.col("problem") == name)
        x_scale, x_axis = _scale(log_steps), short_axis(tickCount=5)
        if log_steps:
            from_here = _from(shown, begin)
            shown = shown.filter(pl.col("step") >= from_here)
            last = int(table["step"].max() or 1)  # type: ignore[arg-type]
            x_scale = alt.Scale(type="log", domain=[from_here, last], nice=False)
            rounds = [value for value in round_numbers(from_here, last) if from_here <= value <= last]
            x_axis = short_axis(values=log_lines(rounds, most=10))
        x = alt.X("step:Q", title="decisions", scale=x_scale, axis=x_axis)
        base = alt.Chart(alt.InlineData(shown.to_dicts()))
        band = base.mark_area(opacity=0.18).encode(x=x, y="low:Q", y2="high:Q", color=colour)
        line = base.mark_line(strokeWidth=2).encode(
            x=x,
            y=y,
            color=colour,
            strokeDash=alt.StrokeDash("policy:N", scale=dashes, title=None, sort=names),
            tooltip=["policy:N", "step:Q", "mean:Q", "se:Q", "runs:Q"],
        )
        marks = (
            base.transform_filter("datum.marked")
            .mark_point(filled=True, size=45)
            .encode(x=x, y=y, color=colour, shape=alt.Shape("policy:N", scale=shapes, title=None, sort=names))
        )
        return alt.layer(band, line, marks).properties(title=(titles or {}).get(name, name), width=330, height=270)

    grid = alt.concat(*(panel(name) for name in problems), columns=columns, title=_about(curves))
    return Chart(grid.resolve_scale(color="shared", strokeDash="shared", shape="shared"))


def _about(curves: pl.DataFrame) -> alt.TitleParams:
    """What lines and bands are, above the panels: a picture travels without its page."""
    low, high = int(curves["runs"].min() or 0), int(curves["runs"].max() or 0)  # type: ignore[arg-type]
    runs = f"{high:,} runs" if low == high else f"{low:,} to {high:,} runs"
    text = "One run of each." if high <= 1 else f"Lines: mean of {runs}. Bands: two standard errors to each side."
    return alt.TitleParams(text, fontSize=12, fontWeight="normal", color="#444")


def _begin(curves: pl.DataFrame, *, log_regret: bool) -> float:
    """Return the regret from which there is something to see: one click, or less where nobody loses ten."""
    positive = curves.filter(pl.col("mean") > 0)["mean"]
    least, most = float(positive.min() or 1.0), float(positive.max() or 1.0)  # type: ignore[arg-type]
    if log_regret:
        return max(least, _WORTH_A_LOOK) if most > 10 * _WORTH_A_LOOK else least
    return max(least, most / 100)


def _from(shown: pl.DataFrame, begin: float) -> int:
    """Return the step at which the first line gets there."""
    found = shown.filter((pl.col("mean") >= begin) & (pl.col("policy") != LOWER_BOUND))["step"]
    return int(found.min() or 1)  # type: ignore[arg-type]


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
    place = pl.int_range(pl.len()).over("problem", "policy")
    stride = max(1, table["step"].n_unique() // 5)
    return curves.with_columns(marked=(place % stride == stride // 2))


def _bounds(table: pl.DataFrame, constants: Mapping[str, float]) -> pl.DataFrame:
    steps = table["step"].unique().sort().to_list()
    rows = [
        {"problem": name, "policy": LOWER_BOUND, "step": step, "mean": constant * math.log(step), "marked": False}
        for name, constant in constants.items()
        if math.isfinite(constant) and constant > 0
        for step in steps
        if step > 1
    ]
    schema = {"problem": pl.String, "policy": pl.String, "step": pl.Int64, "mean": pl.Float64, "marked": pl.Boolean}
    return pl.DataFrame(rows, schema=schema)


def _cycle(values: Sequence[Kind], policies: list[str], last: Kind | None) -> list[Kind]:
    cycled = [values[place % len(values)] for place in range(len(policies))]
    return cycled if last is None else [*cycled, last]


def _log_scale(low: float, high: float) -> tuple[alt.Scale, alt.Axis]:
    """A logarithmic scale from 1, 2 or 5 times a power of ten to another, and an axis with lines at these alone."""
    rounds = round_numbers(low, high)
    scale = alt.Scale(type="log", domain=[rounds[0], rounds[-1]], nice=False, clamp=True)
    return scale, short_axis(values=log_lines(rounds))


def _scale(log: bool) -> alt.Scale:
    return alt.Scale(type="log") if log else alt.Scale(zero=True)


def bounds_chart(table: pl.DataFrame) -> Chart:
    """Draw lower_bound, regret_mean and upper_bound of each problem on one line.

    >>> table = pl.DataFrame({"problem": ["2x2"], "lower_bound": [3.0], "regret_mean": [20.0], "upper_bound": [900.0]})
    >>> chart = bounds_chart(table)
    """
    long = table.unpivot(["lower_bound", "regret_mean", "upper_bound"], index="problem").filter(pl.col("value") > 0)
    names = {"lower_bound": "lower bound", "regret_mean": "measured regret", "upper_bound": "Theorem 1's bound"}
    long = long.with_columns(what=pl.col("variable").replace_strict(names))
    order = list(names.values())
    x = alt.X("value:Q", scale=alt.Scale(type="log"), title="cumulative regret", axis=short_axis())
    y = alt.Y("problem:N", sort=table["problem"].to_list(), title=None, axis=alt.Axis(labelLimit=260))
    span = alt.Chart(alt.InlineData(table.filter(pl.col("lower_bound") > 0).to_dicts()))
    rule = span.mark_rule(color="#bbb").encode(
        x=alt.X("lower_bound:Q", title="cumulative regret"), x2="upper_bound:Q", y=y
    )
    points = (
        alt.Chart(alt.InlineData(long.to_dicts()))
        .mark_point(filled=True, size=90)
        .encode(
            x=x,
            y=y,
            shape=alt.Shape("what:N", title=None, scale=alt.Scale(domain=order, range=SHAPES[:3])),
            color=alt.Color(
                "what:N", title=None, scale=alt.Scale(domain=order, range=["#009e73", "#000000", "#d55e00"])
            ),
        )
    )
    return Chart(alt.layer(rule, points).properties(width=460, height=28 * table.height))


def spread_chart(table: pl.DataFrame, columns: int = 3, titles: Mapping[str, str] | None = None) -> Chart:
    """Draw the final regret of every run and, as a diamond, the median.

    `table` has a row per run: problem, policy, run, regret.

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
