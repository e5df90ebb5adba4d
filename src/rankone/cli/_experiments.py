"""What the commands on one live experiment share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import typer

from rankone.errors import InputError
from rankone.live.visitor_attributes import kind_in_line

if TYPE_CHECKING:
    from rankone.live import Experiment

DB = typer.Argument(..., help="SQLite file or postgresql:// address.")
NAME = typer.Argument(..., help="Name of the experiment.")
ARCHIVE = typer.Option(None, help="Folder with the archives of the experiment, if it has any.")
REST = typer.Option(False, "--rest", help="Leave out archived decisions.")
ATTRIBUTE_HELP = "What is known of visitors, and what it may be: device=phone,desktop, country, age=18..90, new=bool"


@contextlib.contextmanager
def experiment_of(db: str, name: str) -> Iterator[Experiment]:
    """Open an experiment that must be there: a typo must not create a database."""
    from rankone.live import Database, Experiment

    with Database(db, read_only=True) as database:
        database.number(name)
    with Experiment(name, db=db) as experiment:
        yield experiment


def levels_of_factors(given: Sequence[str]) -> dict[str, list[str]]:
    """Return the levels of each factor, written as its name, an equals sign, and levels with commas between.

    >>> levels_of_factors(["headline=A,B", "image=1", "image=2"])
    {'headline': ['A', 'B'], 'image': ['1', '2']}
    """
    levels_of: dict[str, list[str]] = {}
    for text in given:
        factor, levels = _cut(text, "--factor headline=A,B,C")
        levels_of.setdefault(factor, []).extend(level.strip() for level in levels.split(","))
    return levels_of


def declared_attributes(given: Sequence[str]) -> dict[str, Any]:
    """Return attributes of visitors with their levels, if these are named; None: any.

    >>> declared_attributes(["device=phone,desktop", "country", "age=18..90"])
    {'device': ['phone', 'desktop'], 'country': None, 'age': '18..90'}
    """
    declared: dict[str, Any] = {}
    for text in given:
        attribute, equals, levels = text.partition("=")
        declared[attribute.strip()] = kind_in_line(levels) if equals else None
    return declared


def sizes_of_factors(given: Sequence[str]) -> dict[str, int]:
    """Return how many levels each factor has, of which there are the number or the names.

    >>> sizes_of_factors(["headline=4", "image=office,dog", "image=cat"])
    {'headline': 4, 'image': 3}
    """
    sizes: dict[str, int] = {}
    for name, levels in levels_of_factors(given).items():
        twice = next((level for level in levels if levels.count(level) > 1), None)
        if twice is not None:
            raise InputError(f"levels of '{name}' with different names", f"'{twice}' twice", "name each once")
        if len(levels) > 1 and all(level.isdecimal() for level in levels) and f"{name}={levels[0]}" in given:
            got = " and ".join(f"{name}={level}" for level in levels)
            raise InputError(f"one number of levels of '{name}'", got, "name the factor once, or another one")
        sizes[name] = int(levels[0]) if len(levels) == 1 and levels[0].isdecimal() else len(levels)
    return sizes


def level_of_each(given: Sequence[str]) -> dict[str, str] | None:
    """Return a level of each factor that is named, one in each text; None: none is. Names may have commas.

    >>> level_of_each(["headline=Fast, cheap", "image=1"])
    {'headline': 'Fast, cheap', 'image': '1'}
    """
    chosen: dict[str, str] = {}
    for text in given:
        factor, level = _cut(text, "headline=A")
        if factor in chosen:
            raise InputError("one level of each factor", f"{factor}={chosen[factor]} and {text}", "name one of them")
        chosen[factor] = level
    return chosen or None


def _cut(text: str, example: str) -> tuple[str, str]:
    factor, equals, rest = text.partition("=")
    if not equals:
        raise InputError("a factor and its levels, with an equals sign between", text, f"try {example}")
    return factor.strip(), rest.strip()
