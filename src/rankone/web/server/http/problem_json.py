"""Errors as the service answers them: one shape, ``application/problem+json`` (RFC 9457), for every one of them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from rankone.errors import (
    Contradiction,
    ExplainedError,
    InputError,
    KeyReused,
    RankoneError,
    StorageError,
    TooManyOpen,
    UnknownDecision,
    sentence,
)
from rankone.live.storage.driver import DamagedDatabase
from rankone.web.encoding import encode
from rankone.web.server.http.responses import Answer

MEDIA_TYPE = "application/problem+json"
_LONGEST = 500  # characters of each part of an error
_SEE_LOG = "see its log"

# What each error of rankone becomes: (status, code, seconds after which to try again). The first that fits counts.
_ANSWERS: tuple[tuple[type[Exception], int, str, int | None], ...] = (
    (UnknownDecision, 404, "unknown-decision", None),
    (Contradiction, 409, "contradiction", None),
    (KeyReused, 422, "key-reused", None),
    (TooManyOpen, 429, "too-many-open", 1),
    (InputError, 422, "invalid", None),
    (RankoneError, 500, "damaged", None),
)


class Problem(Exception):
    """An answer that is an error: status, a code for programs, and what was expected, what came and what to do."""

    def __init__(
        self,
        status: int,
        code: str,
        expected: str,
        got: Any,
        do: str,
        *,
        retry_after: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.status, self.code, self.retry_after = status, code, retry_after
        self.expected, self.got, self.do = _cut(expected), _cut(got if isinstance(got, str) else repr(got)), _cut(do)
        self.detail = sentence(self.expected, self.got, self.do)
        super().__init__(self.detail)
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["Retry-After"] = str(retry_after)

    @classmethod
    def of(cls, error: Exception) -> Problem:
        """Return the problem that an error of rankone is to a client."""
        if isinstance(error, Problem):
            return error
        if isinstance(error, StorageError):  # names the database, its machine and its user
            return database_away()
        for kind, status, code, retry_after in _ANSWERS:
            if isinstance(error, kind):
                return cls(status, code, *_parts(error), retry_after=retry_after)
        return cls(500, "internal", "an answer", "a failure inside the service", _SEE_LOG)

    def explanation(self) -> dict[str, str]:
        """Return the error as a sentence for people, and its parts for programs."""
        return {"detail": self.detail, "expected": self.expected, "got": self.got, "do": self.do}

    def to_dict(self) -> dict[str, Any]:
        """Return the body of the answer."""
        title = HTTPStatus(self.status).phrase
        head = {"type": "about:blank", "title": title, "status": self.status, "code": self.code}
        return head | self.explanation()

    def response(self) -> Answer:
        """Return the answer."""
        return Answer(encode(self.to_dict()), self.status, MEDIA_TYPE.encode(), self.headers)


def database_away() -> Problem:
    """Return that the database does not answer, and not which and where it is: the log says that."""
    do = "try again in a second; the log says more"
    return Problem(503, "storage", "the database to answer", "an error, or no answer", do, retry_after=1)


def _parts(error: Exception) -> tuple[str, Any, str]:
    if isinstance(error, DamagedDatabase):  # says where it is
        return "an undamaged database", "a damaged one", "restore it from a backup; the log says which"
    if isinstance(error, ExplainedError):
        return error.expected, error.got, error.do
    return "an answer", str(error), _SEE_LOG


def _cut(text: str) -> str:
    """Return a text cut short: nobody gets a megabyte back."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
