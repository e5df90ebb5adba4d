"""``rankone exclude``: undo false clicks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from rankone.cli._commands import LIVE, command
from rankone.cli._experiments import DB, LEVEL_HELP, NAME, experiment_of, level_of_each


@command("exclude", example="rankone.db homepage --token 4f1c09ab77d2 --why robots", topic=LIVE)
def exclude(
    db: str = DB,
    name: str = NAME,
    source: str | None = typer.Option(None, help="Outcomes told with this source."),
    token: str | None = typer.Option(None, help="What was asked or told with this token, by its id."),
    level: list[str] = typer.Option([], "--level", help=LEVEL_HELP),
    since: float | None = typer.Option(None, help="Asked at this time (seconds since 1970) or later."),
    until: float | None = typer.Option(None, help="Asked before this time (seconds since 1970)."),
    archive: Path | None = typer.Option(None, help="Folder with the archives of the experiment: those in it, too."),
    why: str = typer.Option("outcomes excluded", help="A note for the journal."),
) -> None:
    """Undo false clicks: outcomes so far that match all that is given no longer count."""
    from rankone.specs import amount

    fits: dict[str, Any] = {"source": source, "token": token, "levels": level_of_each(level)}
    with experiment_of(db, name) as experiment:
        whole = experiment if archive is None else experiment.with_archives(archive)
        taken = whole.exclude(**fits, since=since, until=until, why=why)
        print(f"{amount(taken, 'outcome')} of '{name}' excluded.")
        if archive is None and experiment.look(lambda fold: fold.archived):
            print("What is in its archives still counts: --archive FOLDER reaches it, too.")
