"""The service as an ASGI application: `create_app`."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

from rankone.registry import import_files
from rankone.web.encoding import encode
from rankone.web.server.access.origins import allow_origins, checked_origin
from rankone.web.server.http.problem_json import Problem
from rankone.web.server.http.responses import Answer
from rankone.web.server.limits import Limits
from rankone.web.server.routes.openapi import describe
from rankone.web.server.routes.operations import OPERATIONS, Endpoint, Operation, note_request
from rankone.web.server.service import Service

import_files(f"{__package__}.routes")  # which define the operations
_NAME = "/"  # stands for a name in a path: no part can be that


def create_app(
    db: str | Path = "rankone.db",
    *,
    durability: str = "full",
    limits: Limits | None = None,
    require_token: bool = False,
    allowed_origins: Sequence[str] = (),
    root_path: str = "",
    request_log: bool = False,
) -> ASGIApp:
    """Return the service for a database, to be run by an ASGI server.

    Args:
        db: a SQLite file or a ``postgresql://`` address.
        durability: as `rankone.Experiment` has it.
        limits: other limits than the usual ones.
        require_token: every request needs a token, also before the first one is made.
        allowed_origins: web sites whose pages may call the service, such as "https://shop.example".
        root_path: where a proxy offers the service, such as "/rankone"; it may take that off requests, or leave it.
        request_log: log a line with figures for each request.
    """
    origins = [checked_origin(origin) for origin in allowed_origins]
    service = Service(db, durability, limits or Limits(), require_token, origins)
    service.logs_requests = request_log
    service.description = encode(describe(OPERATIONS, root_path))
    app = Application(service, OPERATIONS, root_path)
    return allow_origins(app, origins) if origins else app


class Application:
    """Finds the operation of a request. A request a thousandth of a second is the usual load, so this is short.

    The path is taken as it was sent and each part is decoded on its own: names may hold any character. Starlette's
    Router matches the decoded path, where a name that holds a slash (``%2F``) looks like two parts, and tries one
    pattern after the other: 72 us more for a pair of ask and tell, which takes 231 us in all.
    """

    def __init__(self, service: Service, operations: Sequence[Operation], root: str = "") -> None:
        self._service, self._root = service, root
        self._paths: dict[tuple[str, ...], dict[str, ASGIApp]] = {}  # by method
        self._names: dict[str, str] = {}  # by the part of a path before it, what a name is of
        for operation in operations:
            parts = operation.path.split("/")
            for index, part in enumerate(parts):
                if part.startswith("{"):
                    self._names[parts[index - 1]], parts[index] = part[1:-1], _NAME
            self._paths.setdefault(tuple(parts), {})[operation.method] = Endpoint(operation, service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or begin and end with the server."""
        if scope["type"] == "http":
            endpoint = self._find(scope)
            if self._service.logs_requests and isinstance(endpoint, Answer):
                note_request(scope, endpoint, "none", 0.0)
            await endpoint(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)

    def _find(self, scope: Scope) -> ASGIApp:
        path = scope["raw_path"].decode("latin-1")
        if self._root and (path == self._root or path.startswith(f"{self._root}/")):
            path = path[len(self._root) :] or "/"
        parts, names = path.split("/"), {}
        for index, part in enumerate(parts):
            if part and (name := self._names.get(parts[index - 1])):
                names[name], parts[index] = unquote(part), _NAME
        scope["path_params"] = names
        endpoints = self._paths.get(tuple(parts))
        if not endpoints:
            return Problem(404, "unknown-path", "a path of /openapi.json", "another", "see /openapi.json").response()
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        if method not in endpoints:
            allowed = [*endpoints, "HEAD"] if "GET" in endpoints else list(endpoints)
            expected, headers = f"{' or '.join(allowed)} for this path", {"Allow": ", ".join(allowed)}
            wrong = Problem(405, "wrong-method", expected, method[:20], "see /openapi.json", headers=headers)
            return wrong.response()
        return endpoints[method]

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self._service.start()
        except Exception as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._service.stop()
        await send({"type": "lifespan.shutdown.complete"})
