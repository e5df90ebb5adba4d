"""The log of the service, for people or for programs: with JSON, a line is an object, whoever wrote it.

A request is one line: when, its id, what it was, how it was answered and how long that took. Apart from the request's
id and the client's address, which a proxy may give, nothing that a caller sends is written, so a token in its place
is not.
"""

import datetime
import json
import logging
import re
import secrets
from collections.abc import Iterable
from typing import Any

from uvicorn.config import LOGGING_CONFIG

_ID = re.compile(rb"[!-~]{1,64}")  # what an id may consist of
_REQUESTS = logging.getLogger("rankone.web")


class JsonFormatter(logging.Formatter):
    """Writes what anybody logs as an object: time, level, who, and the message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        when = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line = {
            "time": when.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
        }
        line |= getattr(record, "facts", {"logger": record.name, "message": record.getMessage()})
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


def request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the id of a request: the one that a proxy gave it, or a new one."""
    given = dict(headers).get(b"x-request-id", b"")
    return given.decode() if _ID.fullmatch(given) else secrets.token_hex(8)


def log_request(id: str, operation: str, status: int, seconds: float, client: str) -> None:
    """Write a line for a request that was answered."""
    facts = {"id": id, "operation": operation, "status": status, "ms": round(1000.0 * seconds, 3), "client": client}
    _REQUESTS.info("%s %d", operation, status, extra={"facts": facts})
