"""Answers: JSON that nobody takes for something else or keeps, and files that are sent piece by piece."""

import asyncio
from collections.abc import Callable, Mapping
from typing import BinaryIO

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

_JSON = b"application/json"
# Written once: this is sent thousands of times a second.
GUARDS = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]
_PIECE = 256 * 1024


class Answer(Response):
    """A whole answer, in JSON unless told otherwise."""

    def __init__(
        self, body: bytes, status: int = 200, media_type: bytes = _JSON, headers: Mapping[str, str] | None = None
    ) -> None:
        self.body, self.status_code, self.background = body, status, None
        self.raw_headers = [(b"content-length", b"%d" % len(body)), (b"content-type", media_type), *GUARDS]
        for name, value in (headers or {}).items():
            self.raw_headers.append((name.lower().encode("latin-1"), value.encode("latin-1")))


class Download(Response):
    """A file that has no name any more: it is gone when it is sent, or when the client or the service is gone."""

    def __init__(self, file: BinaryIO, media_type: str, filename: str, release: Callable[[], object]) -> None:
        self.status_code, self.background, self._file, self._release = 200, None, file, release
        self.raw_headers = [
            (b"content-length", b"%d" % file.seek(0, 2)),
            (b"content-type", media_type.encode()),
            (b"content-disposition", f'attachment; filename="{filename}"'.encode()),
            *GUARDS,
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, piece by piece, as fast as the client takes it."""
        loop = asyncio.get_running_loop()
        try:
            self._file.seek(0)
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while piece := await loop.run_in_executor(None, self._file.read, _PIECE):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body"})
        finally:
            self._file.close()
            self._release()
