"""``rankone experiments``: the experiments of a database, one line each."""

from __future__ import annotations

import json

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("experiments")(experiments)


def experiments(
    db: str = typer.Argument(..., help="SQLite file or postgresql:// address."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """List the experiments of a database: traffic, clicks and what leads."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from rankone.serving.database import Database
    from rankone.serving.experiment import Experiment

    database = Database(db, read_only=True)
    reports = [Experiment(name, db=database).report() for name in database.storage.names()]
    if as_json:
        print(json.dumps([report.as_dict() for report in reports], indent=2))
        return
    table = Table("experiment", "policy", "decisions", "clicks", "open", "state")
    for report in reports:
        counts = (str(report.decisions), str(report.outcomes["clicked"]), str(report.outcomes["open"]))
        table.add_row(escape(report.name), escape(report.policy), *counts, escape(report.sentence))
    Console().print(table if reports else "no experiments yet: see Experiment(...) in the documentation")
