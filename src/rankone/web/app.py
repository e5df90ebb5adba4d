"""The service as an ASGI application: `create_app`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rankone.web import routes_decisions, routes_experiments, routes_service
from rankone.web.limits import Limits
from rankone.web.openapi import describe
from rankone.web.operations import Endpoint
from rankone.web.origins import Origins
from rankone.web.problem_json import Problem
from rankone.web.service import Service

OPERATIONS = (*routes_decisions.OPERATIONS, *routes_experiments.OPERATIONS, *routes_service.OPERATIONS)


def create_app(
    db: str | Path = "rankone.db",
    *,
    durability: str = "full",
    limits: Limits | None = None,
    public: bool = False,
    allowed_origins: Sequence[str] = (),
) -> RawPaths:
    """Return the service for a database, to be run by an ASGI server.

    Args:
        db: a SQLite file or a ``postgresql://`` address.
        durability: as `rankone.Experiment` has it.
        limits: other limits than the usual ones.
        public: True: every request needs a token, also before the first one is made.
        allowed_origins: web sites whose pages may call the service, such as "https://shop.example".
    """
    service = Service(db, durability, limits or Limits(), public, allowed_origins)
    service.description = describe(OPERATIONS)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    paths: dict[str, dict[str, Endpoint]] = {}
    for item in OPERATIONS:
        paths.setdefault(item.path, {})[item.method] = Endpoint(item, service)
    routes = [Route(path, ByMethod(endpoints), methods=list(endpoints)) for path, endpoints in paths.items()]
    errors: dict[Any, Any] = {HTTPException: _problem}
    app = Starlette(routes=routes, exception_handlers=errors, lifespan=lifespan)
    app.router.redirect_slashes = False
    return RawPaths(Origins(app, allowed_origins), service)


async def _problem(request: Request, error: Exception) -> Response:
    """Answer for paths and methods that do not exist, in the one shape."""
    assert isinstance(error, HTTPException)
    details = {404: "expected a path of /openapi.json - got another", 405: "expected another method for this path"}
    detail = details.get(error.status_code, str(error.detail))
    code = {404: "unknown-path", 405: "wrong-method"}.get(error.status_code, "refused")
    return Problem(
        error.status_code, code, f"{detail} - see /openapi.json", headers=dict(error.headers or {})
    ).response()


class ByMethod:
    """The operations of one path."""

    def __init__(self, endpoints: dict[str, Endpoint]) -> None:
        self._endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose method is known to be there; HEAD is GET without a body."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        await self._endpoints[method](scope, receive, send)


class RawPaths:
    """Routes by the path as it was sent, so that names may hold any character: each part is decoded on its own."""

    def __init__(self, app: Any, service: Service) -> None:
        self._app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http":
            scope["path"] = scope["raw_path"].decode("latin-1")
        await self._app(scope, receive, send)
