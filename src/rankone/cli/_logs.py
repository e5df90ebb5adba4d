"""What the commands that read a click log share: options of the formats, progress, the account of what was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from rankone.cli._options import format_names
from rankone.cli._wording import as_format_options, told_as
from rankone.errors import InputError

if TYPE_CHECKING:
    from rankone.clicks.counts.counts import Counts
    from rankone.clicks.logs.read_report import ReadReport

LOGS = typer.Argument(..., help="The log: a file, several files or a glob; plain, gzip or zstd.")
FORMAT = typer.Option(
    None, "--format", "-f", autocompletion=format_names,
    help="yandex-rpc, yandex-pwsc, open-bandit, table or list-table; recognised automatically.",
)  # fmt: skip
OPTION = typer.Option(
    None,
    "--option",
    "-o",
    help="An option of the format, such as item=doc (table) or regions=merge (yandex-rpc); repeatable.",
)
POSITIONS = typer.Option(
    None, help="Positions of a result list that count. Default: all of a table, 10 of a log of sessions."
)
TOP = typer.Option(20, min=0, help="Keep this many queries, the most frequent ones; 0 keeps all.")
STRICT = typer.Option(False, "--strict", help="Stop at the first row that cannot be read.")
MAX_BAD = typer.Option(0.01, help="Stop when more than this share of the rows cannot be read.")


def format_options(texts: list[str] | None) -> dict[str, str]:
    """Turn ``name=value`` texts into options."""
    options = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError("options written name=value", text, "try --option item=doc")
        options[name] = value
    return options


@contextmanager
def reading_bar() -> Iterator[Callable[[int, int, int], None]]:
    """Yield a progress function for reading that shows bytes and rows on standard error."""
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from rankone.cli._progress import NOTHING_KEPT, late_bar, stopped_by_hand

    columns: Any = (
        TextColumn("reading"), BarColumn(), DownloadColumn(), TextColumn("{task.fields[rows]:,} rows"),
        TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    with stopped_by_hand(lambda: NOTHING_KEPT), late_bar(*columns) as bar:
        task = bar.add_task("reading", total=None, rows=0)

        def draw(done: int, total: int, rows: int) -> None:
            bar.start()
            bar.update(task, completed=done, total=total, rows=rows)

        with told_as(as_format_options):
            yield draw


def read_counts(log: list[str], format: str | None, option: list[str] | None, top: int, **more: Any) -> Counts:
    """Read a log, with a bar, and keep its most frequent queries (0: all)."""
    from rankone import clicks

    options: dict[str, Any] = format_options(option)
    with reading_bar() as reading:
        counts = clicks.read(log, format, progress=reading, **more, **options)
    return counts.top(top) if top else counts


def show_account(report: ReadReport) -> None:
    """Print what was read and what was set aside."""
    import polars as pl

    from rankone.cli._tables import show_table

    lines = report.lines()
    table = pl.DataFrame({"read": [what for what, _ in lines], "number": [number for _, number in lines]})
    show_table(table, f"The log ({report.format})")
    for note in report.notes:
        print(f"Beware: {as_format_options(note)}")
    for warning in report.warnings():
        print(f"Beware: {warning}")
