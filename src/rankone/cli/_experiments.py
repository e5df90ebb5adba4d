"""What the commands on one live experiment share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rankone.serving import Experiment

DB = typer.Argument(..., help="SQLite file or postgresql:// address.")
NAME = typer.Argument(..., help="Name of the experiment.")


@contextlib.contextmanager
def experiment_of(db: str, name: str) -> Iterator[Experiment]:
    """Open an experiment that must be there: a typo must not create a database."""
    from rankone.serving import Database, Experiment

    with Database(db, read_only=True) as database:
        database.number(name)
    with Experiment(name, db=db) as experiment:
        yield experiment
