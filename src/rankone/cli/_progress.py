"""Progress on standard error, so that standard output stays clean for results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def stopped_by_hand(kept: str) -> Iterator[None]:
    """Turn Ctrl-C into one sentence, which says what was kept, and the exit code that shells expect."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"rankone: stopped; {kept}", file=sys.stderr)
        raise SystemExit(130) from None


@contextmanager
def progress_bar(
    what: str, kept: str = "what was finished is kept where --out names a directory"
) -> Iterator[Callable[[int, int], None]]:
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
    with stopped_by_hand(kept), Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)
        yield lambda finished, total: bar.update(task, completed=finished, total=total)
