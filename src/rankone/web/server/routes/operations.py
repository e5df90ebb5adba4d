"""What the service can do: an operation is a method, a path, the scope it needs, what goes in and what comes out.

The table of operations makes the routes, the OpenAPI document and the test of who may do what.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from pydantic import BaseModel, ValidationError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rankone.errors import InputError, RankoneError, StorageError
from rankone.live.names import checked_name
from rankone.web.encoding import encode
from rankone.web.server.access.tokens import THIS_MACHINE, Token
from rankone.web.server.http.problem_json import Problem
from rankone.web.server.http.responses import Answer
from rankone.web.server.logs import log_request, request_id
from rankone.web.server.schemas.answers import answer_with
from rankone.web.server.schemas.bodies import Body
from rankone.web.server.single_flight import ClientLeft, while_connected

if TYPE_CHECKING:
    from rankone.web.server.service import Service

log = logging.getLogger("rankone.web")
ONE = "/v1/experiments/{name}"
_SINGLE = (b"host", b"authorization", b"origin", b"sec-fetch-site", b"content-type", b"idempotency-key")


@dataclasses.dataclass
class Call:
    """One request as its handler sees it: let in, read and checked."""

    service: Service
    caller: Token  # that let it in, or `THIS_MACHINE`
    headers: Mapping[str, str]  # by name, in lower case
    name: str  # of the experiment, if the path has one
    id: str  # of the decision or the flag, if the path has one
    body: Any
    query: Any

    @property
    def key(self) -> str | None:
        """The Idempotency-Key, if there is one."""
        key = self.headers.get("idempotency-key")
        return None if key is None else checked_name(key, "Idempotency-Key")

    @property
    def token(self) -> str | None:
        """The id of the token that let it in; None: no token is needed."""
        return self.caller.id or None


Handler = Callable[[Call], Awaitable[Response]]
# By status: a model in JSON, or its fields, or media types.
Answers = dict[int, type[BaseModel] | dict[str, Any] | tuple[str, ...]]


@dataclasses.dataclass(frozen=True)
class Operation:
    """One thing the service can do."""

    method: str
    path: str
    handler: Handler
    scope: str | None  # None: for everybody
    body: type[Body] | None = None
    query: type[Body] | None = None
    answers: Answers = dataclasses.field(default_factory=dict)
    problems: tuple[int, ...] = ()  # beyond those that every operation may answer
    large: bool = False  # its body may be large
    keyed: bool = False  # takes an Idempotency-Key
    slow: bool = False  # may take as long as an export
    refused: Callable[[Problem, str], Response] | None = None  # how it says errors, where that is not a problem in JSON
    simple: bool = False  # a page may send it to another site just so: JSON called a text, with the token in it

    @property
    def name(self) -> str:
        """Its name in metrics and in the OpenAPI document."""
        return self.handler.__name__

    @property
    def media_types(self) -> tuple[str, ...]:
        """What its body may call itself."""
        return ("application/json", "text/plain") if self.simple else ("application/json",)

    @property
    def statuses(self) -> tuple[int, ...]:
        """The errors it may answer."""
        statuses = {400, 503, *self.problems}
        if self.scope is not None:
            statuses |= {401, 403, 429}
        if self.body is not None:
            statuses |= {408, 413, 415, 422}
        if self.query is not None:
            statuses.add(422)
        if "{name}" in self.path:
            statuses.add(404)
        return tuple(sorted(statuses))


OPERATIONS: list[Operation] = []


def operation(method: str, path: str, scope: str | None, **more: Any) -> Callable[[Handler], Handler]:
    """Decorator: the handler becomes an operation."""

    def register(handler: Handler) -> Handler:
        model = "".join(map(str.capitalize, handler.__name__.split("_"))) + "Answer"
        answers = {
            status: answer_with(model, content) if isinstance(content, dict) else content
            for status, content in more.pop("answers").items()
        }
        OPERATIONS.append(Operation(method, path, handler, scope, answers=answers, **more))
        return handler

    return register


def answer(content: Any, status: int = 200) -> Response:
    """Return an answer in JSON; bytes are JSON already."""
    return Answer(content if isinstance(content, bytes) else encode(content), status)


def tagged(call: Call, content: bytes, tag: str, media_type: str, headers: Mapping[str, str]) -> Response:
    """Return what a client may have already, by its tag: 304 then."""
    known = [given.strip().removeprefix("W/") for given in call.headers.get("if-none-match", "").split(",")]
    headers = {**headers, "X-Content-Type-Options": "nosniff", "ETag": tag}
    if tag.removeprefix("W/") in known:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


class Endpoint:
    """Carries out an operation for one request: lets it in, reads it, answers it, counts it."""

    def __init__(self, operation: Operation, service: Service) -> None:
        self._operation, self._service = operation, service
        limits = service.limits
        self._body_limit = limits.create_body_bytes if operation.large else limits.body_bytes
        if operation.simple:  # anybody's is read, before the token in it is known
            self._body_limit = limits.visit_body_bytes
        self._seconds = limits.export_seconds if operation.slow else limits.answer_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        began = time.perf_counter()
        try:
            response = await self._answer(scope, receive)
        except (Problem, RankoneError) as error:
            response = self._refused(Problem.of(error), scope)
        except TimeoutError:
            response = self._refused(self._too_slow(), scope)
        except ClientLeft:
            response = Problem(400, "cut-off", "somebody to wait for the answer", "nobody", "ask again").response()
        except Exception as error:
            log.exception("%s failed", self._operation.name)
            response = self._refused(Problem.of(error), scope)
        seconds = time.perf_counter() - began
        self._service.meters.answered(self._operation.name, response.status_code, seconds)
        if self._service.logs_requests:
            note_request(scope, response, self._operation.name, seconds)
        await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        operation, names = self._operation, scope["path_params"]
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        if len(headers) < len(scope["headers"]):
            _check_single(scope["headers"])
        name, id = names.get("name", ""), names.get("id", names.get("flag", ""))
        caller, body, query = THIS_MACHINE, None, None
        if operation.simple:
            body = await self._body(receive, headers)
            headers.setdefault("authorization", f"Bearer {body.token}" if body.token else "")
        if operation.scope is not None:
            caller = await self._service.auth.admit(headers, scope["client"])
            if not caller.may(operation.scope, name or None):
                raise forbidden(operation.scope, name)
        if operation.body is not None and body is None:
            body = await self._body(receive, headers)
            if body.weight > 1:
                self._service.auth.charge(caller, body.weight - 1)
        if operation.query is not None:
            given = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            with _validating():
                query = operation.query.model_validate({key: values[-1] for key, values in given.items()})
        call = Call(self._service, caller, headers, name, id, body, query)
        work = operation.handler(call)
        try:
            async with asyncio.timeout(self._seconds):
                return await (while_connected(receive, work) if operation.slow else work)
        except StorageError as error:
            self._service.storage_failed(operation.name, error)
            raise

    async def _body(self, receive: Receive, headers: Mapping[str, str]) -> Any:
        assert self._operation.body is not None
        content = await self._service.body_reader.read(receive, self._body_limit)
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        if content and media_type not in self._operation.media_types:
            expected, got = "Content-Type: application/json", f"'{media_type[:100]}'"
            raise Problem(415, "not-json", expected, got, "send JSON and say so")
        with _validating():
            return self._operation.body.model_validate_json(content or b"{}")

    def _refused(self, problem: Problem, scope: Scope) -> Response:
        refused = self._operation.refused
        return problem.response() if refused is None else refused(problem, scope["path_params"].get("flag", ""))

    def _too_slow(self) -> Problem:
        do = "try again; it may have been stored, and an Idempotency-Key makes an ask safe to repeat"
        expected = f"the database to answer within {self._seconds} seconds"
        return Problem(503, "too-slow", expected, "silence", do, retry_after=1)


def note_request(scope: Scope, response: Response, operation: str, seconds: float) -> None:
    """Write a line for a request, and let its answer carry the same id."""
    id = request_id(scope["headers"])
    response.raw_headers.append((b"x-request-id", id.encode()))
    client = scope["client"]
    log_request(id, operation, response.status_code, seconds, client[0] if client else "")


def _check_single(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuse a header that decides something and comes twice: others may have looked at the other one."""
    for name, count in Counter(key for key, _ in headers).items():
        if count > 1 and name in _SINGLE:
            expected = f"one header '{name.decode()}'"
            raise Problem(400, "header-twice", expected, f"{count} of them", "send one")


def forbidden(scope: str, name: str) -> Problem:
    """Return the problem of a caller that may not do this."""
    where = f" on '{name[:300]}'" if name else ""
    return Problem(403, "forbidden", f"a token with the scope '{scope}'{where}", "another", "ask for one")


@contextlib.contextmanager
def _validating() -> Iterator[None]:
    """Let Pydantic's errors speak in the voice of rankone."""
    try:
        yield
    except ValidationError as error:
        raise _explained(error) from None


# Which of several kinds of value Pydantic tried, or that it was the name of an entry: no part of a body.
_BRANCH = re.compile(r"(list|dict)\[|function-\w+\[|constrained-\w+$|\[key\]$")


def _explained(error: ValidationError) -> InputError:
    """Return the first thing wrong with a body, in the voice of rankone."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"] if not _BRANCH.match(str(part))) or "the body"
    ours = first.get("ctx", {}).get("error")
    if isinstance(ours, InputError):  # one of our own checks
        return InputError(f"{where[:300]}: {ours.expected}", ours.got, ours.do)
    if first["type"] == "missing":
        return InputError(f"a field '{where[:300]}'", "none", "add it; /openapi.json has all fields")
    if first["type"] == "extra_forbidden":
        return InputError("fields of this request", f"'{where[:300]}'", "leave it out; /openapi.json has all fields")
    got = "something else" if first["type"] == "json_invalid" else repr(first["input"])
    said = first["msg"].replace(" after validation", "")
    return InputError(f"{where[:300]}: {said}", got, "see /openapi.json")
