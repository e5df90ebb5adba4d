"""Progress of what takes long: a function of your own, or a bar, in a terminal or in a notebook."""

import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from rankone.errors import InputError

Progress = Callable[[int, int], None]
Function = TypeVar("Function", bound=Callable[..., None])
_PAUSE = 0.2  # seconds between two pictures of the bar
_WIDTH = 30  # characters
_LATE = 1.0  # seconds that anybody waits without asking


def as_progress(
    progress: Function | bool | None, what: str = "runs", *, late: bool = False
) -> Function | Callable[..., None]:
    """Return a function of (finished, all): the one given, a bar for True, nothing for None or False.

    With `late`, None is a bar that is drawn once a second has passed.

    >>> as_progress(None, "bytes")(1, 2)
    """
    if progress is None and late:
        return Bar(what, after=_LATE)
    if progress is None or progress is False:
        return lambda finished, total, *more: None
    if progress is True:
        return Bar(what)
    if not callable(progress):
        raise InputError("progress as True or a function of (finished, all)", progress, "pass progress=True")
    return progress


class Bar:
    """A bar that draws itself again, in a notebook by its own means, elsewhere as a line on standard error.

    Args:
        what: is counted.
        after: seconds before which nothing is drawn.
    """

    def __init__(self, what: str, after: float = 0.0) -> None:
        self._what, self._after, self._drawn, self._start = what, after, 0.0, time.monotonic()
        self._handle: Any = None
        self.first: int | None = None  # what was finished when it began: an earlier call may have kept it
        self._in_notebook = _in_notebook()

    def __call__(self, finished: int, total: int, part: object = None) -> None:
        """Draw, unless it was drawn a moment ago; a text as `part` names what is counted instead."""
        now = time.monotonic()
        self.first = finished if self.first is None else self.first
        if now - self._start < self._after or (finished < total and now - self._drawn < _PAUSE):
            return
        self._drawn = now
        passed = now - self._start
        text = f"{finished:,} of {total:,} {part if isinstance(part, str) else self._what}, {passed:,.0f} s"
        if self.first < finished < total:
            text += f", about {passed / (finished - self.first) * (total - finished):,.0f} s left"
        if self._in_notebook:
            self._show(f'<progress value="{finished}" max="{total}" style="width:20em"></progress> {text}', text)
        elif sys.stderr.isatty() or finished == total:
            done = _WIDTH * finished // max(1, total)
            end = "\n" if finished == total else ""
            sys.stderr.write(f"\r[{'#' * done}{'.' * (_WIDTH - done)}] {text:<{2 * _WIDTH}}{end}")
            sys.stderr.flush()

    def _show(self, html: str, text: str) -> None:
        from IPython import display as ipython

        display: Any = ipython.display
        data = {"text/html": html, "text/plain": text}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)


def _in_notebook() -> bool:
    """Whether this process is a kernel of Jupyter; IPython is not imported to find out."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "kernel", None) is not None
