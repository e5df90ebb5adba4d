"""Hostile bytes on real sockets, which no HTTP library would send: headers, half-open sockets, other protocols, paths."""

import contextlib
import socket
from collections import Counter
from urllib.parse import urlsplit

from rankone.numerics.seeds import generator

METHODS = ("GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "CONNECT", "TRACE", "PATCH", "get", "G\x00T", "")
PARTS = (
    "",
    "v1",
    "experiments",
    "homepage",
    "{name}",
    "{id}",
    "..",
    ".",
    "%2e%2e",
    "%00",
    "%",
    "%zz",
    "%ff",
    "a" * 300,
    "ask",
    "tell",
    "report",
    "view",
    "decisions",
    "outcome",
    "rows",
    "add",
    "health",
    "live",
    "ready",
    "metrics",
    "*",
    "openapi.json",
    "\x80",
    "\\",
    "?x=%00",
    "#",
    ";",
    "http:",
    "page.js",
    "-1",
    "1-aa",
    "None",
    "\N{DELETE}",
)
NAMES = (
    "Host",
    "Content-Length",
    "Transfer-Encoding",
    "Connection",
    "Upgrade",
    "Expect",
    "Authorization",
    "Range",
    "Origin",
    "Content-Type",
    "X-Forwarded-For",
    "Idempotency-Key",
    "Accept-Encoding",
    "TE",
    "Trailer",
    "If-None-Match",
    "X",
    " X",
    "X\x00",
    "Sec-WebSocket-Key",
    "Sec-WebSocket-Version",
    "HTTP2-Settings",
    "Cookie",
    "",
)
VALUES = (
    "127.0.0.1",
    "[",
    "evil.example",
    "",
    "0",
    "-1",
    "1e9",
    "99999999999999999999",
    "5",
    "chunked",
    "chunked, chunked",
    "identity",
    "close",
    "keep-alive",
    "Upgrade",
    "Upgrade, close",
    "websocket",
    "h2c",
    "100-continue",
    "Bearer",
    "null",
    "Bearer rk_x_y",
    "Bearer rk_" + "a" * 5_000,
    "bytes=9-1",
    "application/json",
    "text/html",
    "13",
    "\x80\xff",
    "\x00",
    "a" * 40_000,
    "dGhlIHNhbXBsZSBub25jZQ==",
    "text/json; charset=\x7f",
    "\r\n X: folded",
    "\n\nGET / HTTP/1.1",
)
BODIES = (
    b"",
    b"{}",
    b"[" * 5_000,
    b'{"count": 3}',
    b"5\r\n{}   \r\n0\r\n\r\n",
    b"5\r\n{",
    b"zz\r\n",
    b"0\r\nX: " + b"x" * 50_000,
    b"\x81\x85\x00\x00\x00\x00hello",
    b"GET / HTTP/1.1\r\n\r\n" * 500,
    b"\x00" * 1_000,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
)


_WAIT = 0.1  # seconds


def raw_fuzz(url, cases, seed=0):
    """Send so many hostile requests, a fifth of them cut short; return how many got which status (0: none)."""
    rng = generator(seed, "raw fuzz")
    address = urlsplit(url)
    statuses = Counter()
    with contextlib.ExitStack() as half_open:
        for case in range(cases):
            connection = socket.create_connection((address.hostname, address.port), timeout=60)
            request = _request(rng)
            whole = rng.random() < 0.8
            with contextlib.suppress(OSError):  # the service has heard enough
                connection.sendall(request if whole else request[: int(rng.random() * len(request))])
                if not whole and case % 2:
                    half_open.enter_context(connection)  # and never a word again
                    continue
            statuses[_status(connection)] += 1
            connection.close()
        statuses[0] += cases - statuses.total()
    return statuses


def _pick(rng, choices):
    return choices[int(rng.random() * len(choices))]


def _request(rng):
    path = "/" * (1 + int(rng.random() * 1.3)) + "/".join(_pick(rng, PARTS) for _ in range(int(rng.random() * 6)))
    lines = [f"{_pick(rng, METHODS[:4] if rng.random() < 0.8 else METHODS)} {path} HTTP/1.1"]
    lines += ["Host: 127.0.0.1"] * (rng.random() < 0.8)
    for _ in range(int(rng.random() * 6)):
        lines.append(f"{_pick(rng, NAMES)}: {_pick(rng, VALUES)}")
    if rng.random() < 0.2:
        lines += [
            "Connection: Upgrade",
            f"Upgrade: {_pick(rng, ('websocket', 'h2c', 'x'))}",
            "Sec-WebSocket-Version: 13",
        ]
        lines += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    if rng.random() < 0.03:
        lines += ["X: 1"] * int(rng.random() * 20_000)
    return "\r\n".join([*lines, "\r\n"]).encode("latin-1", "replace") + (
        _pick(rng, BODIES) if rng.random() < 0.4 else b""
    )


def _status(connection):
    """The status of the first answer; 0: none, for now. The service may wait for more, so this does not wait long."""
    found = b""
    connection.settimeout(_WAIT)
    with contextlib.suppress(OSError):
        while len(found) < 12 and (part := connection.recv(65536)):
            found += part
    assert not found or found.startswith(b"HTTP/1.1 "), found[:100]
    return int(found[9:12] or 0)
