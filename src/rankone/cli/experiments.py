"""``rankone experiments``: the experiments of a database, one line each."""

from __future__ import annotations

import json

import typer

from rankone.cli._experiments import DB


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("experiments", epilog="Example: rankone experiments rankone.db")(experiments)


def experiments(
    db: str = DB,
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """List the experiments of a database: traffic, clicks and what leads."""
    import polars as pl

    from rankone.cli._tables import show_table
    from rankone.serving import Database, Experiment

    with Database(db, read_only=True) as database:
        reports = [Experiment(name, db=database).report() for name in database.names()]
    if as_json:
        print(json.dumps([report.as_dict() for report in reports], indent=1))
        return
    rows = [
        (
            report.name,
            report.policy,
            "stopped" if report.stopped else "runs",
            report.decisions,
            report.outcomes["clicked"],
            report.outcomes["open"],
            report.sentence,
        )
        for report in reports
    ]
    columns = ["experiment", "policy", "status", "decisions", "clicks", "open", "what is known"]
    show_table(pl.DataFrame(rows, schema=columns, orient="row"))
