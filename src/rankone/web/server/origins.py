"""Pages of other web sites: those allowed may call the service from the browser (CORS), the others may not."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rankone.errors import InputError

_PORTS = {"http": 80, "https": 443}
_ALLOWED = {
    "Access-Control-Allow-Methods": "GET, POST, PUT",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key",
    "Access-Control-Max-Age": "86400",
}


def checked_origin(text: str) -> str:
    """Return a web site as browsers name it, or refuse what no browser would ever send.

    >>> checked_origin("https://shop.example/")
    'https://shop.example'
    """
    origin = text.removesuffix("/")
    try:
        site = urlsplit(origin)
        port = "" if site.port in (None, _PORTS.get(site.scheme)) else f":{site.port}"
        host = (site.hostname or "").encode("idna").decode()
    except ValueError:
        site, port, host = urlsplit(""), "", ""
    named = f"{site.scheme}://{f'[{host}]' if ':' in host else host}{port}"
    if site.scheme not in _PORTS or not host or origin != named:
        do = f"pass {named}" if site.scheme in _PORTS and host else "name each site; there is no sign for all of them"
        raise InputError("a web site as browsers name it, such as https://shop.example", text, do)
    return origin


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
