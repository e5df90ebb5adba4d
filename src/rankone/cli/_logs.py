"""What the commands that read a click log share: options of the formats, progress, the account of what was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from rankone.cli._options import Options, format_names
from rankone.cli._tables import show_rows
from rankone.cli._wording import as_format_options
from rankone.errors import InputError

if TYPE_CHECKING:
    from rankone.clicks.counts.counts import Counts
    from rankone.clicks.logs.read_report import ReadReport

LOGS = typer.Argument(..., help="The log: a file, several files or a glob; plain, gzip or zstd.")
_FORMAT_HELP = "yandex-rpc, yandex-pwsc, open-bandit or table; recognised automatically."
_OPTION_HELP = "An option of the format, such as item=doc (table) or regions=merge (yandex-rpc); repeatable."
_POSITIONS_HELP = "Positions of a result list that count. Default: all of a table, 10 of a log of sessions."
FORMAT: Options = {
    "format": (str | None, typer.Option(None, "--format", "-f", autocompletion=format_names, help=_FORMAT_HELP)),
    "option": (list[str] | None, typer.Option(None, "--option", "-o", help=_OPTION_HELP)),
    "positions": (int | None, typer.Option(None, help=_POSITIONS_HELP)),
    "max_bad": (float, typer.Option(0.01, help="Stop when more than this share of the rows cannot be read.")),
}
READING: Options = FORMAT | {
    "strict": (bool, typer.Option(False, "--strict", help="Stop at the first row that cannot be read."))
}
METHOD = typer.Option("auto", help="likelihood or all-pairs; auto: all-pairs where items have few clicks.")
TOP_HELP = "Keep this many queries, the most frequent ones; 0 keeps all."
TOP = typer.Option(20, min=0, help=TOP_HELP)


def for_reader(option: list[str] | None, **more: Any) -> dict[str, Any]:
    """Return options of the command as arguments of the functions that read logs: ``name=value`` is one too."""
    for text in option or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError("options written name=value", text, "try --option item=doc")
        more[name] = value
    return more


@contextmanager
def reading_bar() -> Iterator[Callable[[int, int, int], None]]:
    """Yield a progress function for reading that shows bytes and rows on standard error."""
    from rankone.cli._progress import progress_bar

    with progress_bar("bytes") as draw:
        try:
            yield lambda done, total, rows: draw(done, total, f"bytes, {rows:,} rows")
        except InputError as error:  # options of the format, also where the command has one of that name
            raise type(error)(as_format_options(error.expected), error.got, as_format_options(error.do)) from None


def read_counts(log: list[str], top: int, reading: Mapping[str, Any]) -> Counts:
    """Read a log, with a bar, and keep its most frequent queries (0: all)."""
    from rankone import clicks

    wanted = for_reader(**reading)
    with reading_bar() as progress:
        counts = clicks.read(log, progress=progress, **wanted)
    return counts.top(top) if top else counts


def show_account(report: ReadReport) -> None:
    """Print what was read and what was set aside."""
    show_rows(list(report.lines()), ("read", "number"), f"The log ({report.format})")
    for warning in [*map(as_format_options, report.notes), *report.warnings()]:
        print(f"Beware: {warning}")
