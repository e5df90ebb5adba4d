"""Bodies of requests: read up to a limit each, and to a limit all together, so that nobody can fill the memory."""

import asyncio

from starlette.types import Message, Receive

from rankone.web.server.http.problem_json import Problem
from rankone.web.server.limits import Limits

_DRAINED = 4  # times the limit of a body that is read and thrown away, so that the client hears the answer


class BodyReader:
    """Reads bodies, and knows how much it holds of those that are not there yet as a whole."""

    def __init__(self, limits: Limits) -> None:
        self._room, self._seconds = limits.bodies_bytes, limits.body_seconds
        self.held = 0

    async def read(self, receive: Receive, limit: int) -> bytes:
        """Return a whole body, or raise that it is too long, too slow or one too many."""
        first = await receive()
        if not first.get("more_body", False):  # so it is nearly always
            whole = _part(first)
            if len(whole) > limit:
                raise _too_long(limit, ended=True)
            return whole
        content = bytearray()
        try:
            async with asyncio.timeout(self._seconds):
                return await self._read_parts(first, receive, limit, content)
        except TimeoutError:
            expected, close = f"a whole body within {self._seconds} seconds", {"Connection": "close"}
            raise Problem(408, "too-slow", expected, "a part of it", "send it again", headers=close) from None
        finally:
            self.held -= len(content)

    async def _read_parts(self, message: Message, receive: Receive, limit: int, content: bytearray) -> bytes:
        size = 0
        while True:
            part = _part(message)
            size += len(part)
            if size <= limit:
                self._hold(content, part)
            else:
                self.held -= len(content)
                content.clear()
            more = message.get("more_body", False)
            if size > limit and (not more or size > _DRAINED * limit):
                raise _too_long(limit, ended=not more)
            if not more:
                return bytes(content)
            message = await receive()

    def _hold(self, content: bytearray, part: bytes) -> None:
        if self.held + len(part) > self._room:
            expected, close = f"bodies of at most {self._room} bytes at once", {"Connection": "close"}
            raise Problem(503, "busy", expected, "more", "try again in a second", retry_after=1, headers=close)
        self.held += len(part)
        content += part


def _part(message: Message) -> bytes:
    if message["type"] == "http.disconnect":
        raise Problem(400, "cut-off", "a whole body", "a part of it", "send it again")
    return message.get("body", b"")


def _too_long(limit: int, ended: bool) -> Problem:
    expected, headers = f"a body of at most {limit} bytes", {} if ended else {"Connection": "close"}
    return Problem(413, "body-too-large", expected, "more", "send less at a time", headers=headers)
