"""Options that several commands read in the same way, and where their work is done: here, or on a Dask cluster."""

import contextlib
import datetime
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import typer

from rankone.errors import InputError
from rankone.specs import parse_whole_number

Options = dict[str, tuple[Any, Any]]  # by name: the type, and the option of Typer


def whole_number(text: Any) -> int:
    """Read a positive whole number as people write it: 2000000, 2_000_000 or 2e6.

    >>> whole_number("2e6")
    2000000
    """
    try:
        return parse_whole_number("the value", str(text), example=100_000)  # a default comes here too, as a number
    except InputError as error:
        raise typer.BadParameter(str(error)) from None  # Typer says which option it was


def moment(text: Any) -> float:
    """Read seconds since 1970, a day or a time (of UTC, unless it names a zone).

    >>> moment("86400"), moment("1970-01-02")
    (86400.0, 86400.0)
    """
    with contextlib.suppress(ValueError):
        return float(text)
    try:
        at = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a time. Try 2026-11-19 or 2026-11-19T08:30Z.") from None
    return (at if at.tzinfo else at.replace(tzinfo=datetime.UTC)).timestamp()


def moment_option(help: str) -> Any:
    """Return an option that takes a time."""
    return typer.Option(None, parser=moment, metavar="TIME", help=f"{help} 2026-11-19, or seconds since 1970.")


def json_file(option: str, path: Path | None) -> None:
    """Refuse a file that does not end in .json before any work is done."""
    if path is not None and path.suffix != ".json":
        raise InputError(f"a .json file for {option}", str(path), f"try {path.with_suffix('.json')}")


def completing(known: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return a function that completes a name, for a shell; `known` returns all names.

    >>> completing(lambda: ["uts", "ucb1"])("ut")
    ['uts']
    """

    def names(incomplete: str) -> list[str]:
        return sorted(name for name in known() if name.startswith(incomplete))

    return names


policy_names = completing(lambda: importlib.import_module("rankone.policies").known_policies())
format_names = completing(lambda: importlib.import_module("rankone.clicks").FORMATS.known())
model_names = completing(lambda: importlib.import_module("rankone.clicks").MODELS.known())


def policy_option(default: Any, help: str) -> Any:
    """Return the option that names a policy, or several."""
    return typer.Option(default, "--policy", "-P", autocompletion=policy_names, help=help)


def problem_option(default: Any, help: str) -> Any:
    """Return the option that names a problem, or several."""
    return typer.Option(default, "--problem", "-p", help=help)


def model_option(default: Any, help: str) -> Any:
    """Return the option that names a click model, or several."""
    return typer.Option(default, "--model", "-m", autocompletion=model_names, help=help)


_FACTOR_HELP = "Column of a factor, such as headline; repeatable. Default: recognised automatically."
_SLICE_HELP = "Column of days or weeks: rates are compared within them. Default: day, date, week, ..."
_ALL_ROWS_HELP = "Count every row except true sums, also rows without a level, such as '(not set)'."
_DISPERSION_HELP = "How much noisier clicks are than chance alone, such as 1.9. Default: from repeated rows, or 1."
# What a table of factors holds; recognised automatically where nobody says.
TABLE: Options = {
    "factor": (list[str] | None, typer.Option(None, "--factor", help=_FACTOR_HELP)),
    "shown": (str | None, typer.Option(None, help="Column of impressions. Default: shown, impressions, views, n, ...")),
    "clicked": (str | None, typer.Option(None, help="Column of clicks, or of outcomes 0 and 1.")),
    "slice": (str | None, typer.Option(None, help=_SLICE_HELP)),
    "all_rows": (bool, typer.Option(False, "--all-rows", help=_ALL_ROWS_HELP)),
    "dispersion": (float | None, typer.Option(None, help=_DISPERSION_HELP)),
}
JSON = typer.Option(False, "--json", help="Print JSON and nothing else.")
# How much of an answer is printed.
DEPTHS: Options = {
    "brief": (bool, typer.Option(False, "--brief", help="Print the headline and what it assumes, nothing else.")),
    "details": (bool, typer.Option(False, "--details", help="Print assumptions and method too.")),
    "as_json": (bool, JSON),
}
SQL = typer.Option(None, "--sql", help="Instead of a file: a query, which the database of --connect carries out.")
CONNECT = typer.Option(
    None, "--connect", help="With --sql: duckdb:///file.duckdb, postgresql://user@host/database, or what Ibis knows."
)
SEED = typer.Option(0, help="Seed of the random numbers.")
CONFIDENCE = typer.Option(0.95, help="Confidence of the intervals.")
WORKERS = typer.Option(None, help="Number of processes; default: one per core, once a study takes more than a second.")
CLUSTER = typer.Option(
    None, help="Address of a Dask scheduler, tcp://host:8786, to work on its workers.", metavar="ADDRESS"
)


def with_options(options: Options) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator of a command that takes ``**options``: it has these ones beyond those that it names."""

    def spell_out(function: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function)
        named = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
        parameter = functools.partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
        more = [parameter(name, annotation=kind, default=option) for name, (kind, option) in options.items()]
        function.__signature__ = own.replace(parameters=[*named, *more])  # type: ignore[attr-defined]
        return function

    return spell_out


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
