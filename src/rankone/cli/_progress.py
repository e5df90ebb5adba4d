"""Progress on standard error, so that standard output stays clean for results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

NOTHING_KEPT = "no result was written"


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
) -> Iterator[Callable[..., None]]:
    """Yield a function (finished, total) that draws a progress bar on standard error.

    Called with a third argument, it draws what that names: something that comes before.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    )  # fmt: skip
    with stopped_by_hand(kept), Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)

        def draw(finished: int, total: int, what: str = what) -> None:
            if what != bar.tasks[0].description:
                bar.reset(task, description=what)  # the time that is left is that of what is counted now
            bar.update(task, completed=finished, total=total)

        yield draw
