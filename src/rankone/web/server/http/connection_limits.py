"""One client's connection: what it may send and hold before there is a request to judge.

The HTTP parser keeps a request's line, its headers and what follows a chunked body until they are whole, and keeps them
whatever their size; the server waits for the rest for ever. So bytes, headers, requests sent ahead and seconds are
counted here, where they arrive. A request that comes in one piece, as nearly all do, costs a few additions.
"""

import asyncio
import time
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from rankone.web.server.http.problem_json import Problem
from rankone.web.server.limits import Limits

_AHEAD = 8  # requests that a client may send before it has the answer to the first
_FLUSH = 5.0  # seconds that the rest of an answer may take to leave once the connection is to be closed


# What uvicorn is told wherever it runs the service. A request to change to WebSockets is answered like any other.
SETTINGS: dict[str, Any] = {"ws": "none", "server_header": False, "timeout_keep_alive": Limits().idle_seconds}


class Connection(HttpToolsProtocol):
    """Closes what sends too much or too slowly; makes room for newcomers where the service is full."""

    limits: Limits = Limits()  # others are set by `make_server`

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._extra = 0  # bytes of this request that are not its body
        self._refusal: Problem | None = None  # why the parser was stopped
        self._timer: asyncio.TimerHandle | None = None  # until when the client has to send
        self._untaken: asyncio.TimerHandle | None = None  # until when it has to take what was sent to it
        self._heard_at = time.monotonic()
        self._earlier: list[Any] = []  # requests being answered while later ones are here already
        self._app, self.app = self.app, self._in_turn

    @property
    def _in_head(self) -> bool:
        """A part of a request's head is here: only a whole one gets a cycle."""
        return self.scope is not None and (self.cycle is None or self.cycle.scope is not self.scope)

    @property
    def idle(self) -> bool:
        """No request is being answered: there is none, or it is not whole."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Come in, if there is room. Whoever has been silent longest without a request makes some."""
        super().connection_made(transport)
        self._expect(self.limits.header_seconds)
        if len(self.connections) > self.limits.connections:
            others = [one for one in self.connections if isinstance(one, Connection) and one.idle and one is not self]
            longest = min(others, key=lambda other: other._heard_at, default=None)
            if longest is None:
                expected = f"at most {self.limits.connections} connections"
                self._refuse(Problem(503, "busy", expected, "more", "try again in a second", retry_after=1))
            else:
                longest.transport.abort()
                self.connections.discard(longest)

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave nothing behind."""
        self._expect(None)
        self._taken()
        super().connection_lost(exc)
        for cycle in self._earlier:  # uvicorn tells the last request only, and the others would write to what is closed
            cycle.disconnected = not cycle.response_complete
            cycle.message_event.set()
        self._earlier.clear()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        self._extra += len(data)
        self._heard_at = time.monotonic()
        super().data_received(data)
        cycle = self.cycle
        if cycle is None or cycle.scope is not self.scope or cycle.more_body or cycle.response_complete:
            self._wait_for_more()
        else:  # a whole request, as nearly always
            self._extra = 0

    def _wait_for_more(self) -> None:
        if self._extra > self.limits.header_bytes or self._too_many_headers():
            self._refuse(self._too_large())
        elif self._timer is None and (self._in_head or self.idle):
            self._expect(self.limits.header_seconds)

    def on_headers_complete(self) -> None:
        """Take a request whose head is whole."""
        if self._too_many_headers() or (self._extra > self.limits.header_bytes and self._head_too_large()):
            self._stop(self._too_large())
        if len(self.pipeline) >= _AHEAD:
            self._stop(Problem(400, "too-far-ahead", f"at most {_AHEAD} requests at once", "more", "wait"))
        if self._timer is not None:
            self._expect(None)
        if self.cycle is not None and not self.cycle.response_complete:
            self._earlier = [cycle for cycle in self._earlier if not cycle.response_complete] + [self.cycle]
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body. Nobody reads the body of a GET, so it is not kept either."""
        self._extra -= len(body)
        if self.scope["method"] != "GET":
            super().on_body(body)

    def pause_writing(self) -> None:
        """The client takes less than we send: it may rest, but not for ever."""
        super().pause_writing()
        self.loop.call_soon(self._make_room)  # it may be writing at this moment
        self._untaken = self.loop.call_later(self.limits.answer_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client goes on taking what we send."""
        self._taken()
        super().resume_writing()

    def _taken(self) -> None:
        if self._untaken is not None:
            self._untaken.cancel()
            self._untaken = None

    def _make_room(self) -> None:
        """Keep all that is unsent within its limit: close those who have been resting longest."""
        open_ones = [one for one in self.connections if isinstance(one, Connection) and not one.transport.is_closing()]
        unsent = sum(one.transport.get_write_buffer_size() for one in open_ones)
        resting = [(one._untaken.when(), one) for one in open_ones if one._untaken is not None]
        for _, one in sorted(resting, key=lambda pair: pair[0]):
            if unsent <= self.limits.unsent_bytes:
                return
            unsent -= one.transport.get_write_buffer_size()
            one.transport.abort()

    async def _in_turn(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request once the client has taken what was sent before: nothing is made to lie around."""
        if self.flow.write_paused:
            await self.flow.drain()
        if not self.transport.is_closing():
            await self._app(scope, receive, send)

    def timeout_keep_alive_handler(self) -> None:
        """Nothing came for a while."""
        self._end()

    def _unsupported_upgrade_warning(self) -> None:
        """Answer as if no other protocol had been proposed; what the client sends next would be in that one."""
        self.cycle.keep_alive = False

    def send_400_response(self, msg: str) -> None:
        """Answer what the parser does not take, in the shape of all errors."""
        stranger = Problem(400, "not-http", "a request in HTTP/1.1", "something else", "see RFC 9112")
        self._refuse(self._refusal or stranger)

    def _stop(self, why: Problem) -> None:
        """Stop the parser, which then calls `send_400_response`."""
        self._refusal = why
        raise ValueError(why.detail)

    def _too_many_headers(self) -> bool:
        return self.headers is not None and len(self.headers) > self.limits.headers  # also what follows chunked bodies

    def _head_too_large(self) -> bool:
        """Return whether it is the head that is too large, not what came behind it in one piece."""
        line = len(self.parser.get_method()) + len(self.url) + len("  HTTP/1.1\r\n\r\n")
        return line + sum(len(name) + len(value) + 4 for name, value in self.headers) > self.limits.header_bytes

    def _too_large(self) -> Problem:
        most = f"{self.limits.headers} headers, of {self.limits.header_bytes} bytes with the path"
        return Problem(431, "headers-too-large", f"at most {most}", "more", "send less")

    def _expect(self, seconds: float | None) -> None:
        """Give the client so much time for what comes next; None: as much as it needs."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._overdue)

    def _overdue(self) -> None:
        self._timer = None
        if self.transport.is_closing():  # the rest of an answer that nobody takes
            self.transport.abort()
        elif self._in_head:
            expected = f"whole headers within {self.limits.header_seconds} seconds"
            self._refuse(Problem(408, "too-slow", expected, "a part", "send them again"))
        else:
            self._end()

    def _refuse(self, why: Problem) -> None:
        """Answer and hang up; whoever waits for the answer to an earlier request would take this for it."""
        if self.transport.is_closing():
            return
        if self.idle:
            response = why.response()
            headers = [*response.raw_headers, (b"connection", b"close")]
            lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
            self.transport.write(STATUS_LINE[why.status] + lines + b"\r\n" + bytes(response.body))
        self._end()

    def _end(self) -> None:
        self.transport.close()
        self._expect(_FLUSH)


def make_server(app: ASGIApp, limits: Limits, **options: Any) -> uvicorn.Server:
    """Return a server that keeps its connections within the limits; `options` are uvicorn's."""
    http = type("LimitedConnection", (Connection,), {"limits": limits})
    mine = {**SETTINGS, "timeout_keep_alive": limits.idle_seconds, "proxy_headers": False}
    return uvicorn.Server(uvicorn.Config(app, http=http, **{**mine, **options}))
