"""Options that several commands read in the same way, and where their work is done: here, or on a Dask cluster."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import typer

from rankone.errors import InputError
from rankone.specs import parse_whole_number


def whole_number(text: Any) -> int:
    """Read a positive whole number as people write it: 2000000, 2_000_000 or 2e6.

    >>> whole_number("2e6")
    2000000
    """
    try:
        return parse_whole_number("the value", str(text), example=100_000)  # a default comes here too, as a number
    except InputError as error:
        raise typer.BadParameter(str(error)) from None  # Typer says which option it was


def json_file(option: str, path: Path | None) -> None:
    """Refuse a file that does not end in .json before any work is done."""
    if path is not None and path.suffix != ".json":
        raise InputError(f"a .json file for {option}", str(path), f"try {path.with_suffix('.json')}")


def policy_names(incomplete: str) -> list[str]:
    """Return the policies whose name begins so, for a shell that completes it.

    >>> policy_names("ut")
    ['uts']
    """
    from rankone.policies import known_policies

    return _beginning(known_policies(), incomplete)


def model_names(incomplete: str) -> list[str]:
    """Return the click models whose name begins so, for a shell that completes it.

    >>> model_names("pb")
    ['pbm']
    """
    from rankone.clicks import MODELS

    return _beginning(MODELS.known(), incomplete)


def format_names(incomplete: str) -> list[str]:
    """Return the log formats whose name begins so, for a shell that completes it.

    >>> format_names("open")
    ['open-bandit']
    """
    from rankone.clicks import FORMATS

    return _beginning(FORMATS.known(), incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))


# What a table of factors holds; found by itself where nobody says.
FACTOR = typer.Option(
    None, "--factor", help="Column of a factor, such as headline; repeatable. Default: recognised automatically."
)
SHOWN = typer.Option(None, help="Column of impressions. Default: shown, impressions, views, n, ...")
CLICKED = typer.Option(None, help="Column of clicks, or of outcomes 0 and 1.")
SLICE = typer.Option(
    None, help="Column of days or weeks: rates are compared within them. Default: day, date, week, ..."
)
ALL_ROWS = typer.Option(
    False, "--all-rows", help="Count every row but true sums, also those without a level, such as '(not set)'."
)
DISPERSION = typer.Option(
    None, help="How much more clicks scatter than binomially, such as 1.9. Default: from repeated rows, otherwise 1."
)
WORKERS = typer.Option(None, help="Number of processes; default: one per core.")
CLUSTER = typer.Option(
    None, help="Address of a Dask scheduler, tcp://host:8786, to work on its workers.", metavar="ADDRESS"
)


@contextlib.contextmanager
def executor_of(cluster: str | None) -> Iterator[Executor | None]:
    """Connect to the cluster, if one is named, and say how much it can do."""
    if cluster is None:
        yield None
        return
    from rankone.simulation.executors import cluster as connect
    from rankone.simulation.executors import parallelism

    with connect(cluster) as executor:
        slots = parallelism(executor, 0)
        able = f"threads of its workers: {slots}" if slots else "no worker yet, the work begins when one comes"
        print(f"Cluster {cluster}: {able}", file=sys.stderr)
        yield executor
