"""Several processes that serve one database: uvicorn watches over them, and replaces them one by one on SIGHUP.

Each is a service of its own, with its own connections to the database; they share the socket. A worker whose parent was
killed ends, or it would hold the port for ever.
"""

import dataclasses
import json
import multiprocessing
import os
import signal
import socket
import threading

import uvicorn
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from rankone.child_processes import safe_path
from rankone.web.server.http.connection_limits import SETTINGS, Connection
from rankone.web.server.options import ServerOptions
from rankone.web.server.serve import make_app

_OPTIONS = "_RANKONE_WORKER"  # not arguments, which everybody can see: an address may hold a password
_READY = 60  # seconds that a worker may take to start, or to give a sign


def run_workers(options: ServerOptions, listening: socket.socket) -> None:
    """Serve with several processes until the process is told to end."""
    os.environ[_OPTIONS] = json.dumps(dataclasses.asdict(options))
    listening.listen()
    listening.set_inheritable(True)
    config = uvicorn.Config(
        f"{__name__}:worker",
        factory=True,
        workers=options.workers,
        http=f"{Connection.__module__}:{Connection.__name__}",
        timeout_worker_healthcheck=_READY,
        **SETTINGS,
        **options.for_uvicorn,
    )
    with safe_path():  # workers, and what replaces them
        Multiprocess(config, sockets=[listening]).run()


def worker() -> ASGIApp:
    """Return the service of one process; called there."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    return make_app(ServerOptions(**json.loads(os.environ[_OPTIONS])))


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
