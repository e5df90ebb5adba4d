"""Progress on standard error, so that standard output stays clean for results."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rankone.progress import Bar

NOTHING_KEPT = "no result was written"
_COMPILING = "compiling first, if new here"


@contextmanager
def stopped_by_hand(kept: Callable[[], str]) -> Iterator[None]:
    """Turn Ctrl-C into a sentence at once, one that says what was kept, and the exit code that shells expect."""
    usual = signal.getsignal(signal.SIGINT)

    def stop(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, usual)
        print("\nrankone: stopping ...", file=sys.stderr)  # below the bar; workers take seconds to end
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
    """Yield a function (finished, total) that draws a progress bar, in a terminal, on standard error.

    Called with a third argument, it draws what that names: something that comes before. `kept` is said after Ctrl-C;
    where finished work is kept in `out`, how much. `compiles`: the first result may have to wait for a compiler.
    """
    done: list[str] = []
    bars: dict[str, Bar] = {}

    def what_is_kept() -> str:
        if out is None:
            return kept
        return f"{done[0] if done else 'what was finished is'} kept in {out}; the same command continues"

    def draw(finished: int, total: int, part: str = what) -> None:
        if part == what:
            done[:] = [f"{finished:,} of {total:,} {what} are"]
        if sys.stderr.isatty():
            bar = bars.setdefault(part.partition(",")[0], Bar(part))
            waits = compiles and part == what and finished < total and bar.first in (None, finished)
            bar(finished, total, f"{part}; {_COMPILING}" if waits else part)

    with stopped_by_hand(what_is_kept):
        yield draw
