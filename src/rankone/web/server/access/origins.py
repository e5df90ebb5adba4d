"""Pages of other web sites: those allowed may call the service from the browser (CORS), the others may not."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from rankone.errors import InputError

_PORTS = {"http": 80, "https": 443}


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


def allow_origins(app: ASGIApp, allowed: Sequence[str]) -> ASGIApp:
    """Return the application; browsers hear that pages of these sites may call it, also inside a private network."""
    return CORSMiddleware(
        app,
        allow_origins=allowed,
        allow_methods=("GET", "POST", "PUT"),
        allow_headers=("Authorization", "Content-Type", "Idempotency-Key"),
        allow_private_network=True,
        expose_headers=("Retry-After",),
        max_age=86_400,
    )
