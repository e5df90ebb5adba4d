"""``rankone changes``: who has changed what in an experiment, and when."""

from __future__ import annotations

import datetime
import json

import typer

from rankone.cli._commands import LIVE, command
from rankone.cli._experiments import DB, NAME


@command("changes", example="rankone.db homepage", topic=LIVE)
def changes(
    db: str = DB,
    name: str = NAME,
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """Say who has changed what in an experiment, and when: levels, stops, exclusions, archives.

    Who: the id of the token that a service was asked with; none where it was done on the machine of the database.
    """
    import polars as pl

    from rankone.cli._tables import show_table
    from rankone.live import Database
    from rankone.live.operate.change_log import changes_of

    with Database(db, read_only=True) as database, database.reader() as storage:
        found = changes_of(storage, storage.number(name))
    if as_json:
        print(json.dumps([change._asdict() for change in found], indent=1))
        return
    times = [datetime.datetime.fromtimestamp(each.at, datetime.UTC).isoformat(" ", "seconds") for each in found]
    rows = [(at, each.what, each.by or "") for at, each in zip(times, found, strict=True)]
    show_table(pl.DataFrame(rows, schema=["at", "what", "token"], orient="row"))
