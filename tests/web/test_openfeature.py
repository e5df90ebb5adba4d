"""OpenFeature asks the service: its SDKs for Python, for Node and for browsers, as the package registries have them."""

import json
import time

import pytest

from rankone.client.client import Client
from rankone.live import Database
from rankone.web.server.access.tokens import create_token

from .browser import needs_chromium
from .helpers import Api, running
from .node import bundle, needs_node, run

FACTORS = {"headline": ["A", "B"], "image": ["1", "2"]}


@pytest.fixture
def service(tmp_path):
    with running(tmp_path / "rankone.db") as url, Client(url) as client:
        experiment = client.create(
            "homepage", factors=FACTORS, seed=3, outcomes={"window": 600}, context={"device": ["phone"]}
        )
        yield url, client, experiment


def evaluate(url, flag="", context=None, token=None, **more):
    path = "/ofrep/v1/evaluate/flags" + (f"/{flag}" if flag else "")
    return Api(url, token)("POST", path, {"context": context or {}}, **more)


def test_the_sdk_for_python(service):
    from openfeature import api
    from openfeature.contrib.provider.ofrep import OFREPProvider
    from openfeature.evaluation_context import EvaluationContext

    url, _, experiment = service
    provider = OFREPProvider(url)
    api.set_provider(provider, domain="site")
    client = api.get_client(domain="site")
    visitor = EvaluationContext("ann", {"device": "phone", "plan": "gold", "age": 31.5})
    first, again = (client.get_object_details("homepage", {}, visitor) for _ in range(2))
    assert first.value == again.value
    assert all(first.value[factor] in levels for factor, levels in FACTORS.items())
    assert first.reason == "SPLIT"
    assert client.get_string_value("homepage.image", "none", visitor) == first.value["image"]
    assert experiment.tell(first.flag_metadata["decision"], clicked=True).status == "held"  # until its window ends
    missing = client.get_object_details("nowhere", {"headline": "default"}, visitor)
    assert (missing.value, missing.error_code) == ({"headline": "default"}, "FLAG_NOT_FOUND")
    assert client.get_object_details("homepage", {}).error_code == "TARGETING_KEY_MISSING"
    wrong = client.get_boolean_details("homepage", True, visitor)
    assert (wrong.value, wrong.error_code) == (True, "TYPE_MISMATCH")
    assert experiment.report().decisions == 1
    provider.session.close()


def test_after_a_stop_everybody_gets_the_same(service):
    url, _, experiment = service
    experiment.stop({"headline": "A", "image": "2"})
    flags = [evaluate(url, "homepage", {"targetingKey": f"visitor {index}"}).json() for index in range(5)]
    assert {flag["reason"] for flag in flags} == {"STATIC"}
    assert all(flag["value"] == {"headline": "A", "image": "2"} for flag in flags)


def test_all_flags_at_once_and_only_if_they_changed(service):
    url, client, _ = service
    basket = client.create("basket", factors={"button": ["buy", "get"]}, seed=4)
    first = evaluate(url, context={"targetingKey": "ann"})
    assert [flag["key"] for flag in first.json()["flags"]] == [
        "homepage", "homepage.headline", "homepage.image", "basket", "basket.button"
    ]  # fmt: skip
    known = {"If-None-Match": first.headers["ETag"]}
    assert evaluate(url, context={"targetingKey": "ann"}, headers=known).status == 304
    assert evaluate(url, context={"targetingKey": "bob"}, headers=known).status == 200
    basket.stop({"button": "buy"})
    assert evaluate(url, context={"targetingKey": "ann"}, headers=known).status == 200


@pytest.mark.parametrize(
    ("flag", "context", "status", "code"),
    [
        ("nowhere", {"targetingKey": "ann"}, 404, "FLAG_NOT_FOUND"),
        ("homepage.button", {"targetingKey": "ann"}, 404, "FLAG_NOT_FOUND"),
        ("homepage", {}, 400, "TARGETING_KEY_MISSING"),
        ("homepage", {"targetingKey": 7}, 400, "TARGETING_KEY_MISSING"),
        ("homepage", {"targetingKey": "x" * 1000}, 400, "INVALID_CONTEXT"),
        ("homepage", ["ann"], 400, "INVALID_CONTEXT"),
        ("", {}, 400, "TARGETING_KEY_MISSING"),
    ],
)
def test_errors_are_as_the_protocol_has_them(service, flag, context, status, code):
    answer = evaluate(service[0], flag, context)
    assert (answer.status, answer.json()["errorCode"]) == (status, code)
    assert answer.json()["errorDetails"]
    assert answer.json().get("key", "") == flag


def test_what_cannot_be_read_is_a_parse_error(service):
    answer = Api(service[0])(
        "POST", "/ofrep/v1/evaluate/flags/homepage", raw=b"a=b", headers={"Content-Type": "text/x"}
    )
    assert (answer.status, answer.json()["errorCode"]) == (400, "PARSE_ERROR")


def test_values_that_are_no_attribute_cost_nothing(service):
    odd = {"targetingKey": "ann", "": "x", "x" * 500: 1, "list": [1], "none": None, "long": "y" * 500, "empty": ""}
    assert evaluate(service[0], "homepage", odd | {f"a{index}": 1 for index in range(50)}).status == 200


def test_a_token_for_one_experiment_sees_one(service, tmp_path):
    url, client, _ = service
    client.create("basket", factors={"button": ["buy", "get"]}, seed=4)
    database = Database(tmp_path / "rankone.db")
    token = create_token(database, ["ask"], "homepage")
    database.close()
    while evaluate(url).status != 401:  # the service notices within a second
        time.sleep(0.05)
    ann = {"targetingKey": "ann"}
    assert {flag["key"].partition(".")[0] for flag in evaluate(url, "", ann, token).json()["flags"]} == {"homepage"}
    assert evaluate(url, "homepage.image", ann, token).status == 200
    assert evaluate(url, "basket", ann, token).status == 403
    assert evaluate(url, "basket.button", ann, token).status == 403


@needs_node
def test_the_sdk_for_node(service, packages):
    done = run("node", "node_flags.js", service[0], cwd=packages)
    seen = json.loads(done.splitlines()[-1])
    assert seen["first"]["value"] == seen["again"]["value"]
    assert seen["first"]["flagMetadata"]["decision"] == seen["again"]["flagMetadata"]["decision"]
    assert seen["level"]["value"] == seen["first"]["value"]["headline"]
    assert seen["unknown"] | {"value": "none", "errorCode": "FLAG_NOT_FOUND"} == seen["unknown"]
    assert seen["nobody"]["errorCode"] == "TARGETING_KEY_MISSING"


@needs_node
@needs_chromium
def test_the_sdk_for_browsers(service, packages, open_page):
    url, _, experiment = service
    page = open_page(url)
    page.evaluate(bundle(packages, "browser_flags.js"))
    seen = page.evaluate("flags(location.origin)")
    assert seen["combination"]["reason"] == "SPLIT"
    assert seen["level"]["value"] == seen["combination"]["value"]["headline"]
    assert seen["unknown"]["errorCode"] == "FLAG_NOT_FOUND"
    assert experiment.report().decisions == 1  # asking again is no new decision
