"""Progress on standard error, so that standard output stays clean for results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function (finished, total) that draws a progress bar on standard error."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    try:
        with Progress(*columns, console=console) as bar:
            task = bar.add_task(what, total=None)
            yield lambda finished, total: bar.update(task, completed=finished, total=total)
    except KeyboardInterrupt:
        console.print("rankone: stopped; what was finished is kept where --out names a directory")
        raise SystemExit(130) from None
