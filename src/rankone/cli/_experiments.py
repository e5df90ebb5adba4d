"""What the commands on one live experiment share."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rankone.serving import Experiment
    from rankone.serving.storage.sqlite_backup import Position

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


def show_positions(found: Sequence[Position]) -> None:
    """Print how far each journal goes."""
    import polars as pl

    from rankone.cli._tables import show_table

    times = [datetime.datetime.fromtimestamp(each.at / 1e6, datetime.UTC).isoformat(" ", "seconds") for each in found]
    rows = [(each.experiment, each.events, at) for each, at in zip(found, times, strict=True)]
    columns = {"experiment": pl.String, "events": pl.Int64, "last_one_at": pl.String}
    show_table(pl.DataFrame(rows, schema=columns, orient="row"))
