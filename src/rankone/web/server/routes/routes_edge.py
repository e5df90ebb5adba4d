"""For sites that decide for themselves: the weights to decide by, and what was shown and clicked, many rows at once."""

import time
from typing import Any

from starlette.responses import Response

from rankone.client.signing import signature_by
from rankone.live.operate.taking_in import TakenIn
from rankone.web.encoding import encode
from rankone.web.server.routes.operations import ONE, Call, answer, operation, tagged
from rankone.web.server.schemas.answers import WeightsAnswer, answer_of
from rankone.web.server.schemas.bodies import IngestBody, WeightsQuery

_FOR_EVER = 31_536_000  # seconds: a version stays what it is


@operation("GET", f"{ONE}/weights", "ask", query=WeightsQuery, answers={200: WeightsAnswer})
async def weights(call: Call) -> Response:
    """Return the weights by which a page or a worker decides, to be kept until `valid_until`.

    The header `Rankone-Signature` has signatures of the whole answer by the tokens with the scope `sign`, each as
    `rankone.sign_visitor(TOKEN, "weights\\n" + ANSWER)` makes it.
    """
    served = await call.service.experiment(call.name)
    document: dict[str, Any] = await served.call(served.experiment.weights, call.query.version)
    body = encode(document)
    until = document["valid_until"]
    seconds = _FOR_EVER if until is None else max(1, int(until - time.time()))
    tag = f'"{document["version"]}-{until or 0}"'
    whose = "public" if call.token is None else "private"  # no shared cache hands out what takes a token
    headers = {"Cache-Control": f"{whose}, max-age={seconds}"}
    signers = await call.service.auth.signers(call.name)
    text = f"weights\n{body.decode()}"  # so that it is no signature of a visitor
    headers["Rankone-Signature"] = ", ".join(signature_by(each.id, each.digest, text) for each in signers)
    return tagged(call, body, tag, "application/json", headers)


@operation("POST", f"{ONE}/ingest", "tell", body=IngestBody, answers={200: answer_of(TakenIn)}, large=True, slow=True)
async def ingest(call: Call) -> Response:
    """Take in what was shown and clicked, thousands of rows at once; telling the same again changes nothing."""
    served = await call.service.experiment(call.name)
    rows = call.body.model_dump()
    experiment = served.experiment.on_behalf_of(call.token)
    return answer((await served.call(experiment.ingest, rows["exposures"] + rows["outcomes"])).to_dict())
