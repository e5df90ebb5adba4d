"""Run the service: one process, one event loop, until SIGTERM or Ctrl-C; then what was accepted is finished."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rankone.errors import InputError, MissingExtra, StorageError
from rankone.serving import Database
from rankone.serving.storage import shown
from rankone.serving.warm_up import warm_up_all
from rankone.specs import amount
from rankone.web.server.limits import Limits
from rankone.web.server.tokens import list_tokens

log = logging.getLogger("rankone.web")
_FILES = 200  # that the service needs beside its connections
_EVERYWHERE = (str(ipaddress.IPv4Address(0)), str(ipaddress.IPv6Address(0)))
_M_ARENA_MAX = -8  # of glibc's mallopt


def check_public(db: str | Path, host: str) -> None:
    """Refuse a public address while no token is there to keep strangers out."""
    with Database(db) as database:
        if not list_tokens(database):
            raise InputError(
                f"a token before the service listens on {host}",
                "none in this database",
                "make one: rankone token create, or leave --host out to serve this machine only",
            )


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address, or say why that cannot be."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a service that has just ended leaves no wait
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        do = "try --host 127.0.0.1"
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            do = f"try --port {port + 1 if 1024 <= port < 65535 else 8000}"
        raise InputError(f"to listen on {host} port {port}", error.strerror or str(error), do) from None
    return listening


def greeting(db: str | Path, host: str, port: int) -> str:
    """Say which page to open, and what is in the database."""
    here = "localhost" if host in _EVERYWHERE else f"[{host}]" if ":" in host else host
    try:
        with Database(db) as database:
            inside = amount(len(database.names()), "experiment")
    except StorageError:  # the service waits for a database that is away
        inside = "out of reach for now"
    return f"open http://{here}:{port}/ in a browser; database {shown(db)}: {inside}; Ctrl-C ends it"


def compile_ahead(db: str | Path, say: Callable[[str], None]) -> None:
    """Compile for the experiments of a database before the service says that it is ready, or visitors wait for it."""
    known: set[str] = set()
    with contextlib.suppress(StorageError), Database(db, read_only=True) as database:  # a new one, or one that is away
        known = database.policies()
    warm_up_all(known, say, log.warning)


def allow_files(wanted: int) -> None:
    """Let this process open as many files as it has connections, where the system allows that."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def share_heap() -> None:
    """Let all threads allocate from one heap, where the C library is glibc: what one frees, another can use.

    Otherwise each of the service's threads has a heap of its own, and its memory creeps up for hours.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def serve(
    db: str | Path = "rankone.db",
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    durability: str = "full",
    allowed_origins: Sequence[str] = (),
    require_token: bool = False,
    access_log: bool = False,
    say: Callable[[str], None] = lambda sentence: None,
) -> None:
    """Serve the experiments of a database over HTTP until the process is told to end; `say` where, to begin with."""
    try:
        from rankone.web.server.app import create_app
        from rankone.web.server.auth import is_loopback
        from rankone.web.server.connection_limits import make_server
    except ImportError as error:
        raise MissingExtra("rankone serve", "serve") from error
    public = not is_loopback(host)
    if public:
        check_public(db, host)
    share_heap()
    listening = listen(host, port)
    compile_ahead(db, say)
    say(greeting(db, host, listening.getsockname()[1]))
    limits = Limits()
    app = create_app(
        db,
        durability=durability,
        limits=limits,
        require_token=require_token or public,
        allowed_origins=allowed_origins,
    )
    server = make_server(app, limits, log_level="info", access_log=access_log, timeout_graceful_shutdown=30)
    allow_files(limits.connections + _FILES)
    sys.setswitchinterval(0.0005)  # the thread that commits must not wait for the one that reads requests
    signal.signal(signal.SIGTERM, _ended)  # the server raises the signal again when all is finished
    server.run(sockets=[listening])


def _ended(number: int, frame: object) -> None:
    """Being told to end, and having ended well, is a success."""
