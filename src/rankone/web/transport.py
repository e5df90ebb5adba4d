"""One connection for each thread to a service, with retries where they are safe. Standard library only."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import ssl
import threading
import time
from typing import Any
from urllib.parse import SplitResult, urlsplit

from rankone import errors
from rankone.errors import InputError, RankoneError, StorageError

_AGAIN = (429, 503)
_ERRORS: dict[str, type[errors.ExplainedError]] = {
    "unknown-decision": errors.UnknownDecision,
    "contradiction": errors.Contradiction,
    "key-reused": errors.KeyReused,
    "too-many-open": errors.TooManyOpen,
    "storage": StorageError,
    "damaged": errors.JournalError,
}


class Transport:
    """Sends requests to a service.

    Args:
        url: address of the service.
        token: sent with every request, in a header.
        patience: seconds to go on trying while the service is away, busy or restarting.
        timeout: seconds to wait for one answer.
    """

    def __init__(self, url: str, token: str | None, patience: float, timeout: float) -> None:
        self._parts = _checked_address(url)
        self.address = self._parts._replace(netloc=self._parts.netloc.rpartition("@")[2]).geturl()  # no password
        self._base = self._parts.path.rstrip("/")
        self._headers = {"Accept": "application/json, application/problem+json"}
        if token:
            if not (token.isascii() and token.isprintable()):
                do = "pass what `rankone token create` printed, without the end of the line"
                raise InputError("a token of one line of plain characters", "another", do)
            self._headers["Authorization"] = f"Bearer {token}"
        self._patience, self._timeout = patience, timeout
        self._own = threading.local()

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        again: bool = True,
        timeout: float | None = None,
        raw: bool = False,
    ) -> Any:
        """Send a request; return the answer's JSON or raise the error it tells.

        Args:
            method: such as "GET".
            path: behind the address of the service.
            body: sent as JSON.
            headers: beyond those of every request.
            again: it may be carried out twice without harm, so it is sent again where no answer came.
            timeout: seconds to wait for this answer, where others than usual.
            raw: return the answer's bytes as they came.
        """
        deadline = time.monotonic() + self._patience
        pause = 0.05
        while True:
            wait: float = pause
            try:
                status, answer, retry_after = self._exchange(
                    method, path, body, headers or {}, timeout or self._timeout
                )
                if status < 300:
                    return answer if raw else _decoded(status, answer)
                failure = _error(status, answer)
                if status not in _AGAIN:
                    raise failure
                wait = max(wait, _seconds(retry_after))
            except (OSError, http.client.HTTPException) as error:
                self.close()
                do = "see that `rankone serve` runs there, then try again"
                failure = StorageError(f"the service {self._parts.netloc} to answer", _plain(error), do)
                if not again and not isinstance(error, ConnectionRefusedError):
                    raise failure from error
            if time.monotonic() + wait > deadline:
                raise failure
            time.sleep(wait * random.uniform(0.5, 1.0) if wait == pause else wait)  # noqa: S311 - not for secrets
            pause = min(1.0, 2 * pause)

    def _exchange(
        self, method: str, path: str, body: Any, headers: dict[str, str], timeout: float
    ) -> tuple[int, bytes, str | None]:
        connection = self._connection(timeout)
        content = None if body is None else _encoded(body)
        sent = self._headers | headers | ({} if content is None else {"Content-Type": "application/json"})
        connection.request(method, self._base + path, content, sent)
        response = connection.getresponse()
        return response.status, response.read(), response.getheader("Retry-After")

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is None:
            host, port = self._parts.hostname or "", self._parts.port
            if self._parts.scheme == "https":
                context = ssl.create_default_context()
                connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
            else:
                connection = http.client.HTTPConnection(host, port, timeout=timeout)
            self._own.connection = connection
        connection.timeout = timeout
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        return connection

    def close(self) -> None:
        """Close this thread's connection; the next request opens another."""
        connection = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()
            self._own.connection = None


def _checked_address(url: str) -> SplitResult:
    with contextlib.suppress(ValueError):  # brackets that do not close, a port that is none
        parts = urlsplit(str(url))
        plain = parts.hostname and parts.port != 0 and not parts.query and not parts.fragment
        if plain and parts.scheme in ("http", "https"):
            return parts
    raise InputError("the address of a service, http:// or https://", url, "pass 'http://127.0.0.1:8000', say")


def _encoded(body: Any) -> bytes:
    try:
        return json.dumps(body).encode()
    except TypeError as error:
        raise InputError("numbers, texts and lists of them", str(error), "convert it to one of these") from None


def _decoded(status: int, answer: bytes) -> Any:
    try:
        return json.loads(answer)
    except ValueError:
        raise _stranger(status) from None


def _seconds(retry_after: str | None) -> float:
    """Return the seconds to wait; a proxy may name a date instead, which is as good as nothing."""
    return float(retry_after) if retry_after and retry_after.isdecimal() else 0.0


def _error(status: int, answer: bytes) -> RankoneError:
    """Return the error that an answer tells, of the class that the embedded experiment would have raised."""
    try:
        return problem_error(json.loads(answer))
    except (ValueError, KeyError, TypeError, AttributeError):
        return _stranger(status)


def _stranger(status: int) -> errors.ExplainedError:
    """Return the error for an answer that is not in the words of this service."""
    kind = StorageError if status >= 500 or status == 429 else InputError
    return kind("an answer of a rankone service", f"another, of status {status}", "check the address of the service")


def problem_error(problem: dict[str, Any]) -> errors.ExplainedError:
    """Return a problem as the error it stands for."""
    expected, _, rest = problem["detail"].removeprefix("expected ").partition(" - got ")
    got, _, do = rest.rpartition(" - ")
    default = StorageError if problem["status"] >= 500 or problem["code"] == "too-many-requests" else InputError
    return _ERRORS.get(problem["code"], default)(expected, got or rest, do)


def _plain(error: Exception) -> str:
    return str(error) or type(error).__name__
