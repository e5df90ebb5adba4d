"""Fuzz the service over real HTTP: ``python -m tests.fuzz [CASES]`` (10,000 unless told).

As many cases again are hostile bytes on sockets (`tests/raw_fuzz.py`). With schemathesis every operation of the OpenAPI
document gets the same number of cases, half of them valid by the document and half not; every answer is checked: never
500 or above, a documented status with its documented content, the one shape of errors, methods that do not exist
refused, tokens not ignored.
"""

import sys
import tempfile
from collections import Counter
from pathlib import Path

import hypothesis
import schemathesis
from hypothesis import HealthCheck
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from tests.raw_fuzz import raw_fuzz
from tests.web.helpers import HOMEPAGE, Api, ServerProcess, peak_mebibytes

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]
DEVICE = "device"  # what is said of visitors
GOALS = {"click": {}, "order": {"kind": "amount", "cap": 100}, "refund": {"better": "less", "worse_by": 0.1}}
PAGE = HOMEPAGE | {"context": {DEVICE: None}, "goals": GOALS}
APART = PAGE | {
    "name": "apart",
    "policy": "segmented-uts",
    "watch": {"change": "restart"},
}  # and may begin anew
LISTS = {"name": "lists", "items": [*"abcdef"], "positions": 3, "policy": "cascade-ts", "outcomes": {"window": 60}}
GOALS_OF_PLANS = ("earn", "both", "decide")
SLOW = ("export",)  # starts a process each time
FEW = 4  # cases of operations that are slow or take nothing
ONLY_WRONG = ("make_token",)  # from the first token on, who has none is let in no more


def fuzz(url, cases, seed=0):
    """Send about `cases` requests; return how many got which status. Any broken promise raises."""
    api = Api(url)
    assert api("POST", "/v1/experiments", PAGE).status in (200, 201)
    assert api("POST", "/v1/experiments", APART).status in (200, 201)
    assert api("POST", "/v1/experiments", LISTS).status in (200, 201)
    real = {"name": [HOMEPAGE["name"], APART["name"], LISTS["name"]], "id": [one["id"] for one in _decisions(api)]}
    real["flag"] = [HOMEPAGE["name"], f"{HOMEPAGE['name']}.row"]
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    operations = {
        found.definition.raw["operationId"]: found for found in (one.ok() for one in schema.get_all_operations())
    }
    rich = [name for name, found in operations.items() if _takes(found) and name not in SLOW]
    statuses = Counter()
    for name, operation in operations.items():
        examples = -(-cases // len(rich)) if name in rich else FEW
        wrong = examples if name in ONLY_WRONG else examples // 2 if _can_be_wrong(operation) else 0
        for mode, count in ((GenerationMode.NEGATIVE, wrong), (GenerationMode.POSITIVE, examples - wrong)):
            if count:
                _fuzz_operation(operation, mode, count, seed, statuses, real)
    return statuses


def _fuzz_operation(operation, mode, examples, seed, statuses, real):
    @hypothesis.seed(seed)
    @hypothesis.settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    def send(case):
        # Half of the cases meet an experiment and a decision that are there, so that they get past the first door.
        for name, given in (case.path_parameters or {}).items():
            if len(str(given)) % 2:
                case.path_parameters[name] = real[name][len(str(given)) // 2 % len(real[name])]
        _name_segments(case.body)
        _name_goals(case.body)
        response = case.call(timeout=60)
        statuses[response.status_code] += 1
        case.validate_response(response, checks=CHECKS)
        if response.status_code >= 400 and case.method != "HEAD":
            flag = case.path.startswith("/ofrep")  # OpenFeature has errors of its own
            assert "errorCode" in response.json() if flag else "application/problem+json" in _kind(response)

    send()


def _kind(response):
    return response.headers["content-type"]


def _name_segments(body):
    """Let visitors be of segments whose attribute is known: few cases would hit upon it by chance."""
    said = body.get("context") if isinstance(body, dict) else None
    if isinstance(said, dict) and said:
        body["context"] = {DEVICE: next(iter(said.values()))}
    elif isinstance(body, dict) and said is None and "count" in body:
        body["context"] = {DEVICE: f"device {body['count']}"[:64]}
    elif isinstance(body, dict) and said is None and "visitor" in body:
        body["context"] = f"{DEVICE}=device {len(str(body['visitor']))}"


def _name_goals(body):
    """Let outcomes be of goals that are there."""
    if isinstance(body, dict) and isinstance(body.get("goal"), str) and body["goal"] not in GOALS_OF_PLANS:
        body["goal"] = list(GOALS)[len(body["goal"]) % len(GOALS)]


def _decisions(api):
    said = {"context": {DEVICE: "phone"}}
    assert api.on(APART["name"], "POST", "/ask", said).status == 200
    lists = api.on(LISTS["name"], "POST", "/ask", {"count": 25, "pinned": {"2": "ad"}}).json()["decisions"]
    return lists + api.on(HOMEPAGE["name"], "POST", "/ask", {"count": 50} | said).json()["decisions"]


def _takes(operation):
    """Whether an operation takes anything."""
    return bool(operation.definition.raw.get("parameters") or operation.definition.raw.get("requestBody"))


def _can_be_wrong(operation):
    """Whether something it takes can be invalid: any text can be the name of an experiment, or the id of a decision."""
    raw = operation.definition.raw
    return "requestBody" in raw or any(one["in"] != "path" for one in raw.get("parameters", ()))


def main():
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(Path(folder) / "fuzz.db", "--durability", "off")
        try:
            statuses = fuzz(server.url, cases)
            print(f"valid and not, by status: {dict(sorted(statuses.items()))}")
            hostile = raw_fuzz(server.url, cases)
            print(f"hostile bytes, by status (0: no answer): {dict(sorted(hostile.items()))}")
            assert Api(server.url).on(HOMEPAGE["name"], "POST", "/ask").status == 200, "it does not go on"
            peak = peak_mebibytes(server)
        finally:
            code = server.end()
    statuses += hostile
    print(f"{sum(statuses.values())} cases; at most {peak:.0f} MiB")
    assert sum(statuses.values()) >= 2 * cases, "fewer cases than asked for"
    assert not any(status >= 500 for status in statuses)
    assert code == 0
    assert peak < 512


if __name__ == "__main__":
    main()
