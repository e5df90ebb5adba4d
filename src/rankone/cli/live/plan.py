"""``rankone plan``: how long an experiment will take, before it begins."""

from pathlib import Path
from typing import Any

import typer

from rankone.cli._commands import command
from rankone.cli._experiments import sizes_of_factors
from rankone.cli._options import JSON, whole_number
from rankone.cli._tables import print_json


@command("plan", example="--rows 4 --cols 5 --rate 0.03 --lift 0.1 --visitors-a-day 5000")
def plan(
    rows: int = typer.Option(None, parser=whole_number, help="Rows to try.", metavar="N"),
    cols: int = typer.Option(None, parser=whole_number, help="Columns to try.", metavar="N"),
    factor: list[str] = typer.Option(
        [],
        "--factor",
        help="Any number of factors instead of rows and columns: a name and how many levels there are, such as "
        "headline=4, or their names, such as headline=A,B,C; repeatable.",
    ),
    rate: float = typer.Option(..., help="Click rate of a pair one change away from the best, such as 0.03."),
    lift: float = typer.Option(..., help="How much more often the best pair is clicked: 0.1 is 10 % more."),
    visitors_a_day: float = typer.Option(None, help="Visitors per day; the answer is then in days too."),
    goal: str = typer.Option(None, help="earn, both or decide; without it all three."),
    margin: float = typer.Option(0.0, help="A winner within this part of the best is enough, such as 0.05."),
    error: float = typer.Option(0.05, help="The verdict may be wrong with this probability."),
    chart: Path = typer.Option(None, help="Draw the answer: .png, .svg, .pdf or .html."),
    as_json: bool = JSON,
) -> None:
    """Say how many visitors and days an experiment needs until it has a winner, and what it loses meanwhile."""
    from rankone.charts.chart import drawable
    from rankone.cli._progress import progress_bar
    from rankone.simulation.plans.plan import plan as make

    if chart is not None:
        drawable(chart)
    wishes: dict[str, Any] = {"visitors_a_day": visitors_a_day, "goal": goal, "margin": margin, "error": error}
    with progress_bar("rehearsals", compiles=True) as progress:
        planned = make(rows, cols, rate, lift, factors=sizes_of_factors(factor) or None, progress=progress, **wishes)
    if as_json:
        print_json(planned.to_dict())
    else:
        print(planned)
    if chart is not None:
        planned.chart().save(chart)
        if not as_json:
            print(f"wrote {chart}")
