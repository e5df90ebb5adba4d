"""For the pages of a site: the snippet, and the two requests that it sends from a visitor's browser.

Browsers send a text from one site to another without asking first, which would cost the visitor a round trip; and
`sendBeacon`, which survives the page, can send nothing else. So these two operations take JSON that is called a text,
with the token in it: in a header it would not be such a request, and an address ends up in logs.
"""

import functools
import gzip
import hashlib
from pathlib import Path

from starlette.responses import Response

from rankone.errors import RankoneError, StorageError
from rankone.live import Ask, Tell, Void
from rankone.live.messages import AskedBefore, Decision, Outcome, Track
from rankone.live.visitor_attributes import IGNORE, context_in_line
from rankone.web.server.http.problem_json import Problem
from rankone.web.server.routes.operations import ONE, Call, answer, operation, tagged
from rankone.web.server.routes.routes_decisions import OUTCOME, answer_tell
from rankone.web.server.schemas.bodies import BeaconBody, TrackBody, VisitBody

_PAGE = Path(__file__).parents[2] / "page"
_HEADERS = {
    "Cross-Origin-Resource-Policy": "cross-origin",  # it is made to run in other sites' pages
    "Cache-Control": "public, max-age=3600",
    "Vary": "Accept-Encoding",
}


@operation(
    "POST",
    f"{ONE}/visit",
    "ask",
    body=VisitBody,
    answers={200: {"decisions": list[Decision], "repeated": bool}},
    problems=(429,),
    simple=True,
)
async def visit(call: Call) -> Response:
    """Ask for a visitor of a page, as the snippet does: the same visitor gets the same decision (`repeated`).

    This holds until levels change, outcomes are excluded or the experiment is stopped or resumed. Of what a page says
    of a visitor only declared attributes count; the rest is ignored.
    """
    served, visitor, signer = await call.service.experiment(call.name), call.body.visitor, None
    said = None if call.body.context is None else context_in_line(call.body.context)
    if call.body.signature is not None:
        signer = await call.service.auth.signer(visitor or "", call.body.signature, call.name)
    decisions = await served.one(Ask(token=call.token, context=said, visitor=visitor, signer=signer, undeclared=IGNORE))
    return answer({"decisions": [each.to_dict() for each in decisions], "repeated": isinstance(decisions, AskedBefore)})


@operation("POST", f"{ONE}/beacon", "tell", body=BeaconBody, answers=OUTCOME, problems=(409,), simple=True)
async def beacon(call: Call) -> Response:
    """Tell that a decision was clicked, or that it was never shown (`"void": true`), from a page that is being left.

    Of a list: which positions were `clicked`, and how many were `seen`.
    """
    body, clicked = call.body, True if call.body.clicked is None and call.body.seen is None else call.body.clicked
    told = Tell(body.id, clicked, token=call.token, seen=body.seen)
    request = Void(body.id, call.token) if body.void else told
    return await answer_tell(call, request)


@operation("POST", f"{ONE}/track", "tell", body=TrackBody, answers=OUTCOME, problems=(409,), simple=True)
async def track(call: Call) -> Response:
    """Tell an outcome of a visitor; a visitor without a decision is counted ("unmatched")."""
    return await answer_tell(call, await _tracked(call, call.name))


@operation(
    "POST",
    "/v1/track",
    "tell",
    body=TrackBody,
    answers={200: {"experiments": dict[str, Outcome]}},
    problems=(409,),
    simple=True,
)
async def track_all(call: Call) -> Response:
    """Tell an outcome of a visitor to every experiment that has the goal and that the token may tell.

    One that refuses it (the visitor's decision was cancelled, the experiment is damaged) says so and stops no other.
    """
    told: dict[str, Outcome] = {}
    refused: dict[str, RankoneError] = {}
    for name in [name for name in await call.service.names() if call.caller.may("tell", name)]:
        try:
            served = await call.service.experiment(name)
            if call.body.goal in served.goals:
                told[name] = await served.one(await _tracked(call, name))
        except StorageError:  # as true of the others
            raise
        except RankoneError as error:
            refused[name] = error
    if refused and not told:
        raise next(iter(refused.values()))
    for name, why in refused.items():
        told[name] = Outcome("", None, "refused", False, note=Problem.of(why).detail, goal=call.body.goal)
    return answer({"experiments": {name: told[name].to_dict() for name in told}})


async def _tracked(call: Call, name: str) -> Track:
    body, signer = call.body, None
    if body.signature is not None:
        signer = await call.service.auth.signer(body.visitor, body.signature, name)
    return Track(body.visitor, body.goal, body.value, body.key, body.source, call.token, signer)


@operation("GET", "/snippet.js", None, answers={200: ("text/javascript",)})
async def snippet(call: Call) -> Response:
    """Return the snippet."""
    plain, packed, tag = _written()
    if "gzip" in call.headers.get("accept-encoding", ""):
        return tagged(call, packed, tag, "text/javascript", {**_HEADERS, "Content-Encoding": "gzip"})
    return tagged(call, plain, tag, "text/javascript", _HEADERS)


@functools.cache
def _written() -> tuple[bytes, bytes, str]:
    """Return the snippet with the core in it, without comments and margins, the same packed, and its ETag."""
    core, snippet = ((_PAGE / name).read_text(encoding="utf-8") for name in ("core.js", "snippet.js"))
    whole = snippet.replace("(() => {", "(() => {\n" + core.replace("export ", ""), 1)
    lines = (line.strip() for line in whole.splitlines())
    plain = "\n".join(line for line in lines if line and not line.startswith("//")).encode()
    return plain, gzip.compress(plain, mtime=0), f'W/"{hashlib.sha256(plain).hexdigest()[:32]}"'
