"""``rankone hardness``: how hard a problem is, and the bounds on regret at a horizon."""

import typer

from rankone.cli._commands import command
from rankone.cli._options import JSON, whole_number
from rankone.cli._tables import print_json


@command("hardness", example="needle:32x32 --horizon 1e6")
def hardness(
    problem: str = typer.Argument(help="A problem: needle:32x32, FILE.csv, FILE.json or FILE.json#NAME."),
    horizon: int = typer.Option(2_000_000, parser=whole_number, help="Decisions; 2e6 is fine.", metavar="N"),
    as_json: bool = JSON,
) -> None:
    """Say how many clicks any policy must lose on a problem, and how many an equal split loses.

    For rows and columns also gaps, mu, p_max, gamma and the bound of Theorem 1.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from rankone.problems import hardness as measure

    facts = measure(problem, horizon)
    if as_json:
        print_json(facts.to_dict())
        return
    table = Table(title=escape(facts.problem.name), title_justify="left", box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    for row in facts.facts():
        table.add_row(*map(escape, row))
    print(facts.headline)
    Console().print(table)
