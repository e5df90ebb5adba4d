"""Pages of other web sites: those allowed may call the service from the browser (CORS), the others may not."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ALLOWED = {
    "Access-Control-Allow-Methods": "GET, POST, PUT",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key",
    "Access-Control-Max-Age": "86400",
}


class Origins:
    """Tells browsers which foreign pages may call."""

    def __init__(self, app: ASGIApp, allowed: Sequence[str]) -> None:
        self._app, self._allowed = app, frozenset(allowed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        origin = Headers(scope=scope).get("origin") if self._allowed and scope["type"] == "http" else None
        if origin is None or origin not in self._allowed:
            await self._app(scope, receive, send)
            return
        ours = {"Access-Control-Allow-Origin": origin, "Vary": "Origin", "Access-Control-Expose-Headers": "Retry-After"}
        if scope["method"] == "OPTIONS":
            await Response(status_code=204, headers=ours | _ALLOWED)(scope, receive, send)
            return

        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(ours)
            await send(message)

        await self._app(scope, receive, send_with)
