"""Asking and telling: the operations that a site calls all day."""

from typing import Any

from starlette.responses import Response

from rankone.live import Ask, Outcome, Tell, Void
from rankone.live.messages import Decision, Track
from rankone.live.visitor_attributes import REFUSE
from rankone.web.server.http.problem_json import Problem
from rankone.web.server.routes.operations import ONE, Call, answer, operation
from rankone.web.server.schemas.answers import ProblemAnswer, answer_of
from rankone.web.server.schemas.bodies import AskBody, OutcomeBody, TellBody, Told

OUTCOME = dict.fromkeys((200, 202), answer_of(Outcome))
_DECISION = f"{ONE}/decisions/{{id}}"


@operation(
    "POST", f"{ONE}/ask", "ask", body=AskBody, answers={200: {"decisions": list[Decision]}}, problems=(429,), keyed=True
)
async def ask(call: Call) -> Response:
    """Ask for a decision, or a batch. They are stored before they are answered.

    The same Idempotency-Key with the same body is answered by the same decisions; with another body it is an error.
    """
    served = await call.service.experiment(call.name)
    body = call.body
    said: Any = {"context": body.context, "visitor": body.visitor, "undeclared": REFUSE}
    limits: Any = {"candidates": body.candidates, "pinned": body.pinned, "exclude": body.exclude}
    wanted = Ask(body.count, call.key, body.source, call.token, **said, **limits)
    return answer({"decisions": [decision.to_dict() for decision in await served.one(wanted)]})


@operation("PUT", f"{_DECISION}/outcome", "tell", body=OutcomeBody, answers=OUTCOME, problems=(409,))
async def tell(call: Call) -> Response:
    """Tell whether what a decision showed was clicked: once, at any time; 202 means too late to be learned."""
    return await answer_tell(call, _tell(call.id, call.body, call.body.source, call.token))


@operation("PUT", f"{_DECISION}/void", "tell", answers={200: answer_of(Outcome)}, problems=(409,))
async def void(call: Call) -> Response:
    """Close a decision that was never shown: nothing is learned from it."""
    return await answer_tell(call, Void(call.id, call.token))


def _tell(id: str, body: OutcomeBody | Told, source: str | None, token: str | None) -> Tell:
    return Tell(id, body.clicked, source, token, body.goal, body.value, body.key, body.seen)


async def answer_tell(call: Call, request: Tell | Track | Void) -> Response:
    """Tell, and answer with what became of it."""
    served = await call.service.experiment(call.name)
    (outcome,) = answers = await served.do((request,))
    call.service.meters.told(call.name, answers)
    if not isinstance(outcome, Outcome):
        raise outcome
    return answer(outcome.to_dict(), 202 if outcome.status == "late" else 200)


@operation("POST", f"{ONE}/tell", "tell", body=TellBody, answers={200: {"outcomes": list[Outcome | ProblemAnswer]}})
async def tell_many(call: Call) -> Response:
    """Tell many outcomes at once; each is answered by what became of it, or by the error it deserves."""
    served = await call.service.experiment(call.name)
    answers = await served.do([_tell(each.id, each, call.body.source, call.token) for each in call.body.outcomes])
    call.service.meters.told(call.name, answers)
    shown = [each.to_dict() if isinstance(each, Outcome) else Problem.of(each).to_dict() for each in answers]
    return answer({"outcomes": shown})
