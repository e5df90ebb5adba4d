"""Polars tables as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.markup import escape

if TYPE_CHECKING:
    import polars as pl


# What of a study's summary is shown, and under which names.
SUMMARY = {
    "problem": "problem", "policy": "policy", "regret_mean": "regret", "regret_se": "± se", "regret_median": "median",
    "regret_p95": "p95", "sync_points": "sync points", "seconds": "s a run", "steps_per_second": "steps/s",
}  # fmt: skip


def show_table(table: pl.DataFrame, title: str | None = None, columns: Mapping[str, str] | None = None) -> None:
    """Print a table on standard output, numbers to the right and no longer than they need to be.

    With `columns`, only these columns are shown, under their new names.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from rankone.charts.page import cell_text

    shown = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    if columns is not None:
        table = table.select(*columns).rename(dict(columns))
    for name, kind in table.schema.items():
        shown.add_column(name.replace("_", " "), justify="right" if kind.is_numeric() else "left")
    for row in table.iter_rows():
        shown.add_row(*(escape(cell_text(value)) for value in row))  # square brackets mean colours to rich
    console = Console()
    if not console.is_terminal:  # a pipe or a file has no width of its own: leave room for every column
        console = Console(width=160)
    console.print(shown)
