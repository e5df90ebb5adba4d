"""Clients of the service, cheap enough to share two cores with it: raw HTTP/1.1 on asyncio.

``python -m benchmarks.service_load PORT NAME CLIENTS SECONDS FILE [RATE]`` writes the latencies as JSON. Each client asks
again as soon as its last outcome is told; with a rate, all of them together send that many pairs a second.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path


class Client(asyncio.Protocol):
    """Asks, tells, asks again; notes how long each answer took."""

    due = pace = 0.0  # when to ask next, on the clock of `perf_counter`, and seconds from one ask to the next

    def __init__(self, name: str, until: float, done: asyncio.Future, asks: list, tells: list, errors: list) -> None:
        self._ask = f"POST /v1/experiments/{name}/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n".encode()
        self._tell = f"PUT /v1/experiments/{name}/decisions/%s/outcome HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        self._tell += "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
        self._until, self._done, self._asks, self._tells, self._errors = until, done, asks, tells, errors
        self._buffer, self._asking, self._count = b"", True, 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._ask_when_due()

    def _ask_when_due(self) -> None:
        now = time.perf_counter()
        if not self.pace:
            self._send(self._ask)
        elif now < self.due:
            asyncio.get_running_loop().call_later(self.due - now, self._send, self._ask)
        else:
            self._send(self._ask)
            self._began = self.due  # this visitor has waited since then
        self.due += self.pace

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
            yes, no = ("[1]", "[]") if b'"items":' in body else ("true", "false")
            outcome = f'{{"clicked":{yes if self._count % 3 == 0 else no}}}'
            self._send((self._tell % (id, len(outcome), outcome)).encode())
        else:
            self._ask_when_due()
        self._asking = not self._asking


async def load(port: int, name: str, clients: int, seconds: float, rate: float = 0.0) -> dict:
    loop = asyncio.get_running_loop()
    asks, tells, errors = [], [], []
    began = time.monotonic()
    finished = []
    for place in range(clients):
        done = loop.create_future()
        finished.append(done)
        client = Client(name, began + seconds, done, asks, tells, errors)
        if rate:
            client.pace, client.due = clients / rate, time.perf_counter() + place / rate
        await loop.create_connection(lambda client=client: client, "127.0.0.1", port)
    await asyncio.gather(*finished)
    took = time.monotonic() - began
    return {"asks": asks, "tells": tells, "errors": errors[:3], "seconds": took, "cpu": time.process_time()}


if __name__ == "__main__":
    import uvloop

    port, name, clients, seconds, file, *rate = sys.argv[1:]
    Path(file).write_text(
        json.dumps(uvloop.run(load(int(port), name, int(clients), float(seconds), *map(float, rate))))
    )
