"""``rankone plan``: how long an experiment will take, before it begins."""

import functools
from pathlib import Path
from typing import Any

import typer

from rankone.cli._commands import command
from rankone.cli._experiments import sizes_of_factors
from rankone.cli._options import DEPTHS, whole_number, with_options
from rankone.cli._tables import show_answer
from rankone.errors import InputError


@command("plan", example="--rows 4 --cols 5 --rate 0.03 --lift 0.1 --visitors-a-day 5000")
@with_options(DEPTHS)
def plan(
    rows: int | None = typer.Option(None, parser=whole_number, help="Rows to try.", metavar="N"),
    cols: int | None = typer.Option(None, parser=whole_number, help="Columns to try.", metavar="N"),
    factor: list[str] = typer.Option(
        [],
        "--factor",
        help="A factor with the number of its levels, headline=4, or their names, headline=A,B,C; repeatable. "
        "Instead of --rows and --cols.",
    ),
    items: int | None = typer.Option(None, parser=whole_number, help="Of a ranking: items to list.", metavar="N"),
    positions: int | None = typer.Option(
        None, parser=whole_number, help="Of a ranking: how long a list is.", metavar="N"
    ),
    model: str = typer.Option(
        "pbm", help="Of a ranking: how visitors read; pbm (ever fewer further down) or cascade (to their first click)."
    ),
    rate: float = typer.Option(
        ...,
        help="Click rate of a pair that differs from the best in one part, such as 0.03; of a "
        "ranking, of an item that is not among the best, when it is looked at.",
    ),
    lift: float | None = typer.Option(None, help="How much more often the best pair is clicked: 0.1 is 10% more."),
    visitors_a_day: float = typer.Option(None, help="Visitors per day; the answer is then in days too."),
    aim: str | None = typer.Option(None, help="earn, both or decide; without it all three."),
    margin: float = typer.Option(0.0, help="A winner at most this much worse than the best is enough: 0.05 is 5%."),
    error: float = typer.Option(0.05, help="Largest probability that the verdict is wrong: 0.05 is 5%."),
    average: float | None = typer.Option(None, help="Revenue: the average order; --rate says how many order."),
    spread: float = typer.Option(1.0, help="Revenue: standard deviation of orders, as part of their average."),
    cap: float | None = typer.Option(
        None, help="Revenue: the most that a visitor counts for; by default ten average orders."
    ),
    worse_by: float | None = typer.Option(None, help="A guardrail instead: how long until it is cleared, 0.1 is 10%."),
    goals: int | None = typer.Option(None, help="Revenue or a guardrail: how many goals share the error.", metavar="N"),
    chart: Path | None = typer.Option(None, help="Draw the answer: .png, .svg, .pdf or .html."),
    **depths: bool,
) -> None:
    """Say how many visitors and days an experiment needs to find a winner, and how many clicks it costs."""
    from rankone.charts.chart import drawable
    from rankone.cli._progress import progress_bar
    from rankone.simulation.plans.plan import plan as plan_clicks
    from rankone.simulation.plans.plan_goal import plan_goal
    from rankone.simulation.plans.plan_lists import plan_lists

    of_goal, of_lists = average is not None or worse_by is not None, items is not None or positions is not None
    factors = sizes_of_factors(factor) or None
    if of_lists and (of_goal or factors or rows is not None or cols is not None):
        raise InputError(
            "--items and --positions of a ranking alone", "parts of another plan, too", "leave out the others"
        )
    if of_goal:
        if chart is not None or aim is not None or margin:
            raise InputError("a plan of clicks for --chart, --aim and --margin", "one of a goal", "leave these out")
        told: dict[str, Any] = {"average": average, "spread": spread, "cap": cap, "worse_by": worse_by, "goals": goals}
        told |= {"visitors_a_day": visitors_a_day, "error": error, "factors": factors}
        show_answer(plan_goal(rows, cols, rate, 0.0 if lift is None else lift, **told), **depths)
        return
    if chart is not None:
        drawable(chart)
    make: Any = functools.partial(plan_clicks, rows, cols, factors=factors)
    if of_lists:
        sizes: dict[str, Any] = {"items": items, "positions": positions, "model": model}
        make = functools.partial(plan_lists, **sizes)
    wanted: dict[str, Any] = {"visitors_a_day": visitors_a_day, "aim": aim, "margin": margin, "error": error}
    with progress_bar("rehearsals", compiles=True) as progress:
        planned = make(rate=rate, lift=lift, progress=progress, **wanted)
    show_answer(planned, **depths)
    if chart is not None:
        planned.chart().save(chart)
        if not depths["as_json"]:
            print(f"Written: {chart}")
