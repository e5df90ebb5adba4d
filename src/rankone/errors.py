"""The errors rankone raises, all in one voice: what was expected, what came, what to do.

::

    RankoneError
    ├── InputError            (also ValueError)       a value the caller gave cannot be used
    │   ├── DecisionError                             a decision is unknown, or already has its outcome
    │   │   ├── UnknownDecision                       no decision has this id
    │   │   └── Contradiction                         the decision already has another outcome; the first one stays
    │   ├── KeyReused                                 an idempotency key came again with another request
    │   └── TooManyOpen                               too many decisions wait for their outcomes
    ├── StorageError                                  the disk or database is gone, full or busy
    ├── JournalError                                  a journal is damaged, or newer than this program
    ├── WorkerError                                   a worker or the scheduler is gone, or runs other versions
    ├── ConformanceError      (also AssertionError)   a class does not keep its contract (`rankone.testing`)
    └── MissingExtra          (also ImportError)      an optional dependency is not installed
"""

import contextlib
from collections.abc import Iterator
from typing import Any


def sentence(expected: str, got: Any, do: str) -> str:
    """Return an error as a person reads it: what is wrong, then the fix. Programs read its three parts.

    Where `expected` ends in a colon or a full stop, it says what is wrong instead.

    >>> sentence("a horizon of at least 1", -5, "try horizon=1000")
    'Expected a horizon of at least 1, but got -5. Try horizon=1000.'
    >>> sentence("No such file:", "ab.csv", "check the path"), sentence("The file has a header but no rows.", "", "")
    ('No such file: ab.csv. Check the path.', 'The file has a header but no rows.')
    >>> sentence("a lift above 0", None, "try lift=0.1")
    'Expected a lift above 0, but got nothing. Try lift=0.1.'
    """
    said = "" if got is None else got if isinstance(got, str) else repr(got)
    whole = expected.endswith((":", "."))
    problem = f"{expected} {said}".strip() if whole else f"Expected {expected}, but got {said or 'nothing'}"
    parts = [problem, do[:1].upper() + do[1:]]
    return " ".join(part if part.endswith((".", "?", "!")) else f"{part}." for part in parts if part)


class RankoneError(Exception):
    """Base of every error that rankone raises on purpose."""


class ExplainedError(RankoneError):
    """An error whose message says what was expected, what came and what to do."""

    def __init__(self, expected: str, got: Any, do: str) -> None:
        self.expected, self.got, self.do = expected, got, do
        super().__init__(sentence(expected, got, do))

    def __reduce__(self) -> tuple[type, tuple[str, Any, str]]:
        """Travel between processes whole (exceptions pickle their message only)."""
        return type(self), (self.expected, self.got, self.do)


class InputError(ExplainedError, ValueError):
    """A value cannot be used; the message says what was expected, what came and what to do.

    >>> str(InputError("a horizon of at least 1", -5, "try horizon=1000"))
    'Expected a horizon of at least 1, but got -5. Try horizon=1000.'
    """


@contextlib.contextmanager
def naming(where: object) -> Iterator[None]:
    """Say of an `InputError` in what it was found: a file, or a part of one.

    >>> with naming("shoes.csv"):
    ...     raise InputError("a number", "x", "try 0.5")
    Traceback (most recent call last):
    rankone.errors.InputError: Expected a number in shoes.csv, but got x. Try 0.5.
    """
    try:
        yield
    except InputError as error:
        said = f"{where}: {error.expected}" if error.expected.endswith((":", ".")) else f"{error.expected} in {where}"
        raise InputError(said, error.got, error.do) from None


class DecisionError(InputError):
    """A decision that was never asked for, or that already has its outcome."""


class UnknownDecision(DecisionError):
    """No decision of this experiment has this id."""


class Contradiction(DecisionError):
    """The decision already has another outcome; the first one stays."""


class KeyReused(InputError):
    """An idempotency key came again with a different request."""


class TooManyOpen(InputError):
    """So many decisions wait for their outcomes that no more are given out for now."""


class StorageError(ExplainedError):
    """The disk or the database is gone, full or busy. Nothing is half written; a commit may have been stored."""


class JournalError(ExplainedError):
    """A journal is damaged, or was written by a newer program."""


class WorkerError(ExplainedError):
    """A worker or the scheduler is gone, or runs other versions. What was finished is kept."""


class ConformanceError(ExplainedError, AssertionError):
    """A class does not do what rankone asks of its kind; the suites of `rankone.testing` raise it."""


class MissingExtra(RankoneError, ImportError):
    """An optional part of rankone is not installed; the message names the command that installs it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the optional part '{extra}', which is not installed. Run: pip install 'rankone[{extra}]'"
        )
