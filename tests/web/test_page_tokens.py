"""What whoever reads the token of a page can do with it: neither disable segments nor meet other people's visitors."""

import dataclasses

import pytest

from rankone.client.client import Client
from rankone.client.signing import sign_visitor
from rankone.errors import Contradiction
from rankone.live import Database
from rankone.web.server.access.tokens import SCOPES, create_token

from .helpers import Api, running, until

DEVICE = {"device": ["phone", "desktop"]}
PAGE = {"rows": ["A", "B"], "cols": ["1", "2"], "policy": "ucb1", "outcomes": {"window": 600}, "seed": 1}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service with tokens: of an operator, of a page and of another page."""
    db = tmp_path_factory.mktemp("pages") / "rankone.db"
    with running(db) as url, Database(db) as database:
        operator = Api(url, create_token(database, SCOPES))
        page, other = (Api(url, create_token(database, ["ask", "tell"])) for _ in range(2))
        yield operator, page, other


@pytest.fixture(scope="module")
def signing(service, tmp_path_factory):
    """Tokens that sign: for the experiment 'signed', for another one, and one that is revoked."""
    operator = service[0]
    made(operator, "signed")
    tokens = []
    for experiment in ("signed", "elsewhere", "signed"):
        answer = operator("POST", "/v1/tokens", {"scopes": ["sign"], "experiment": experiment})
        assert answer.status == 201, answer.body
        tokens.append(answer.json()["token"])
    assert operator("POST", f"/v1/tokens/{tokens[2].split('_')[1]}/revoke").status == 200
    return tokens


def made(operator, name, **settings):
    assert operator("POST", "/v1/experiments", PAGE | {"name": name} | settings).status == 201
    return name


def reported(operator, name):
    return operator.on(name, "GET", "/report").json()["segments"]


def visit(api, name, **body):
    answer = api.on(name, "POST", "/visit", body)
    assert answer.status == 200, answer.body
    found = answer.json()
    return found["decisions"][0], found["repeated"]


def test_an_invented_attribute_of_a_page_shuts_nobody_out(service):
    operator, page, _ = service
    name = made(operator, "evil")
    visit(page, name, context="evil=1")
    visit(page, name, context="device=phone")
    refused = page.on(name, "POST", "/ask", {"context": {"evil": 1}})
    assert (refused.status, "attributes of visitors are declared" in refused.json()["expected"]) == (422, True)
    assert reported(operator, name)["ignored"] == {"": 2}
    assert operator.on(name, "POST", "/context", {"context": DEVICE}).json()["context"] == DEVICE
    visit(page, name, context="device=phone,evil=1")
    found = reported(operator, name)
    assert [(each["name"], each["decisions"]) for each in found["segments"]] == [("phone", 1)]
    assert found["ignored"] == {"": 3}
    assert "Ignored, not declared: other attributes (3 visitors)." in found["sentence"]


def test_invented_levels_fill_no_slots_where_levels_are_declared(service):
    operator, page, _ = service
    name = made(operator, "slots", context=DEVICE)
    for number in range(70):
        visit(page, name, context=f"device=evil {number}")
    visit(page, name, context="device=phone")
    found = reported(operator, name)
    assert [(each["name"], each["decisions"]) for each in found["segments"]] == [("unknown", 70), ("phone", 1)]
    assert (found["others"][0], found["ignored"]) == (0, {"device": 70})


def test_an_administrator_frees_the_slots_that_invented_levels_fill(service):
    operator, page, _ = service
    name = made(operator, "free", context={"device": None})
    for number in range(70):
        visit(page, name, context=f"device=evil {number}")
    visit(page, name, context="device=phone")
    assert reported(operator, name)["others"][0] == 7
    assert page.on(name, "POST", "/context", {"context": DEVICE}).status == 403
    assert operator.on(name, "POST", "/context", {"context": DEVICE}).status == 200
    visit(page, name, context="device=phone")
    found = reported(operator, name)
    assert [(each["name"], each["decisions"]) for each in found["segments"]] == [("phone", 1)]
    assert found["others"][0] == 71


def test_who_names_somebody_elses_visitor_cannot_void_what_that_visitor_saw(service):
    operator, page, _ = service
    name = made(operator, "void")
    seen, _ = visit(page, name, visitor="ann@shop.example")
    guessed, repeated = visit(page, name, visitor="ann@shop.example")
    assert repeated
    assert guessed["levels"] == seen["levels"]
    for refused in (
        page.on(name, "POST", "/beacon", {"id": guessed["id"], "void": True}),
        page.on(name, "PUT", f"/decisions/{guessed['id']}/void"),
    ):
        assert (refused.status, refused.code) == (409, "contradiction")
    assert page.on(name, "POST", "/beacon", {"id": guessed["id"]}).json()["status"] == "held"  # a click of a later view
    assert page.on(name, "POST", "/beacon", {"id": seen["id"]}).json()["repeated"]


def test_a_first_view_may_void_what_it_got(service):
    operator, page, _ = service
    name = made(operator, "late")
    seen, _ = visit(page, name, visitor="Ann")
    assert page.on(name, "POST", "/beacon", {"id": seen["id"], "void": True}).json()["status"] == "void"


def test_visitors_of_different_tokens_do_not_meet(service):
    operator, page, other = service
    name = made(operator, "apart")
    first, _ = visit(page, name, visitor="Ann")
    second, repeated = visit(other, name, visitor="Ann")
    assert not repeated
    assert first["number"] != second["number"]


def test_an_idempotency_key_can_not_take_the_place_of_a_visitor(service):
    operator, page, _ = service
    name = made(operator, "keys")
    for key in ("visitor Ann 1", "Ann"):
        assert page.on(name, "POST", "/ask", {"count": 2}, headers={"Idempotency-Key": key}).status == 200
    assert not visit(page, name, visitor="Ann")[1]


def test_keys_of_different_tokens_do_not_meet(service):
    operator, page, other = service
    name = made(operator, "keys apart")
    header = {"headers": {"Idempotency-Key": "k" * 256}}
    assert page.on(name, "POST", "/ask", {"count": 2}, **header).status == 200
    assert other.on(name, "POST", "/ask", {"count": 1}, **header).status == 200


def test_a_key_is_of_one_request_with_its_segment(service):
    operator, page, _ = service
    name = made(operator, "one request", context={"device": ["phone", "desktop"]})
    ask = {"headers": {"Idempotency-Key": "retry"}}
    first = page.on(name, "POST", "/ask", {"context": {"device": "phone"}}, **ask).json()
    assert page.on(name, "POST", "/ask", {"context": {"device": "phone"}}, **ask).json() == first
    for body in ({"context": {"device": "desktop"}}, {}):
        assert page.on(name, "POST", "/ask", body, **ask).code == "key-reused"


def test_only_who_is_signed_for_meets_a_signed_visitor(service, signing):
    _, page, other = service
    signature = sign_visitor(signing[0], "ann")
    signed = {"visitor": "first", "signature": sign_visitor(signing[0], "first")}
    until(lambda: page.on("signed", "POST", "/visit", signed).status == 200)  # a token is known within a second
    first, _ = visit(page, "signed", visitor="ann", signature=signature)
    assert visit(page, "signed", visitor="ann")[0]["number"] != first["number"]  # whoever only knows the name
    same, repeated = visit(other, "signed", visitor="ann", signature=signature)  # another page of the same site
    assert (same["number"], repeated) == (first["number"], True)
    token = page.token.split("_")[1]
    for visitor, wrong in (
        ("bob", signature),  # of another visitor
        ("ann", sign_visitor(signing[1], "ann")),  # by a token for another experiment
        ("ann", sign_visitor(signing[2], "ann")),  # that was revoked
        ("ann", sign_visitor(page.token, "ann")),  # by the page's, which everybody can read
        ("ann", f"{token}."),
        ("ann", "nobody.0000"),
        ("ann", "ä"),
        (None, signature),
    ):
        body = {"signature": wrong} | ({} if visitor is None else {"visitor": visitor})
        refused = page.on("signed", "POST", "/visit", body)
        assert (refused.status, refused.code) == (403, "bad-signature"), wrong


def test_a_token_that_signs_does_nothing_else(service, signing):
    server = Api(service[0].url, signing[0])
    until(lambda: server.on("signed", "POST", "/ask", {}).status != 401)  # a token is known within a second
    assert server.on("signed", "POST", "/visit", {"visitor": "ann"}).status == 403
    assert server.on("signed", "POST", "/ask", {}).status == 403


def test_a_client_says_who_the_visitor_is(service):
    operator, page, _ = service
    name = made(operator, "client", context=DEVICE)
    with Client(page.url, page.token) as client:
        experiment = client.experiment(name)
        first = experiment.ask(visitor="ann", context={"device": "phone"})
        again = experiment.ask(visitor="ann", context={"device": "desktop"})
        assert again == dataclasses.replace(first, id=again.id)
        assert visit(page, name, visitor="ann")[0]["id"] == again.id
        with pytest.raises(Contradiction, match="the id of the first answer"):
            experiment.void(again)
        assert experiment.tell(again, True).status == "held"
