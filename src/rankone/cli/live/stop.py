"""``rankone stop``: from now on every visitor sees one combination."""

from __future__ import annotations

import typer

from rankone.cli._commands import LIVE, command
from rankone.cli._experiments import DB, LEVEL_HELP, NAME, experiment_of, level_of_each


@command("stop", example="rankone.db homepage --level headline=A --level image=x", topic=LIVE)
def stop(
    db: str = DB,
    name: str = NAME,
    level: list[str] = typer.Option([], "--level", help=LEVEL_HELP),
    why: str = typer.Option("by hand", help="A note for those who read the report."),
) -> None:
    """Stop an experiment: every visitor sees one combination from now on, the leading one unless another is named."""
    levels = level_of_each(level)
    with experiment_of(db, name) as experiment:
        experiment.stop(levels, why=why)
        print(experiment.report().sentence)
