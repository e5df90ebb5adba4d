"""The log of the service, for people or for programs: with JSON, a line is an object, whoever wrote it.

A request is one line: when, its id, what it was, how it was answered and how long that took. Apart from the request's
id and the client's address, which a proxy may give, nothing that a caller sends is written, so a token in its place
is not. Lines are gathered for a moment and written together: a line costs 2 us of the 300 or more that a pair of ask
and tell takes.
"""

import asyncio
import datetime
import itertools
import json
import logging
import re
import secrets
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from uvicorn.config import LOGGING_CONFIG

_PAUSE = 0.1  # seconds that a line waits for others
_ID = re.compile(rb"[!#-\[\]-~]{1,64}")  # what an id may consist of: nothing that JSON would have to change


class JsonFormatter(logging.Formatter):
    """Writes what anybody logs as an object: time, level, who, and the message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        when = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line = {
            "time": when.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


def log_config(kind: str) -> dict[str, Any]:
    """Return how Python's `logging` shall write, for uvicorn to set up in each process."""
    if kind == "text":
        return LOGGING_CONFIG
    to = {"handlers": ["default"], "level": "INFO", "propagate": False}
    stream = {"class": "logging.StreamHandler", "stream": "ext://sys.stderr", "formatter": "default"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"default": {"()": f"{__name__}.JsonFormatter"}},
        "handlers": {"default": stream},
        "loggers": dict.fromkeys(("uvicorn", "rankone", "py.warnings"), to),
    }


class RequestLog:
    """Writes a line for each request; several at once."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._lines: list[str] = []
        self._prefix, self._numbers = secrets.token_hex(4), itertools.count(1)
        self._second, self._text = -1, ""  # the last second, written down

    def id_of(self, headers: Iterable[tuple[bytes, bytes]]) -> str:
        """Return the id of a request: the one that a proxy gave it, or a new one."""
        for name, value in headers:
            if name == b"x-request-id" and _ID.fullmatch(value):
                return value.decode()
        return f"{self._prefix}-{next(self._numbers)}"

    def write(self, now: float, id: str, operation: str, status: int, seconds: float, client: str) -> None:
        """Note a request that was answered."""
        second = int(now)
        if second != self._second:
            self._second = second
            self._text = datetime.datetime.fromtimestamp(second, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S")
        if not self._lines:
            asyncio.get_running_loop().call_later(_PAUSE, self.flush)
        self._lines.append(
            f'{{"time": "{self._text}.{int(1e6 * (now - second)):06d}Z", "level": "info", "id": "{id}", '
            f'"operation": "{operation}", "status": {status}, "ms": {1000.0 * seconds:.3f}, '
            f'"client": {json.dumps(client)}}}\n'
        )

    def flush(self) -> None:
        """Write all lines that wait."""
        lines, self._lines = self._lines, []
        try:
            self._stream.write("".join(lines))
            self._stream.flush()
        except (OSError, ValueError):  # nobody reads it any more, or the disk is full: requests are answered anyway
            return
