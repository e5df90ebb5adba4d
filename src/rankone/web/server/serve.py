"""Run the service, in one process or in several, until SIGTERM or Ctrl-C; then what was accepted is finished."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import errno
import ipaddress
import itertools
import logging
import signal
import socket
import ssl
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rankone.compiling.tiers import chosen
from rankone.errors import InputError, MissingExtra, StorageError
from rankone.live import Database
from rankone.live.commit.warm_up import compile_apart, warm_up_all
from rankone.live.storage import is_file, shown
from rankone.live.storage.driver import NotPermitted
from rankone.specs import amount
from rankone.web.server.access.tokens import list_tokens
from rankone.web.server.limits import Limits
from rankone.web.server.options import ServerOptions

if TYPE_CHECKING:
    from starlette.types import ASGIApp

log = logging.getLogger("rankone.web")
_EVERYWHERE = (str(ipaddress.IPv4Address(0)), str(ipaddress.IPv6Address(0)))
_FILES = 200  # that the service needs beside its connections
_PATIENCE, _AGAIN, _SAID_EVERY = 5.0, 1.0, 10  # seconds for a try and until the next; how many are told once
_M_ARENA_MAX = -8  # of glibc's mallopt
_MODE = 0o660  # of a socket: its user and its group, which the proxy should be in


def check_public(db: str | Path, host: str) -> None:
    """Refuse a public address while no token is there to keep strangers out."""
    with Database(db) as database:
        if not list_tokens(database):
            raise InputError(
                f"a token before the service listens on {host}",
                "none in this database",
                "make one: rankone token create; without --host and --uds only this machine is served",
            )


def compile_ahead(db: str | Path, say: Callable[[str], None]) -> None:
    """Compile for the experiments of a database before the service says that it is ready, or visitors wait for it."""
    if chosen() == "never":
        return
    known: set[tuple[str, int]] = set()
    with contextlib.suppress(StorageError), Database(db, read_only=True) as database:  # a new one, or one that is away
        known = database.policies()
    compile_apart(known, say)
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


def wait_for(db: str | Path, tell: Callable[[str], object], pause: Callable[[float], object] = time.sleep) -> None:
    """Wait until a database server answers: after a power cut it may start later than we do. Files are there or not."""
    if is_file(db):
        return
    for tries in itertools.count():
        try:
            Database(db, patience=_PATIENCE).close()
            break
        except NotPermitted:
            raise
        except StorageError as error:
            if tries % _SAID_EVERY == 0:
                tell(f"Waiting for the database: {error}")
            pause(_AGAIN)
    if tries:
        tell(f"The database {shown(db)} answers.")


def make_app(options: ServerOptions) -> ASGIApp:
    """Return the service, in the process that is to run it."""
    from rankone.web.server.app import create_app

    share_heap()
    allow_files(Limits().connections + _FILES)
    sys.setswitchinterval(0.0005)  # the thread that commits must not wait for the one that reads requests
    return create_app(
        options.db,
        durability=options.durability,
        require_token=options.require_token,
        allowed_origins=options.allow_origin,
        root_path=options.root_path,
        request_log=options.access_log and options.log_format == "json",
    )


def check_certificate(certificate: str, key: str | None) -> None:
    """Refuse a certificate that is not there, is not in PEM or has another key."""
    for file in filter(None, (certificate, key)):
        if not Path(file).is_file():
            raise InputError("a file for --tls-cert and --tls-key", f"no file {file}", "see that its name is right")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=_no_password)
    except (ssl.SSLError, OSError) as error:
        do = "name the certificate with --tls-cert and its own key, in PEM, with --tls-key"
        raise InputError("a certificate in PEM and its key", getattr(error, "reason", None) or str(error), do) from None


def _no_password() -> str:
    do = "take the password off it: openssl pkey -in KEY -out NEW"
    raise InputError("a key without a password", "one with a password", do)


def serve(options: ServerOptions, say: Callable[[str], None] = lambda sentence: None) -> None:
    """Serve the experiments of a database over HTTP until the process is told to end; `say` where, to begin with."""
    try:
        from rankone.web.server.access.auth import is_loopback
        from rankone.web.server.http.connection_limits import make_server
        from rankone.web.server.workers import run_workers
    except ImportError as error:
        raise MissingExtra("rankone serve", "serve") from error
    options = options.checked()
    if options.tls_cert is not None:
        check_certificate(options.tls_cert, options.tls_key)
    wait_for(options.db, say)
    public = options.uds is not None or not is_loopback(options.host)
    if public:
        check_public(options.db, options.uds or options.host)
        options = dataclasses.replace(options, require_token=True)
    share_heap()
    listening = listen(options.host, options.port) if options.uds is None else listen_at(Path(options.uds))
    try:
        compile_ahead(options.db, say)
        say(greeting(options, 0 if options.uds else listening.getsockname()[1]))
        signal.signal(signal.SIGTERM, _ended)  # the server raises the signal again when all is finished
        if options.workers is None:
            make_server(make_app(options), Limits(), **options.for_uvicorn).run(sockets=[listening])
        else:
            run_workers(options, listening)
    finally:
        if options.uds is not None:
            with contextlib.suppress(OSError):
                Path(options.uds).unlink()


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
        raise InputError(f"Cannot listen on {host} port {port}:", error.strerror or str(error), do) from None
    return listening


def listen_at(path: Path) -> socket.socket:
    """Return a socket in the file system. One that a service left behind is replaced, one in use is not."""
    if path.exists() or path.is_symlink():
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise InputError(f"a place for a socket at {path}", "another file there", "name another with --uds")
        with socket.socket(socket.AF_UNIX) as other, contextlib.suppress(ConnectionRefusedError):
            other.connect(str(path))
            raise InputError(f"to listen at {path}", "a service that listens there", "end it, or name another place")
        path.unlink()
    listening = socket.socket(socket.AF_UNIX)
    try:
        listening.bind(str(path))
        path.chmod(_MODE)
    except OSError as error:
        listening.close()
        do = "name a place of at most 100 characters in a folder that there is and that may be written"
        raise InputError(f"to listen at {path}", error.strerror or str(error), do) from None
    return listening


def greeting(options: ServerOptions, port: int) -> str:
    """Say where the service listens, which page to open, and what is in the database."""
    host, page = options.host, f"{options.root_path}/ in a browser"
    here = "localhost" if host in _EVERYWHERE else f"[{host}]" if ":" in host else host
    where = f"Open http{'s' * (options.tls_cert is not None)}://{here}:{port}{page}"
    if options.uds is not None:
        where = f"Listening at {options.uds}"
    try:
        with Database(options.db) as database:
            inside = amount(len(database.names()), "experiment")
    except StorageError:  # the service waits for a database that is away
        inside = "out of reach for now"
    return f"{where}. Database {shown(options.db)}: {inside}. Press Ctrl-C to stop."


def _ended(number: int, frame: object) -> None:
    """Being told to end, and having ended well, is a success."""
