"""``rankone segments``: which attributes of visitors are told apart."""

from __future__ import annotations

import typer

from rankone.cli._commands import LIVE, command
from rankone.cli._experiments import ATTRIBUTE_HELP, DB, NAME, declared_attributes, experiment_of


@command("segments", example="rankone.db homepage --attribute device=phone,desktop --attribute country", topic=LIVE)
def segments(
    db: str = DB,
    name: str = NAME,
    attribute: list[str] = typer.Option(..., "--attribute", help=f"{ATTRIBUTE_HELP}; repeatable, name all of them."),
) -> None:
    """Declare what is known of visitors: nothing else counts, and segments that do not fit count among the others."""
    with experiment_of(db, name) as experiment:
        experiment.declare_segments(declared_attributes(attribute))
        print(experiment.changes()[-1].what)
