"""What the service says to the snippet: the script itself, visits and beacons. `test_snippet` has the browser."""

import gzip

import pytest

from rankone.client.client import Client
from rankone.live.fold.fold_cache import FoldCache
from rankone.web.server.service import Service

from .helpers import Api, running, until

ROWS, COLS = ["headline A", "headline B"], ["image 1", "image 2"]


@pytest.fixture
def service(tmp_path):
    with running(tmp_path / "rankone.db", allowed_origins=["https://shop.example"]) as url, Client(url) as client:
        yield url, client.create("homepage", ROWS, COLS, "ucb1", outcomes={"window": 600}, seed=3)


def test_it_is_small_and_says_so(service):
    packed = Api(service[0])("GET", "/snippet.js", headers={"Accept-Encoding": "gzip, br"})
    plain = Api(service[0])("GET", "/snippet.js")
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) < 2000  # as the page promises
    assert Api(service[0])("GET", "/snippet.js", headers={"If-None-Match": plain.headers["ETag"]}).status == 304
    assert b"//" not in plain.body.replace(b"://", b"")


def test_bad_bodies_are_refused_in_words(service):
    api = Api(service[0])
    assert api.on("homepage", "POST", "/visit", raw=b"{}", headers={"Content-Type": "text/plain"}).status == 200
    assert (
        api.on(
            "homepage", "POST", "/visit", raw=b"a=b", headers={"Content-Type": "application/x-www-form-urlencoded"}
        ).code
        == "not-json"
    )
    assert api.on("homepage", "POST", "/ask", raw=b"{}", headers={"Content-Type": "text/plain"}).code == "not-json"
    assert api.on("homepage", "POST", "/visit", {"visitor": "x" * 101}).code == "invalid"
    assert api.on("homepage", "POST", "/visit", {"context": "device=phone, country=DE"}).status == 200
    assert api.on("homepage", "POST", "/visit", {"context": "phone"}).code == "invalid"
    assert api.on("homepage", "POST", "/beacon", {"id": "nobody"}).code == "unknown-decision"
    assert api.on("nowhere", "POST", "/visit", {}).code == "unknown-experiment"
    foreign = {"Origin": "https://elsewhere.example", "Content-Type": "text/plain"}
    assert api.on("homepage", "POST", "/visit", raw=b"{}", headers=foreign).code == "local-only"


def test_a_service_answers_factors_as_the_snippet_reads_them(service):
    api = Api(service[0])
    factors = {"headline": ["A", "B"], "image": ["1", "2"], "button": ["x", "y"]}
    assert api("POST", "/v1/experiments", {"name": "three", "factors": factors}).status == 201
    visits = [api.on("three", "POST", "/visit", {"visitor": "Ann"}).json() for _ in range(2)]
    first, again = (visit["decisions"][0] for visit in visits)
    assert first == again | {"id": first["id"]}
    assert [visit["repeated"] for visit in visits] == [False, True]
    assert all(first["levels"][factor] in levels for factor, levels in factors.items())


def test_a_stop_is_for_visitors_who_come_back_too(service):
    url, experiment = service
    api = Api(url)
    first = api.on("homepage", "POST", "/visit", {"visitor": "Ann"}).json()["decisions"][0]
    pair = next((row, col) for row in ROWS for col in COLS if (row, col) != tuple(first["levels"].values()))
    experiment.stop(dict(zip(("row", "col"), pair, strict=True)))

    def shown_now():
        found = api.on("homepage", "POST", "/visit", {"visitor": "Ann"}).json()["decisions"][0]
        return tuple(found["levels"].values())

    until(lambda: shown_now() == pair)


def test_an_outcome_for_all_experiments_reads_only_those_that_have_the_goal(tmp_path, monkeypatch):
    """Of a thousand experiments most are not in memory, and reading them would take longer than a visitor waits."""

    async def rest(service):
        """Look after no experiment from time to time: that reads, too."""

    read, catch_up = set(), FoldCache.catch_up
    monkeypatch.setattr(Service, "_tick", rest)
    monkeypatch.setattr(
        FoldCache, "catch_up", lambda self, cached: (read.add(cached.number), catch_up(self, cached))[1]
    )
    with running(tmp_path / "rankone.db") as url, Client(url) as client:
        for name in ("clicks", "more clicks"):
            client.create(name, ROWS, COLS)
        shop = client.create("shop", ROWS, COLS, goals={"click": {}, "order": {"kind": "amount", "cap": 100}})
        shop.ask(visitor="ann")
        assert read == {1, 2, 3}
        read.clear()
        assert client.track("ann", "order", 20.0)["shop"].status == "held"
        assert read == {3}
