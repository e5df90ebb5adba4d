"""``rankone doctor``: is everything in a database as it was written?"""

from __future__ import annotations

import json

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(
    db: str = typer.Argument(..., help="SQLite file or postgresql:// address."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """Check pages, checksums and snapshots of a database and replay its journals; exit code 1 if something is wrong."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from rankone.serving.doctor import examine

    findings = examine(db)
    if as_json:
        print(json.dumps([finding._asdict() for finding in findings], indent=2))
    else:
        table = Table("experiment", "check", "", "finding")
        for finding in findings:
            verdict = "[green]good[/]" if finding.ok else "[red]WRONG[/]"
            table.add_row(escape(finding.experiment), finding.check, verdict, escape(finding.detail))
        Console().print(table)
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)
