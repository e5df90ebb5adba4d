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
)
from rankone.web.server.encoding import encode
from rankone.web.server.responses import Answer

MEDIA_TYPE = "application/problem+json"

# What each error of rankone becomes: (status, code, seconds after which to try again). The first that fits counts.
_ANSWERS: tuple[tuple[type[Exception], int, str, int | None], ...] = (
    (UnknownDecision, 404, "unknown-decision", None),
    (Contradiction, 409, "contradiction", None),
    (KeyReused, 422, "key-reused", None),
    (TooManyOpen, 429, "too-many-open", 1),
    (InputError, 422, "invalid", None),
    (StorageError, 503, "storage", 1),
    (RankoneError, 500, "damaged", None),
)


class Problem(Exception):
    """An answer that is an error: status, a code for programs, a sentence for people."""

    def __init__(
        self, status: int, code: str, detail: str, retry_after: int | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail, self.retry_after = status, code, detail, retry_after
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["Retry-After"] = str(retry_after)

    @classmethod
    def of(cls, error: Exception) -> Problem:
        """Return the problem that an error of rankone is to a client."""
        if isinstance(error, Problem):
            return error
        for kind, status, code, retry_after in _ANSWERS:
            if isinstance(error, kind):
                return cls(status, code, shown(error), retry_after)
        return cls(500, "internal", "expected an answer - got a failure inside the service - see its log")

    def as_dict(self) -> dict[str, Any]:
        """Return the body of the answer."""
        title = HTTPStatus(self.status).phrase
        return {"type": "about:blank", "title": title, "status": self.status, "code": self.code, "detail": self.detail}

    def response(self) -> Answer:
        """Return the answer."""
        return Answer(encode(self.as_dict()), self.status, MEDIA_TYPE.encode(), self.headers)


def database_away() -> Problem:
    """Return that the database does not answer, to those who shall not know which and where it is."""
    detail = "expected the database to answer - got an error, or silence - try again in a second; the log says more"
    return Problem(503, "storage", detail, retry_after=1)


def shown(error: Exception, limit: int = 500) -> str:
    """Return an error's sentence, what was given cut short: nobody gets a megabyte back."""
    if isinstance(error, ExplainedError):
        got = error.got if isinstance(error.got, str) else repr(error.got)
        return f"expected {_cut(error.expected, limit)} - got {_cut(got, limit)} - {_cut(error.do, limit)}"
    return _cut(str(error), limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}..."
