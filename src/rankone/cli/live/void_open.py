"""``rankone void-open``: close decisions that nobody told for long."""

from __future__ import annotations

import typer

from rankone.cli._commands import LIVE, command
from rankone.cli._experiments import DB, NAME, experiment_of


@command("void-open", example="rankone.db homepage --older-than 600 --source newsletter", topic=LIVE)
def void_open(
    db: str = DB,
    name: str = NAME,
    older_than: float = typer.Option(..., help="Seconds that a decision must have been open."),
    source: str | None = typer.Option(None, help="Only decisions asked with this source."),
    token: str | None = typer.Option(None, help="Only decisions asked with this token, by its id."),
) -> None:
    """Close open decisions by age, source and token: nothing is learned from them, and they make room for new ones."""
    from rankone.specs import amount

    with experiment_of(db, name) as experiment:
        voided = experiment.void_open(older_than, source=source, token=token)
        print(f"{amount(voided, 'decision')} of '{name}' voided.")
