"""Requests to a service, sent again where that is safe and may help. Standard library only.

What is sent again is decided here and not by a library: it depends on what the service may have begun with.
`http.client` speaks the protocol. urllib3 and httpx were measured on loopback: one and a half and three times the
processor time of a request, one and seven packages more.
"""

import contextlib
import json
import os
import random
import re
import select
import ssl
import time
from collections import deque
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import SplitResult, urlsplit

from rankone import errors
from rankone.errors import InputError, RankoneError, StorageError

_IDLE = 64  # connections kept open; more are closed as soon as they are not needed
# Seconds after which an idle one is not used again. A firewall or a NAT on the way may forget it some minutes later and
# tell neither side; a request over it would wait in vain for its whole timeout.
_STALE = 60.0
_REFUSED = (429,)  # the service has not begun with the request
_AWAY = (429, 502, 503, 504)  # busy or restarting, as it says itself or as a proxy before it does
_ERRORS: dict[str, type[errors.ExplainedError]] = {
    "unknown-decision": errors.UnknownDecision,
    "contradiction": errors.Contradiction,
    "key-reused": errors.KeyReused,
    "too-many-open": errors.TooManyOpen,
    "storage": StorageError,
    "damaged": errors.JournalError,
}


class Transport:
    """Sends requests to a service; its arguments are those of `Client`."""

    def __init__(self, url: str, token: str | None, patience: float, timeout: float) -> None:
        parts = _checked_address(url)
        self.address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()  # no password
        self._base = parts.path.rstrip("/")
        self._headers = {"Accept": "application/json, application/problem+json"}
        if token:
            if not (token.isascii() and token.isprintable()):
                do = "pass what `rankone token create` printed, without the end of the line"
                raise InputError("a token of one line of plain characters", "another", do)
            self._headers["Authorization"] = f"Bearer {token}"
        self._patience, self._timeout = patience, timeout
        self._connections = Connections(parts.hostname or "", parts.port, secure=parts.scheme == "https")

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
        """Send a request, with its body as JSON; return the answer's JSON (`raw`: its bytes) or raise its error.

        `again`: it may be carried out twice without harm, so it is sent again wherever that may help. What may not is
        sent again only where the service cannot have begun with it: not reached, or refused for its rate.
        """
        content = None if body is None else _encoded(body)
        sent = self._headers | (headers or {}) | ({} if content is None else {"Content-Type": "application/json"})
        deadline = time.monotonic() + self._patience
        pause = 0.05
        while True:
            wait: float = pause
            reached = False
            try:
                connection = self._connections.take(timeout or self._timeout, new=not again)
                reached = True
                status, answer, retry_after = self._exchange(connection, method, path, content, sent)
                if status < 300:
                    return answer if raw else _decoded(status, answer)
                failure = _error(status, answer)
                hopeless = status not in (_AWAY if again else _REFUSED) or isinstance(failure, errors.TooManyOpen)
                wait = max(wait, _seconds(retry_after))
            except (OSError, HTTPException) as error:
                self.close()  # a service that went away has left the idle ones dead too
                do = "see that `rankone serve` runs there, then try again"
                failure = StorageError(f"the service {self.address} to answer", _plain(error), do)
                failure.__cause__ = error
                hopeless = (reached and not again) or isinstance(error, ssl.SSLCertVerificationError)
            if hopeless or time.monotonic() + wait > deadline:
                raise failure
            time.sleep(wait * random.uniform(0.5, 1.0) if wait == pause else wait)  # noqa: S311 - not for secrets
            pause = min(1.0, 2 * pause)

    def _exchange(
        self, connection: HTTPConnection, method: str, path: str, content: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes, str | None]:
        try:
            connection.request(method, self._base + path, content, headers)
            response = connection.getresponse()
            answer = response.read()
        except BaseException:  # half an answer may be left in it, also after Ctrl-C
            connection.close()
            raise
        self._connections.give_back(connection)
        return response.status, answer, response.getheader("Retry-After")

    def close(self) -> None:
        """Close the connections that are not in use; the next request opens another."""
        self._connections.close()


class Connections:
    """Open connections to one address, none of them in use; `secure`: speak TLS and check the certificate."""

    def __init__(self, host: str, port: int | None, secure: bool) -> None:
        self._host, self._port = host, port
        self._context = ssl.create_default_context() if secure else None
        self._idle: deque[tuple[HTTPConnection, float]] = deque()  # since when
        self._process = os.getpid()

    def take(self, timeout: float, new: bool) -> HTTPConnection:
        """Return an open connection that waits so many seconds for the other side, now and later.

        `new`: open one in any case. A server that closes one after some idle seconds may be about to do so, and then
        nobody knows whether it still took a request; a new one it does not close.
        """
        if os.getpid() != self._process:  # a fork: what is open belongs to the parent, which goes on using it
            self.close()
            self._process = os.getpid()
        connection = None if new else self._kept()
        if connection is None and self._context is None:
            connection = HTTPConnection(self._host, self._port, timeout=timeout)
        elif connection is None:
            connection = HTTPSConnection(self._host, self._port, timeout=timeout, context=self._context)
        if connection.sock is None:
            connection.connect()
        connection.sock.settimeout(timeout)
        return connection

    def give_back(self, connection: HTTPConnection) -> None:
        """Keep a connection whose answer has been read to its end."""
        if len(self._idle) < _IDLE and connection.sock is not None:  # None: the service asked to close it
            self._idle.append((connection, time.monotonic()))
        else:
            connection.close()

    def close(self) -> None:
        """Close what is not in use. In a fork this takes nothing from the parent: only the copies are closed."""
        with contextlib.suppress(IndexError):  # until none is left, whoever else takes some meanwhile
            while True:
                self._idle.pop()[0].close()

    def _kept(self) -> HTTPConnection | None:
        try:
            connection, since = self._idle.pop()
        except IndexError:
            return None
        if time.monotonic() - since > _STALE or _ended(connection):
            connection.close()
            self.close()  # the others have been idle for longer
            return None
        return connection


def _ended(connection: HTTPConnection) -> bool:
    """Return whether the other side has closed: there is something to read though nothing was asked."""
    waiting = select.poll()
    waiting.register(connection.sock, select.POLLIN)
    return bool(waiting.poll(0))


def _checked_address(url: str) -> SplitResult:
    with contextlib.suppress(ValueError):  # brackets that do not close, a port that is none
        parts = urlsplit(str(url))
        plain = parts.hostname and parts.port != 0 and not parts.query and not parts.fragment
        if plain and parts.scheme in ("http", "https"):
            return parts
    got = re.sub("//.*@", "//", url, flags=re.DOTALL) if isinstance(url, str) else url  # no password
    raise InputError("the address of a service, http:// or https://", got, "try 'http://127.0.0.1:8000'")


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
    """Return a problem as the error it stands for. Its code says which, its members what: no text is taken apart."""
    default = StorageError if problem["status"] >= 500 or problem["code"] == "too-many-requests" else InputError
    kind = _ERRORS.get(problem["code"], default)
    return kind(problem["expected"], problem["got"], problem["do"])


def _plain(error: Exception) -> str:
    return str(error) or type(error).__name__
