"""Every operation over real HTTP: what it does, and how it refuses."""

import json
import re
import threading

import pytest

from rankone.live import Experiment
from rankone.web.server.app import OPERATIONS

from .helpers import HOMEPAGE, Api, running


def make(api, name, **settings):
    answer = api("POST", "/v1/experiments", HOMEPAGE | {"name": name} | settings)
    assert answer.status == 201, answer.body
    return name


def ask(api, name="homepage", body=None, **more):
    answer = api.on(name, "POST", "/ask", body, **more)
    assert answer.status == 200, answer.body
    return answer.json()["decisions"]


def tell(api, decision, clicked, name="homepage"):
    return api.on(name, "PUT", f"/decisions/{decision['id']}/outcome", {"clicked": clicked})


def test_create_show_list(api):
    name = make(api, "created", stopping={"auto": True}, outcomes={"window": 600, "max_open": 10})
    shown = api.on(name, "GET", "").json()
    assert shown["factors"]["row"] == ["A", "B", "C"]
    assert (shown["outcomes"]["window"], shown["stopping"]["auto"], shown["outcomes"]["max_open"]) == (600.0, True, 10)
    again = HOMEPAGE | {"name": name}
    assert api("POST", "/v1/experiments", again).status == 200
    assert api("POST", "/v1/experiments", again | {"policy": "kl-ucb"}).code == "settings-differ"
    assert name in [found["name"] for found in api("GET", "/v1/experiments").json()["experiments"]]


def test_settings_of_a_verdict(api):
    name = make(
        api,
        "with a control",
        policy=None,
        aim="decide",
        stopping={"margin": 0.05},
        control={"levels": ["A", "1"], "share": 0.2},
    )
    shown = api.on(name, "GET", "").json()
    assert (shown["aim"], shown["explore"], shown["exploring"], shown["stopping"]["margin"]) == (
        "decide",
        1.0,
        1.0,
        0.05,
    )
    assert shown["control"] == {"levels": ["A", "1"], "share": 0.2}
    found = api.on(name, "GET", "/report").json()
    assert (found["control"]["row"], found["control_share"], found["basis"]) == ("A", 0.2, "any")
    figures = api("GET", "/metrics").body.decode()
    for line in ("rankone_doubt", "rankone_decided", "rankone_exploring", "rankone_sample_ratio_mismatches"):
        assert f'{line}{{experiment="{name}"}}' in figures
    retired = api.on(name, "POST", "/levels/retire", {"factor": "row", "name": "A"})
    assert (retired.status, retired.json()["expected"]) == (422, "a level of 'row' that is not the control's")


@pytest.mark.parametrize(
    "change",
    [
        {"aim": "win"},
        {"stopping": {"margin": 1.1}},
        {"explore": -0.1},
        {"control": {"levels": ["A"]}},
        {"control": {"levels": ["D", "1"]}},
        {"control": {"levels": "A,1"}},
        {"control": {"share": 0.1}},
        {"control": {"levels": ["A", "1"], "share": 1}},
        {"context": {"age": "90..18"}},
        {"context": {"age": ["1"] * 300}},
        {"context": {"os": None}, "policy": "logit-ts"},
        {"watch": {"interaction": "test-all"}, "policy": "segmented-uts"},
        {"watch": {"change": "shout"}},
        {"watch": {"interaction": "restart"}},
    ],
)
def test_settings_of_a_verdict_that_make_no_sense(api, change):
    before = api("GET", "/v1/experiments").json()
    refused = api("POST", "/v1/experiments", HOMEPAGE | {"name": "refused"} | change)
    assert refused.status == 422
    assert refused.json()["detail"].startswith("Expected")
    assert api("GET", "/v1/experiments").json() == before


def test_ask_and_tell_one_and_many(api):
    (decision,) = ask(api)
    assert set(decision) == {"id", "levels", "number", "filler"}
    told = tell(api, decision, True)
    assert (told.status, told.json()["status"], told.json()["repeated"]) == (200, "learned", False)
    assert tell(api, decision, True).json()["repeated"] is True
    assert tell(api, decision, False).code == "contradiction"
    decisions = ask(api, body={"count": 5, "source": "newsletter"})
    outcomes = [{"id": found["id"], "clicked": False} for found in decisions] + [{"id": "nonsense", "clicked": True}]
    answers = api.on("homepage", "POST", "/tell", {"outcomes": outcomes, "source": "newsletter"}).json()["outcomes"]
    assert [answer["status"] for answer in answers] == ["learned"] * 5 + [404]
    assert answers[-1]["code"] == "unknown-decision"


@pytest.mark.parametrize(
    ("context", "detail"),
    [
        ({"device": None}, "context: the level of 'device' as text, True, False or a number, but got nothing. Leave"),
        ({"device": 3.5}, "an experiment whose attributes of visitors are declared"),
        ({"device": ["phone"]}, "got several levels in one"),
        ({"device": ""}, "printable text of 1 to 64 characters, but got ''"),
        ({"device": "x" * 65}, "got 65 characters. Give a short name that many visitors share"),
        ({}, "context of 1 to 16 attributes, but got 0"),
        ("phone", "context as a dictionary"),
    ],
)
def test_what_is_no_context_is_refused_in_the_words_of_the_library(api, context, detail):
    refused = api.on("homepage", "POST", "/ask", {"context": context})
    assert refused.status == 422
    assert detail in refused.json()["detail"]


def test_errors_name_the_place_in_the_body_and_nothing_of_the_machinery(api):
    for body, place in (
        ({"rows": []}, "rows: "),
        ({"rows": ["a", ""]}, "rows.1: "),
        ({"factors": {"f": 0}}, "factors.f: "),
    ):
        refused = api("POST", "/v1/experiments", {"name": "refused", "cols": 2} | body).json()
        assert refused["detail"].startswith(f"Expected {place}"), refused["detail"]


def test_void(api):
    (decision,) = ask(api)
    voided = api.on("homepage", "PUT", f"/decisions/{decision['id']}/void")
    assert (voided.json()["status"], voided.json()["clicked"]) == ("void", None)
    assert tell(api, decision, True).code == "contradiction"
    assert tell(api, {"id": "0-" + "0" * 32}, True).code == "unknown-decision"


def test_the_same_key_gets_the_same_decision_and_another_body_is_refused(api):
    key = {"Idempotency-Key": "visitor 17"}
    first = ask(api, body={"count": 2, "source": "a"}, headers=key)
    assert ask(api, body={"count": 2, "source": "a"}, headers=key) == first
    for other in ({"count": 3, "source": "a"}, {"count": 2, "source": "b"}, {"count": 2}):
        refused = api.on("homepage", "POST", "/ask", other, headers=key)
        assert (refused.status, refused.code) == (422, "key-reused")


def test_the_same_key_at_the_same_moment_gets_one_decision(api):
    found, barrier = [], threading.Barrier(16)

    def client():
        barrier.wait()
        found.extend(ask(api, headers={"Idempotency-Key": "at once"}))

    threads = [threading.Thread(target=client) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert len({decision["id"] for decision in found}) == 1


def test_late_outcomes_are_answered_202(api):
    name = make(api, "hasty", outcomes={"window": 0.001})
    (decision,) = ask(api, name)
    answer = tell(api, decision, True, name)
    while answer.status == 200:  # held: the window was not over yet
        (decision,) = ask(api, name)
        answer = tell(api, decision, True, name)
    assert (answer.status, answer.json()["learned"], answer.json()["status"]) == (202, False, "late")


def test_windows_end_by_themselves(api):
    name = make(api, "quiet", outcomes={"window": 0.05})
    ask(api, name, {"count": 3})
    while api.on(name, "GET", "").json()["open"]:  # no request but looks: the service ends them
        pass
    assert api.on(name, "GET", "/report").json()["outcomes"]["expired"] == 3


def test_report_is_the_experiments_own(tmp_path):
    db = tmp_path / "rankone.db"
    with running(db) as url:
        api = Api(url)
        make(api, "homepage")
        for number in range(60):
            (decision,) = ask(api)
            tell(api, decision, number % 3 == 0)
        over_http = api.on("homepage", "GET", "/report").json()
    with Experiment("homepage", db=db) as experiment:
        assert over_http == json.loads(json.dumps(experiment.report().to_dict()))


def test_stop_resume_lines_and_exclude(api):
    name = make(api, "changing")
    stopped = api.on(name, "POST", "/stop", {"levels": {"row": "B", "col": "2"}, "why": "enough"}).json()
    assert stopped["stopped"] == "enough"
    (decision,) = ask(api, name)
    assert (decision["levels"], decision["filler"]) == ({"row": "B", "col": "2"}, True)
    assert api.on(name, "POST", "/resume").json()["stopped"] is None
    assert api.on(name, "POST", "/resume").code == "invalid"
    assert api.on(name, "POST", "/levels/add", {"factor": "row", "name": "D"}).json() == {"number": 3}
    assert api.on(name, "POST", "/levels/retire", {"factor": "col", "name": "1"}).json() == {"number": 0}
    assert api.on(name, "POST", "/levels/add", {"factor": "col", "name": "1"}).json() == {"number": 0}
    assert api.on(name, "POST", "/levels/retire", {"factor": "row", "name": "A"}).json() == {"number": 0}
    assert api.on(name, "POST", "/levels/retire", {"factor": "row", "name": "A"}).code == "invalid"
    for found in ask(api, name, {"count": 7}):
        api.on(name, "PUT", f"/decisions/{found['id']}/outcome", {"clicked": True, "source": "robot"})
    assert api.on(name, "POST", "/exclude", {"source": "robot"}).json() == {"excluded": 7}
    assert api.on(name, "POST", "/exclude", {}).code == "invalid"
    assert api.on(name, "POST", "/exclude", {"levels": {"row": "never there"}}).code == "invalid"


def test_open_decisions_are_voided_in_bulk(api):
    name = make(api, "crowded", outcomes={"max_open": 10, "max_age": 7200})
    assert api.on(name, "GET", "").json()["outcomes"]["max_age"] == 7200.0
    page = ask(api, name, {"count": 6, "source": "page"})
    ask(api, name, {"count": 4})
    refused = api.on(name, "POST", "/ask")
    assert (refused.status, refused.code) == (429, "too-many-open")
    assert "after 2 hours they make room automatically" in refused.json()["detail"]
    assert api.on(name, "POST", "/void-open", {"older_than": 3600}).json() == {"voided": 0}
    assert api.on(name, "POST", "/void-open", {"older_than": 0.001, "source": "page"}).json() == {"voided": 6}
    ask(api, name, {"count": 6})
    late = tell(api, page[0], True, name)
    assert (late.status, late.json()["status"]) == (202, "late")
    for body in ({}, {"older_than": 0}, {"older_than": 60, "source": ""}, {"older_than": 60, "row": "A"}):
        assert api.on(name, "POST", "/void-open", body).code == "invalid"
    assert (
        api("POST", "/v1/experiments", HOMEPAGE | {"name": "both", "outcomes": {"window": 60, "max_age": 60}}).code
        == "invalid"
    )


def test_only_resume_or_the_end_of_its_pair_ends_a_stop(api):
    name = make(api, "stopped")
    api.on(name, "POST", "/stop", {"levels": {"row": "B", "col": "2"}})
    changes = [
        ("/levels/add", {"factor": "row", "name": "D"}),
        ("/levels/retire", {"factor": "row", "name": "A"}),
        ("/exclude", {"source": "robot"}),
    ]
    for path, body in changes:
        assert api.on(name, "POST", path, body).status == 200
        assert api.on(name, "GET", "").json()["stopped"] == "by hand"
        (decision,) = ask(api, name)
        assert (decision["levels"], decision["filler"]) == ({"row": "B", "col": "2"}, True)
    assert api.on(name, "POST", "/levels/retire", {"factor": "col", "name": "2"}).status == 200
    report = api.on(name, "GET", "/report").json()
    assert report["stopped"] is None
    assert report["resumed"] == "it was stopped on 'B' with '2' until col '2' was retired"
    assert report["warnings"] == [f"Experimenting again: {report['resumed']}."]
    assert {decision["levels"]["col"] for decision in ask(api, name, {"count": 20})} <= {"1", "3"}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_export(api, kind):
    import io

    import polars as pl

    name = make(api, f"exported as {kind}")
    decisions = ask(api, name, {"count": 3})
    tell(api, decisions[0], True, name)
    content = api.on(name, "GET", f"/export?format={kind}").body
    read = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[kind]
    table = read(io.BytesIO(content))
    assert table["id"].to_list() == [decision["id"] for decision in decisions]
    assert table["outcome"].to_list() == ["told", "open", "open"]


def test_names_may_hold_anything_printable(api):
    for name in ("a/b", "50% off?", "größe & #1", "%2F", 'x"y', "..hidden", "日本"):
        make(api, name)
        (decision,) = ask(api, name)
        assert tell(api, decision, True, name).status == 200
        assert api.on(name, "GET", "").json()["name"] == name
        assert f'experiment="{name}"'.replace('x"y', 'x\\"y') in api("GET", "/metrics").body.decode()


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "unknown-path"),
        ("GET", "/v1/experiments/missing", 404, "unknown-experiment"),
        ("POST", "/v1/experiments/missing/ask", 404, "unknown-experiment"),
        ("DELETE", "/v1/experiments", 405, "wrong-method"),
        ("PATCH", "/", 405, "wrong-method"),
        ("GET", "/v1/experiments/homepage/export?format=xml", 422, "invalid"),
        ("GET", "/v1/experiments/homepage/export?path=/etc/passwd", 422, "invalid"),
        ("GET", "/../../etc/passwd", 404, "unknown-path"),
        ("GET", "/%2e%2e/%2e%2e/etc/passwd", 404, "unknown-path"),
        ("GET", "/page/../app.py", 404, "unknown-path"),
        ("GET", "/v1/experiments/..%2f..%2fetc%2fpasswd/report", 404, "unknown-experiment"),
        ("GET", "/v1/experiments/%00/report", 404, "unknown-experiment"),
        ("GET", "/v1/experiments/%ff%fe/report", 404, "unknown-experiment"),
    ],
)
def test_errors_have_one_shape(api, method, path, status, code):
    answer = api(method, path)
    assert (answer.status, answer.code) == (status, code)
    if status == 405:
        assert "GET" in answer.headers["Allow"]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"nonsense",
        b"[]",
        b"{}",
        b'{"clicked": true, "value": 1.0}',
        b'{"value": -1}',
        b'{"goal": "order", "value": 1}',
        b'{"clicked": 1}',
        b'{"clicked": "true"}',
        b'{"clicked": NaN}',
        b'{"clicked": true, "more": 1}',
        b'{"clicked": true, "source": "\\ud800"}',
        b'{"clicked": true, "source": "a\\u0000b"}',
        b'{"clicked": true, "source": "\xff"}',
        b'{"clicked": true, "source": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"clicked": true} trailing',
    ],
)
def test_bodies_that_are_not_what_they_should_be(api, raw):
    answer = api.on("homepage", "PUT", "/decisions/x/outcome", raw=raw)
    assert (answer.status, answer.code) == (422, "invalid")
    assert answer.json()["detail"].startswith(("Expected ", "No such "))
    assert len(answer.body) < 3000


def test_a_name_that_is_not_printable_is_refused_in_one_sentence(api):
    answer = api("POST", "/v1/experiments", {"name": "a\u200bb", "rows": 2, "cols": 2})
    assert answer.code == "invalid"
    problem = answer.json()
    assert problem["expected"] == "name: text as printable text of 1 to 256 characters"
    assert problem["got"] == "a\u200bb"
    assert problem["do"] == "give a shorter or plainer text"


def test_a_body_that_is_not_json_is_refused(api):
    answer = api.on("homepage", "POST", "/ask", raw=b"count=1", headers={"Content-Type": "text/plain"})
    assert (answer.status, answer.code) == (415, "not-json")


@pytest.mark.parametrize(
    "change",
    [
        {"policy": "no-such-policy"},
        {"policy": "rank1elim-kl"},
        {"rows": []},
        {"rows": ["A", "A"]},
        {"rows": ["a\nb"]},
        {"name": ".."},
        {"name": ""},
        {"stopping": {"error": 0.9}},
        {"outcomes": {"window": -1}},
        {"seed": 1e3},
    ],
)
def test_experiments_that_cannot_be(api, change):
    answer = api("POST", "/v1/experiments", HOMEPAGE | {"name": "impossible"} | change)
    assert (answer.status, answer.code) == (422, "invalid")


def test_a_database_that_is_gone_is_503_and_heals(postgres):
    import signal

    with running(postgres.new_database(), durability="full") as url:
        api = Api(url)
        make(api, "homepage")
        (decision,) = ask(api)
        postgres.stop(signal.SIGKILL)
        while (answer := api.on("homepage", "POST", "/ask")).status == 200:  # its processes end a little later
            pass
        assert (answer.status, answer.code, answer.headers["Retry-After"]) == (503, "storage", "1")
        postgres.start()
        while tell(api, decision, True).status == 503:  # a broken connection is noticed when it is used, then replaced
            pass
        assert tell(api, decision, True).json()["repeated"] is True
        while api("GET", "/health").status == 503:
            pass


def test_health_and_description(api):
    assert api("GET", "/health").json()["status"] == "ok"
    document = api("GET", "/openapi.json").json()
    described = {(method.upper(), path) for path, found in document["paths"].items() for method in found}
    assert described == {(operation.method, operation.path) for operation in OPERATIONS}
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert named == set(document["components"]["schemas"])


def test_files_of_the_page_are_cached_by_their_tag(api):
    first = api("GET", "/page.js")
    assert first.status == 200
    again = api("GET", "/page.js", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status, again.body) == (304, b"")
