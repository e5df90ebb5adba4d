"""The errors rankone raises, all in one voice: what was expected, what came, what to do.

::

    RankoneError
    ├── InputError       (also ValueError)    a value the caller gave cannot be used
    ├── DecisionError    (also ValueError)    a decision is unknown, or already has its outcome
    └── MissingExtra     (also ImportError)   an optional dependency is not installed
"""

from __future__ import annotations

from typing import Any


class RankoneError(Exception):
    """Base of every error that rankone raises on purpose."""


class InputError(RankoneError, ValueError):
    """A value cannot be used; the message says what was expected, what came and what to do.

    >>> str(InputError("a horizon of at least 1", -5, "pass horizon=1000, say"))
    'expected a horizon of at least 1 - got -5 - pass horizon=1000, say'
    """

    def __init__(self, expected: str, got: Any, do: str) -> None:
        self.expected, self.got, self.do = expected, got, do
        super().__init__(f"expected {expected} - got {got if isinstance(got, str) else repr(got)} - {do}")

    def __reduce__(self) -> tuple[type, tuple[str, Any, str]]:
        """Travel between processes whole (exceptions pickle their message only)."""
        return type(self), (self.expected, self.got, self.do)


class DecisionError(InputError):
    """A decision that was never asked for, or that already has its outcome."""


class MissingExtra(RankoneError, ImportError):
    """An optional part of rankone is not installed; the message names the command that installs it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the optional part '{extra}' - it is not installed - run: pip install 'rankone[{extra}]'"
        )
