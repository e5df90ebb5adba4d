"""``rankone forbid``: levels that are never shown together."""

from __future__ import annotations

import typer

from rankone.cli._commands import LIVE, command
from rankone.cli._experiments import DB, LEVEL_HELP, NAME, experiment_of, level_of_each


@command("forbid", example="rankone.db page --level headline=A --level button=buy", topic=LIVE)
def forbid(
    db: str = DB,
    name: str = NAME,
    level: list[str] = typer.Option(..., "--level", help=LEVEL_HELP),
    allow: bool = typer.Option(False, "--allow", help="Show them together again."),
) -> None:
    """Never show levels of two or more factors together, such as "20 % off" with "19 dollars off"."""
    levels = level_of_each(level) or {}
    with experiment_of(db, name) as experiment:
        (experiment.allow if allow else experiment.forbid)(levels)
        print(experiment.report().sentence)
