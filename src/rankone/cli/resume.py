"""``rankone resume``: experiment again after a stop."""

from __future__ import annotations

import typer

from rankone.cli._experiments import DB, NAME, experiment_of


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("resume", epilog="Example: rankone resume rankone.db homepage")(resume)


def resume(db: str = DB, name: str = NAME) -> None:
    """Go on with an experiment that was stopped, on all that is known."""
    with experiment_of(db, name) as experiment:
        experiment.resume()
        print(experiment.report().sentence)
