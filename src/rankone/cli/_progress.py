"""Progress on standard error, so that standard output stays clean for results."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

NOTHING_KEPT = "no result was written"
_COMPILING = "compiling, if new here (first time only)"  # as wide as the bar in whose place it stands
_PATIENCE = 2.0  # seconds without a result before that is said


@contextmanager
def stopped_by_hand(kept: Callable[[], str]) -> Iterator[None]:
    """Turn Ctrl-C into a sentence at once, one that says what was kept, and the exit code that shells expect."""
    usual = signal.getsignal(signal.SIGINT)

    def stop(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, usual)
        print("rankone: stopping ...", file=sys.stderr)  # workers take seconds to end
        raise KeyboardInterrupt

    # Whoever ignores Ctrl-C, or handles it in another way, knows why; and other threads are never told of it.
    ours = usual is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, stop)
    try:
        yield
    except KeyboardInterrupt:
        print(f"rankone: stopped; {kept()}", file=sys.stderr)
        raise SystemExit(130) from None
    finally:
        if ours:
            signal.signal(signal.SIGINT, usual)


@contextmanager
def late_bar(*columns: ProgressColumn) -> Iterator[Progress]:
    """Yield a progress bar that is to be started with the first figure: none is drawn above an input error."""
    console = Console(stderr=True)
    bar = Progress(*columns, console=console, disable=not console.is_terminal)  # in a file it would be noise
    try:
        yield bar
    finally:
        if bar.live.is_started:
            bar.stop()


class CompilingOrBar(ProgressColumn):
    """The bar; while nothing new is finished, what is probably going on."""

    def __init__(self) -> None:
        super().__init__()
        self._bar = BarColumn()

    def render(self, task: Task) -> RenderableType:
        """Return the text or the bar."""
        waits = not task.finished and task.completed <= task.fields["first"] and (task.elapsed or 0.0) > _PATIENCE
        return Text(_COMPILING) if waits and task.fields["compiles"] else self._bar.render(task)


def said_first(text: str | None, progress: Callable[..., None]) -> Callable[..., None]:
    """Return `progress`, which prints a text before its first figure: what is refused before is refused alone."""
    unsaid = [text] if text else []

    def report(*figures: object) -> None:
        if unsaid:
            print(unsaid.pop(), file=sys.stderr)
        progress(*figures)

    return report


@contextmanager
def progress_bar(
    what: str, kept: str = NOTHING_KEPT, *, out: Path | None = None, compiles: bool = False
) -> Iterator[Callable[..., None]]:
    """Yield a function (finished, total) that draws a progress bar on standard error.

    Called with a third argument, it draws what that names: something that comes before. `kept` is said after Ctrl-C;
    where finished work is kept in `out`, how much. `compiles`: the first result may have to wait for a compiler.
    """
    done: list[str] = []

    def what_is_kept() -> str:
        if out is None:
            return kept
        return f"{done[0] if done else 'what was finished is'} kept in {out}; the same command continues"

    times = (TimeElapsedColumn(), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), CompilingOrBar(), MofNCompleteColumn(), *times)
    with stopped_by_hand(what_is_kept), late_bar(*columns) as bar:
        task = bar.add_task(what, total=None, first=0, compiles=compiles)

        def draw(finished: int, total: int, part: str = what) -> None:
            new = not bar.live.is_started or part != bar.tasks[0].description
            if new:  # the time that is left is that of what is counted now
                bar.reset(task, description=part, first=finished, compiles=compiles and part == what)
                bar.start()
            if part == what:
                done[:] = [f"{finished:,} of {total:,} {what} are"]
            bar.update(task, completed=finished, total=total)

        yield draw
