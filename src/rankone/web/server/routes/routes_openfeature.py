"""OpenFeature's remote evaluation protocol (OFREP 0.3): every OpenFeature SDK can ask here.

A flag is an experiment: its value is the object of levels. ``experiment.factor`` is a flag, too: its value is the name
of one level, for SDKs that ask for a text. The targeting key is the visitor, so a visitor who comes back gets the same
decision; of the rest of the context the attributes count that the experiment declares.

An SDK may evaluate flags that a page never shows. That happens whatever the level is, so comparisons stay valid;
click rates are of those who were evaluated. The protocol has error bodies of its own.
"""

import hashlib
import operator
from collections.abc import Iterator
from typing import Any

from pydantic import Field
from starlette.responses import Response

from rankone.errors import RankoneError, StorageError
from rankone.live import Ask
from rankone.live.commit.decisions import once_more
from rankone.live.messages import AskedBefore, Decision
from rankone.live.visitor_attributes import IGNORE, MAX_ATTRIBUTE, MAX_ATTRIBUTES
from rankone.web.encoding import encode
from rankone.web.server.http.problem_json import Problem
from rankone.web.server.http.responses import Answer
from rankone.web.server.request_batching import ServedExperiment
from rankone.web.server.routes.operations import Call, answer, forbidden, operation, tagged
from rankone.web.server.schemas.answers import Flag
from rankone.web.server.schemas.bodies import Body
from rankone.wording.combinations import brief_combination

_FLAGS = "/ofrep/v1/evaluate/flags"
_VISITOR = "targetingKey"
_CODES = {"unknown-experiment": "FLAG_NOT_FOUND", "no-visitor": "TARGETING_KEY_MISSING", "invalid": "INVALID_CONTEXT"}


class EvaluationBody(Body):
    """Who is asked for: `targetingKey` is the visitor, the rest is what is known of them."""

    context: dict[str, Any] = Field(default_factory=dict)

    @property
    def visitor(self) -> str:
        """The visitor."""
        visitor = self.context.get(_VISITOR)
        if not isinstance(visitor, str) or not visitor:
            raise Problem(400, "no-visitor", f"a context with '{_VISITOR}'", repr(visitor), "name the visitor in it")
        return visitor

    @property
    def said(self) -> dict[str, Any] | None:
        """Of the context what can be an attribute of visitors. Other values are ignored, as undeclared ones are."""
        known = {
            name: value
            for name, value in self.context.items()
            if name != _VISITOR and 0 < len(name) <= MAX_ATTRIBUTE and isinstance(value, (str, bool, int, float))
        }
        short = {name: value for name, value in known.items() if len(str(value)) <= MAX_ATTRIBUTE and str(value)}
        return dict(list(short.items())[:MAX_ATTRIBUTES]) or None


def refused(problem: Problem, name: str) -> Response:
    """Answer an error as the protocol has it: 400 for whatever is wrong with a request."""
    code = _CODES.get(problem.code, "PARSE_ERROR" if problem.status in (413, 415) else "GENERAL")
    content = {"errorCode": code, "errorDetails": problem.detail} | ({"key": name} if name else {})
    return Answer(
        encode(content), 400 if problem.status in (413, 415, 422) else problem.status, headers=problem.headers
    )


@operation(
    "POST",
    f"{_FLAGS}/{{flag}}",
    "ask",
    body=EvaluationBody,
    answers={200: Flag},
    problems=(404, 429),
    refused=refused,
)
async def evaluate_flag(call: Call) -> Response:
    """Evaluate one flag for a visitor, as OpenFeature's SDKs do (OFREP)."""
    flag = name = call.id
    if flag not in await call.service.names() and "." in flag:
        name = flag.rpartition(".")[0]
    if not call.caller.may("ask", name):
        raise forbidden("ask", name)
    flags = {each["key"]: each for each in await _evaluated(call, name)}
    if flag not in flags:
        expected, do = f"a factor of '{name}'", f"try one of {', '.join(flags)}"
        raise Problem(404, "unknown-experiment", expected, repr(flag), do)
    return answer(flags[flag])


@operation(
    "POST", _FLAGS, "ask", body=EvaluationBody, answers={200: {"flags": list[Flag]}}, problems=(429,), refused=refused
)
async def evaluate_flags(call: Call) -> Response:
    """Evaluate all flags that the token may ask for, for a visitor (OFREP); 304 if the client has them already.

    An experiment that is damaged has no flags, and stops no other.
    """
    flags: list[dict[str, Any]] = []
    refused: RankoneError | None = None
    for name in [name for name in await call.service.names() if call.caller.may("ask", name)]:
        try:
            flags += await _evaluated(call, name)
        except StorageError:  # as true of the others
            raise
        except RankoneError as error:
            refused = error
    if refused and not flags:
        raise refused
    content = encode({"flags": flags})
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return tagged(call, content, tag, "application/json", {"Cache-Control": "no-store"})


async def _evaluated(call: Call, name: str) -> list[dict[str, Any]]:
    body = call.body
    served: ServedExperiment = await call.service.experiment(name)
    wanted = Ask(token=call.token, context=body.said, visitor=body.visitor, undeclared=IGNORE)
    decisions = await served.one(wanted)
    # The id is the same each time, so that nothing looks changed: it can tell, but not void.
    (decision,) = decisions if isinstance(decisions, AskedBefore) else once_more(decisions, visitor=True)
    stopped = decision.filler and await served.call(served.experiment.look, operator.attrgetter("shown")) is not None
    return list(_flags(name, decision, "STATIC" if stopped else "SPLIT"))


def _flags(name: str, decision: Decision, reason: str) -> Iterator[dict[str, Any]]:
    metadata = {"decision": decision.id, "number": decision.number}
    variant = brief_combination(decision.levels)
    alike = {"reason": reason, "metadata": metadata}
    yield {"key": name, "value": decision.levels, "variant": variant, **alike}
    for factor, level in decision.levels.items():
        yield {"key": f"{name}.{factor}", "value": level, "variant": level, **alike}
