"""Tokens over HTTP: list, make and revoke them. Nobody can give more than they have, nor for longer."""

import time
from typing import Literal, TypeVar

from starlette.responses import Response

from rankone.web.server.access.tokens import SCOPES, Token, create_token, list_tokens, revoke_token
from rankone.web.server.http.problem_json import Problem
from rankone.web.server.routes.operations import Call, answer, forbidden, operation
from rankone.web.server.schemas.answers import answer_of
from rankone.web.server.schemas.bodies import Text, body_of

Number = TypeVar("Number", int, float)
_NEW = body_of(create_token, rate=int, note=Text | None, scopes=list[Literal[SCOPES]])  # type: ignore[valid-type]


@operation("GET", "/v1/whoami", "read", answers={200: {"id": str | None, "scopes": list[str], "experiment": str}})
async def whoami(call: Call) -> Response:
    """Tell what the caller may do."""
    return answer({"id": call.token, "scopes": call.caller.scopes, "experiment": call.caller.experiment})


@operation("GET", "/v1/tokens", "admin", answers={200: {"tokens": list[Token]}})
async def tokens(call: Call) -> Response:
    """List the tokens of the experiments that the caller administers, without their secrets."""
    known = [_shown(token) for token in await _tokens(call) if call.caller.may("admin", token.experiment)]
    return answer({"tokens": known})


@operation("POST", "/v1/tokens", "admin", body=_NEW, answers={201: {"id": str, "token": str}})
async def make_token(call: Call) -> Response:
    """Make a token, which ends no later and may do no more than the caller's token. It is shown only once."""
    wanted = call.body
    for scope in ("admin", *wanted.scopes):
        if not call.caller.may(scope, wanted.experiment):
            raise forbidden(scope, wanted.experiment)
    by, mine = call.token, call.caller  # not as in the table, where it may be gone by now
    left = None if mine.expires is None else (mine.expires - time.time()) / 86_400
    days, rate = _least(wanted.days, left), _least(wanted.rate, mine.rate)
    text = await call.service.off_loop(
        lambda: create_token(
            call.service.database, wanted.scopes, wanted.experiment, wanted.note or "", days, rate, by=by
        )
    )
    return answer({"id": text.split("_")[1], "token": text}, 201)


@operation("POST", "/v1/tokens/{id}/revoke", "admin", answers={200: answer_of(Token)}, problems=(404,))
async def revoke(call: Call) -> Response:
    """End a token, within a second or two. Those that were made with it stay: `made_by` tells which."""
    token = await _one(call)
    await call.service.off_loop(lambda: revoke_token(call.service.database, token.id, by=call.token))
    return answer(_shown(await _one(call)))


async def _tokens(call: Call) -> list[Token]:
    return await call.service.off_loop(list_tokens, call.service.reader)


def _least(*limits: Number | None) -> Number | None:
    """Return the smallest limit; None: there is none."""
    return min((limit for limit in limits if limit is not None), default=None)


async def _one(call: Call) -> Token:
    for token in await _tokens(call):
        if token.id == call.id and call.caller.may("admin", token.experiment):
            return token
    raise Problem(404, "unknown-token", "the id of a token that you administer", "another", "see GET /v1/tokens")


def _shown(token: Token) -> dict[str, object]:
    known = {key: value for key, value in token._asdict().items() if key != "digest"}
    return known | {"valid": token.valid(time.time())}
