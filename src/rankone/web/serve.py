"""Run the service: one process, one event loop, until SIGTERM or Ctrl-C; then what was accepted is finished."""

from __future__ import annotations

import ipaddress
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from rankone.errors import InputError, MissingExtra
from rankone.serving import Database
from rankone.web.tokens import list_tokens


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_public(db: str | Path, host: str) -> None:
    """Refuse a public address while no token is there to keep strangers out."""
    with Database(db) as database:
        if not list_tokens(database):
            raise InputError(
                f"a token before the service listens on {host}",
                "none in this database",
                "make one: rankone token create, or leave --host out to serve this machine only",
            )


def serve(
    db: str | Path = "rankone.db",
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    durability: str = "full",
    allowed_origins: Sequence[str] = (),
    access_log: bool = False,
) -> None:
    """Serve the experiments of a database over HTTP until the process is told to end."""
    try:
        import uvicorn

        from rankone.web.app import create_app
    except ImportError as error:
        raise MissingExtra("rankone serve", "serve") from error
    public = not is_loopback(host)
    if public:
        check_public(db, host)
    app = create_app(db, durability=durability, public=public, allowed_origins=allowed_origins)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="info",
        access_log=access_log,
        server_header=False,
        proxy_headers=False,  # the gate wants to see that a proxy passed the request on
        timeout_graceful_shutdown=30,
    )
    sys.setswitchinterval(0.0005)  # the thread that commits must not wait for the one that reads requests
    signal.signal(signal.SIGTERM, _ended)  # the server raises the signal again when all is finished
    uvicorn.Server(config).run()


def _ended(number: int, frame: object) -> None:
    """Being told to end, and having ended well, is a success."""
