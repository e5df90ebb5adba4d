"""What a caller may want of a database: to write to an experiment, to look at one, or to have the database alone.

A job has its result once it was carried out without an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from rankone.live.commit.group_commit import Job
from rankone.live.fold.fold import Fold
from rankone.live.fold.fold_cache import CachedFold
from rankone.live.messages import Answer, Request

T = TypeVar("T")


class Write(Job):
    """Carry out requests to an experiment; the result is an answer for each. Those that wait share a commit."""

    __slots__ = ("of", "requests", "result")
    result: list[Answer]

    def __init__(self, of: CachedFold, requests: Sequence[Request]) -> None:
        super().__init__()
        self.of, self.requests = of, requests


class Look(Job, Generic[T]):
    """Look at the newest state of an experiment; the result is what `at(fold)` returns. Nothing is written for it."""

    __slots__ = ("at", "of", "result")
    result: T

    def __init__(self, of: CachedFold, at: Callable[[Fold], T]) -> None:
        super().__init__()
        self.of, self.at = of, at


class Alone(Job, Generic[T]):
    """Call `do()` while nobody else of this process uses the database; `of`: it changes this experiment."""

    __slots__ = ("do", "of", "result")
    alone = True
    result: T

    def __init__(self, do: Callable[[], T], of: CachedFold | None = None) -> None:
        super().__init__()
        self.do, self.of = do, of


AnyJob = Write | Look[Any] | Alone[Any]
