"""What the commands on one live experiment share."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rankone.live import Experiment
    from rankone.live.storage.sqlite_backup import Position

DB = typer.Argument(..., help="SQLite file or postgresql:// address.")
NAME = typer.Argument(..., help="Name of the experiment.")
ARCHIVE = typer.Option(None, help="Folder with the archives of the experiment, if it has any.")
REST = typer.Option(False, "--rest", help="Only what is not archived.")
ATTRIBUTE_HELP = "Something known of visitors, with its levels or with any, such as device=phone,desktop or country"
LEVEL_HELP = "A level of a factor, such as image=2; repeatable."


@contextlib.contextmanager
def experiment_of(db: str, name: str) -> Iterator[Experiment]:
    """Open an experiment that must be there: a typo must not create a database."""
    from rankone.live import Database, Experiment

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


def levels_of_factors(given: Sequence[str]) -> dict[str, list[str]]:
    """Return the levels of each factor, written as its name, an equals sign, and levels with commas between.

    >>> levels_of_factors(["headline=A,B", "image=1", "image=2"])
    {'headline': ['A', 'B'], 'image': ['1', '2']}
    """
    found: dict[str, list[str]] = {}
    for text in given:
        factor, levels = _cut(text, "--factor headline=A,B,C")
        found.setdefault(factor, []).extend(level.strip() for level in levels.split(","))
    return found


def declared_attributes(given: Sequence[str]) -> dict[str, list[str] | None]:
    """Return attributes of visitors with their levels, if these are named; None: any.

    >>> declared_attributes(["device=phone,desktop", "country"])
    {'device': ['phone', 'desktop'], 'country': None}
    """
    found: dict[str, list[str] | None] = {}
    for text in given:
        attribute, equals, levels = text.partition("=")
        found[attribute.strip()] = [level.strip() for level in levels.split(",")] if equals else None
    return found


def sizes_of_factors(given: Sequence[str]) -> dict[str, int]:
    """Return how many levels each factor has, of which there are the number or the names.

    >>> sizes_of_factors(["headline=4", "image=office,dog", "image=cat"])
    {'headline': 4, 'image': 3}
    """
    from rankone.errors import InputError

    found: dict[str, int] = {}
    for name, levels in levels_of_factors(given).items():
        twice = next((level for level in levels if levels.count(level) > 1), None)
        if twice is not None:
            raise InputError(f"levels of '{name}' with different names", f"'{twice}' twice", "name each once")
        if len(levels) > 1 and all(level.isdecimal() for level in levels) and f"{name}={levels[0]}" in given:
            got = " and ".join(f"{name}={level}" for level in levels)
            raise InputError(f"one number of levels of '{name}'", got, "name the factor once, or another one")
        found[name] = int(levels[0]) if len(levels) == 1 and levels[0].isdecimal() else len(levels)
    return found


def level_of_each(given: Sequence[str]) -> dict[str, str] | None:
    """Return a level of each factor that is named, one in each text; None: none is. Names may have commas.

    >>> level_of_each(["headline=Fast, cheap", "image=1"])
    {'headline': 'Fast, cheap', 'image': '1'}
    """
    from rankone.errors import InputError

    found: dict[str, str] = {}
    for text in given:
        factor, level = _cut(text, "headline=A")
        if factor in found:
            raise InputError("one level of each factor", f"{factor}={found[factor]} and {text}", "name one of them")
        found[factor] = level
    return found or None


def _cut(text: str, example: str) -> tuple[str, str]:
    from rankone.errors import InputError

    factor, equals, rest = text.partition("=")
    if not equals:
        raise InputError("a factor and its levels, with an equals sign between", text, f"try {example}")
    return factor.strip(), rest.strip()
