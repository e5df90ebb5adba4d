"""Closed-loop clients of the service, cheap enough to share two cores with it: raw HTTP/1.1 on asyncio.

``python -m benchmarks.service_load PORT NAME CLIENTS SECONDS FILE`` writes the latencies as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path


class Client(asyncio.Protocol):
    """Asks, tells, asks again; notes how long each answer took."""

    def __init__(self, name: str, until: float, done: asyncio.Future, asks: list, tells: list, errors: list) -> None:
        self._ask = f"POST /v1/experiments/{name}/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n".encode()
        self._tell = f"PUT /v1/experiments/{name}/decisions/%s/outcome HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        self._tell += "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
        self._until, self._done, self._asks, self._tells, self._errors = until, done, asks, tells, errors
        self._buffer, self._asking, self._count = b"", True, 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._send(self._ask)

    def _send(self, request: bytes) -> None:
        self._began = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, end, body = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return
        place = head.index(b"content-length: ") + 16
        if len(body) < int(head[place : (head + b"\r").index(b"\r", place)]):
            return
        now = time.perf_counter()
        self._buffer = b""
        (self._asks if self._asking else self._tells).append(now - self._began)
        if head[9:12] != b"200":
            self._errors.append(body.decode())
        if time.monotonic() > self._until and not self._asking:
            self._transport.close()
            self._done.set_result(None)
            return
        if self._asking:
            id = body[body.index(b'"id":"') + 6 :].split(b'"', 1)[0].decode()
            self._count += 1
            outcome = '{"clicked":true}' if self._count % 3 == 0 else '{"clicked":false}'
            self._send((self._tell % (id, len(outcome), outcome)).encode())
        else:
            self._send(self._ask)
        self._asking = not self._asking


async def load(port: int, name: str, clients: int, seconds: float) -> dict:
    loop = asyncio.get_running_loop()
    asks, tells, errors = [], [], []
    began = time.monotonic()
    finished = []
    for _ in range(clients):
        done = loop.create_future()
        finished.append(done)
        make = lambda done=done: Client(name, began + seconds, done, asks, tells, errors)  # noqa: E731
        await loop.create_connection(make, "127.0.0.1", port)
    await asyncio.gather(*finished)
    took = time.monotonic() - began
    return {"asks": asks, "tells": tells, "errors": errors[:3], "seconds": took, "cpu": time.process_time()}


if __name__ == "__main__":
    import uvloop

    port, name, clients, seconds, file = sys.argv[1:]
    Path(file).write_text(json.dumps(uvloop.run(load(int(port), name, int(clients), float(seconds)))))
