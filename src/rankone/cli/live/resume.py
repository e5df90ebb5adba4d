"""``rankone resume``: experiment again after a stop."""

from __future__ import annotations

from rankone.cli._commands import LIVE, command
from rankone.cli._experiments import DB, NAME, experiment_of


@command("resume", example="rankone.db homepage", topic=LIVE)
def resume(db: str = DB, name: str = NAME) -> None:
    """Resume a stopped experiment, with all that was learned before."""
    with experiment_of(db, name) as experiment:
        experiment.resume()
        print(experiment.report().sentence)
