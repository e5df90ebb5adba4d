"""``rankone my-command``: the best pair of a problem."""

from __future__ import annotations

import json

import typer

from rankone.cli._commands import command


@command("my-command", example="needle:3x3")
def my_command(
    problem: str = typer.Argument(help="A problem: needle:32x32, FILE.csv or FILE.json."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """Name the best pair of a problem."""
    from rankone.problems import as_problem

    row, col = as_problem(problem).best_pairs[0]
    print(json.dumps({"row": row, "col": col}) if as_json else f"row {row}, column {col}")
