"""Webhooks over HTTP: list, add, test and remove those of the experiments that the caller administers."""

from starlette.responses import Response

from rankone.web.server.http.problem_json import Problem
from rankone.web.server.routes.operations import Call, answer, forbidden, operation
from rankone.web.server.schemas.bodies import body_of
from rankone.web.webhooks.hooks import Webhook, add_webhook, list_webhooks, remove_webhook
from rankone.web.webhooks.sending import send_test

_LISTED = {200: {"webhooks": list[Webhook]}}


@operation("GET", "/v1/webhooks", "admin", answers=_LISTED)
async def webhooks(call: Call) -> Response:
    """List the webhooks of the experiments that the caller administers, without their secrets."""
    return answer({"webhooks": [hook.shown() for hook in await _mine(call)]})


@operation("POST", "/v1/webhooks", "admin", body=body_of(add_webhook), answers={201: {"id": str, "secret": str}})
async def make_webhook(call: Call) -> Response:
    """Add a webhook: it is told what stands, and from then on what happens. Its secret is shown only once."""
    wanted = call.body.model_dump()
    if not call.caller.may("admin", wanted["experiment"]):
        raise forbidden("admin", wanted["experiment"])
    hook = await call.service.off_loop(lambda: add_webhook(call.service.database, **wanted, by=call.token))
    return answer({"id": hook.id, "secret": hook.secret}, 201)


@operation(
    "POST", "/v1/webhooks/{id}/test", "admin", answers={200: {"delivered": bool, "error": str | None}}, problems=(404,)
)
async def try_webhook(call: Call) -> Response:
    """Send a test message now, once, and tell whether it arrived."""
    error = await send_test(await _one(call))
    return answer({"delivered": error is None, "error": error})


@operation("POST", "/v1/webhooks/{id}/remove", "admin", answers=_LISTED, problems=(404,))
async def take_out_webhook(call: Call) -> Response:
    """Remove a webhook, and what it was still to be told."""
    hook = await _one(call)
    await call.service.off_loop(remove_webhook, call.service.database, hook.id)
    return await webhooks(call)


async def _mine(call: Call) -> list[Webhook]:
    known: list[Webhook] = await call.service.off_loop(list_webhooks, call.service.reader)
    return [hook for hook in known if call.caller.may("admin", hook.experiment)]


async def _one(call: Call) -> Webhook:
    for hook in await _mine(call):
        if hook.id == call.id:
            return hook
    raise Problem(404, "unknown-webhook", "the id of a webhook that you administer", "another", "see GET /v1/webhooks")
