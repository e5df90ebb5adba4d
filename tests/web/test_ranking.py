"""Rankings at a service: asked and told by HTTP, on the page in a real Chromium, and by the snippet."""

import asyncio
import json

import pytest

import rankone
from rankone.client.client import Client
from rankone.errors import InputError
from rankone.live import Database, Ranking
from rankone.numerics.seeds import generator
from rankone.web.traffic import names_of, simulate_traffic, truth_of

from .browser import DESKTOP, PHONE, needs_chromium, shown
from .helpers import running, until

ITEMS = ["News of the day", "Shoes", "Hats", "Bags", "Coats", "Socks"]
SETTINGS = {"name": "home", "items": ITEMS, "positions": 3, "policy": "cascade-ts", "outcomes": {"window": 600}}


def test_a_ranking_by_http(api, url):
    assert api("POST", "/v1/experiments", SETTINGS).status == 201
    assert api("POST", "/v1/experiments", SETTINGS).status == 200
    asked = api.on("home", "POST", "/ask", {"pinned": {"2": "ad"}, "exclude": ["Hats"], "candidates": ITEMS[:4]})
    (decision,) = asked.json()["decisions"]
    assert decision["items"][1] == "ad"
    assert "Hats" not in decision["items"]
    assert len(decision["chances"]) == 3
    path = f"/decisions/{decision['id']}/outcome"
    told = api.on("home", "PUT", path, {"clicked": [1], "seen": 2})
    assert (told.status, told.json()["positions"], told.json()["seen"]) == (200, [1], 2)
    assert api.on("home", "PUT", path, {"clicked": [decision["items"][0], 3]}).json()["positions"] == [1, 3]
    wrong = api.on("home", "PUT", path, {"clicked": [1], "seen": 0})
    assert (wrong.status, "at least 1 positions seen" in wrong.json()["detail"]) == (422, True)
    assert api.on("home", "PUT", path, {"clicked": True}).status == 422
    assert api.on("home", "POST", "/ask", {"pinned": {"9": "ad"}}).status == 422
    assert api.on("home", "POST", "/ask", {"exclude": ["nothing"]}).status == 422
    (second,) = api.on("home", "POST", "/ask", {}).json()["decisions"]
    batch = {"outcomes": [{"id": second["id"], "clicked": []}, {"id": second["id"], "clicked": [7]}]}
    many = api.on("home", "POST", "/tell", batch).json()["outcomes"]
    assert (many[0]["positions"], many[1]["status"]) == ([], 422)
    assert api.on("home", "POST", "/levels/add", {"factor": "item", "name": "Gloves"}).json() == {"number": 6}
    assert api.on("home", "POST", "/levels/retire", {"factor": "item", "name": "Socks"}).json() == {"number": 5}
    stopped = api.on("home", "POST", "/stop", {"levels": {"1": "Hats", "2": "Bags", "3": "Shoes"}}).json()
    assert stopped["shown"] == {"1": "Hats", "2": "Bags", "3": "Shoes"}
    report = api.on("home", "GET", "/report").json()
    assert report["ranking"]["positions"] == 3
    assert report["headline"].startswith("Stopped: everyone sees")
    assert api.on("home", "GET", "/view").json()["heat"]["levels"][1] == ["1", "2", "3"]
    lines = api.on("home", "GET", "/export").body.decode().splitlines()
    assert json.loads(lines[1])["item"] == "ad"
    metrics = api("GET", "/metrics").body.decode()
    assert 'rankone_decisions_total{experiment="home"} 2.0' in metrics
    assert api("GET", "/v1/winners").status == 200
    schema = api("GET", "/openapi.json").json()["components"]["schemas"]
    assert "RankingReport" in schema


def test_the_asynchronous_client_asks_for_lists_too(url):
    async def use():
        async with rankone.AsyncClient(url) as client:
            page = await client.create("by-async", items=[*"abcdef"], positions=2, policy="cascade-ts")
            decision = await page.ask(pinned={2: "ad"}, candidates=["b", "c"])
            return decision.items[1], decision.items[0] in "bc", (await page.tell(decision, [2], seen=2)).positions

    assert asyncio.run(use()) == ("ad", True, (2,))


def test_the_client_has_rankings(url):
    with Client(url) as client:
        ranking = client.create("by-client", items=[*"abcdef"], positions=2, policy="cascade-ts")
        decision = ranking.ask(pinned={1: "ad"}, exclude=["a"])
        assert decision.items[0] == "ad"
        assert ranking.tell(decision, [2], seen=2).positions == (2,)
        assert ranking.tell(ranking.ask(), []).clicked is False
        assert ranking.tell_many([(ranking.ask(), [1])])[0].positions == (1,)
        with pytest.raises(InputError, match="a position from 1"):
            ranking.tell(ranking.ask(), [3])
        assert ranking.add_item("g") == 6
        assert ranking.retire_item("f") == 5
        assert ranking.stop(["b", "c"]) == {"1": "b", "2": "c"}
        assert ranking.ask().items == ("b", "c")
        assert ranking.report().ranking.positions == 2
        assert str(ranking.report()).splitlines()[1].startswith("Stopped")


def test_a_simulated_audience_reads_lists(url):
    problem = rankone.as_problem("cascade:6x2")
    with Client(url) as client:
        visits, clicks = simulate_traffic(client, "lists", problem, policy="cascade-ts", rate=1e6, visits=200, seed=3)
        report = client.experiment("lists").report()
    assert visits == 200
    assert report.outcomes["clicked"] == clicks > 0
    assert truth_of(problem, names_of(problem)).startswith("the best items are")


@pytest.fixture(scope="module")
def ranked(tmp_path_factory):
    """A service with a ranking whose best items are proven."""
    db, rng = tmp_path_factory.mktemp("ranked") / "rankone.db", generator(4, "page")
    attraction = dict(zip(ITEMS, (0.6, 0.5, 0.4, 0.1, 0.05, 0.05), strict=True))
    with Database(db, durability="off") as database:
        home = Ranking("home", ITEMS, positions=3, policy="cascade-ts", aim="decide", db=database, seed=1)
        for _ in range(80):
            asked = home.ask(20)
            told = []
            for made in asked:
                clicked = [at for at, item in enumerate(made.items, 1) if rng.random() < attraction[item]]
                told.append((made, clicked[:1]))
            home.tell_many(told)
        Ranking("young", ITEMS, positions=2, policy="cascade-ts", db=database, seed=1).ask()
        for decide in ("set", "order"):
            stopping = {"decide": decide}
            Ranking(f"all-{decide}", ITEMS[:3], positions=3, stopping=stopping, db=database, seed=1).ask()
    with running(db) as url:
        yield url


@needs_chromium
@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_the_page_shows_the_list_and_who_surely_belongs(ranked, open_page, size):
    page = open_page(ranked, size)
    shown(page, "home")
    assert "are the best 3 of 6 items" in page.inner_text("#sentence")
    rows = [row.inner_text().split("\t") for row in page.locator("#ranking tbody tr").all()]
    assert {row[0].strip().partition(". ")[2] for row in rows[:3]} == set(ITEMS[:3])
    assert {row[3].strip() for row in rows[:3]} <= {"surely in", "open"}
    assert page.locator("#rates-map tbody tr").count() == 6
    assert page.locator("#rates-map thead th").count() == 3
    assert page.locator("#rates-map td.leads").count() == 3
    assert page.locator("progress").get_attribute("value") == "1"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@needs_chromium
def test_the_page_of_a_young_ranking(ranked, open_page):
    page = open_page(ranked)
    shown(page, "young")
    assert "No outcomes yet" in page.inner_text("#sentence")
    assert page.locator("#ranking tbody tr").count() == 6


@needs_chromium
def test_the_page_says_no_comparison_is_proven_where_none_is(ranked, open_page):
    page = open_page(ranked)
    shown(page, "all-set")
    assert page.locator("progress").count() == 0
    assert "100%" not in page.inner_text("#figures")
    shown(page, "all-order")
    assert page.locator("progress").get_attribute("value") == "0"
    assert "Verdict on the order: 0% of the comparisons are proven." in page.inner_text("main")


LIST = "".join(f'<a href="#" data-item="{item}">{item}</a><br>' for item in ITEMS)


@needs_chromium
def test_the_snippet_shows_a_list_and_tells_clicks_and_what_was_seen(url, open_page):
    with Client(url) as client:
        ranking = client.create("shop", items=ITEMS, positions=3, policy="cascade-ts", outcomes={"window": 600})
        page = open_page(f"{url}/health")
        page.set_content(
            f'<main>{LIST}</main><script src="{url}/snippet.js" data-experiment="shop" data-wait="60000"></script>'
        )
        until(lambda: page.locator("[data-item]:visible").count() == 3)
        first = [part.get_attribute("data-item") for part in page.locator("[data-item]:visible").all()]
        page.locator("[data-item]:visible").nth(1).click()
        until(lambda: ranking.report().outcomes["held"] == 1)
        lines = [json.loads(line) for line in ranking.export().decode().splitlines()]
        assert [line["item"] for line in lines] == first
        assert [line["clicked"] for line in lines[:2]] == [False, True]
        page.problems = [text for text in page.problems if "404" not in text]  # no picture for the tab


@needs_chromium
def test_the_snippet_only_reports_a_list_that_the_site_shows(url, open_page):
    with Client(url) as client:
        ranking = client.create("own", items=ITEMS, positions=3, policy="cascade-ts", outcomes={"window": 600})
        decision = ranking.ask()
        page = open_page(f"{url}/health")
        parts = "".join(f'<a href="#" data-item="{item}">{item}</a><br>' for item in decision.items)
        own = f'data-experiment="own" data-decision="{decision.id}"'
        page.set_content(f'<main>{parts}</main><script src="{url}/snippet.js" {own}></script>')
        page.wait_for_timeout(1500)  # what is in view for a second was seen
        page.locator("[data-item]").nth(0).click()
        until(lambda: ranking.report().outcomes["held"] == 1)
        assert ranking.tell(decision, []).positions == (1,)
        assert ranking.tell(decision, []).seen == 3
        page.problems = [text for text in page.problems if "404" not in text]
