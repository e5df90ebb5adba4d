"""Connections to a service that stay open between requests, shared by the threads of a program.

`http.client` speaks the protocol; this file only keeps what it opened. urllib3 and httpx were measured on loopback: one
and a half and three times the processor time of a request, one and seven packages more, and the rules for forks and
for what may be sent twice would still be ours.
"""

import contextlib
import os
import select
import ssl
import time
from collections import deque
from http.client import HTTPConnection, HTTPSConnection

_IDLE = 64  # connections kept open; more are closed as soon as they are not needed
# Seconds after which an idle one is not used again. A firewall or a NAT on the way may forget it some minutes later and
# tell neither side; a request over it would wait in vain for its whole timeout.
_STALE = 60.0


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
