"""The page in a real Chromium: it comes alive, it is safe, it is honest, it can be read on a phone."""

import json
import re
import shutil
import subprocess
import time

import pytest

from rankone import RankOne
from rankone.client.client import Client
from rankone.live import Database, Experiment
from rankone.web.server.access.tokens import create_token
from rankone.web.traffic import simulate_traffic
from tests.levels import row_of
from tests.live.helpers import Clock, at, damage, start

from .browser import DESKTOP, HOSTILE, PHONE, figure, needs_chromium, shown
from .helpers import Api, running

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def alive(tmp_path_factory):
    """A service with three experiments: a lively one, an eliminating one and an empty one."""
    db = tmp_path_factory.mktemp("alive") / "rankone.db"
    with running(db) as url:
        client = Client(url)
        problem = RankOne([0.9, 0.5, 0.3, 0.2], [0.8, 0.4, 0.2])
        simulate_traffic(client, "homepage", problem, policy="ucb1", rate=1e6, visits=1500, batch=50)
        sharp = RankOne([0.99, 0.01, 0.01], [0.99, 0.01])
        simulate_traffic(client, "checkout", sharp, policy="rank1elim-kl:horizon=2000,c=0", rate=1e6, visits=2000)
        client.create("empty", 3, 3, "ucb1")
        yield url, client
        client.close()


def test_it_shows_what_leads_and_updates_by_itself(alive, open_page):
    url, client = alive
    page = open_page(url)
    shown(page, "homepage")
    report = client.experiment("homepage").report()
    assert page.inner_text("#sentence") == report.headline
    assert page.inner_text("#assumes") == report.assumes
    assert "'row 1' with 'col 1'" in report.headline
    assert not page.locator("#method").is_visible()
    page.locator("#more summary").click()
    assert page.inner_text("#method").splitlines() == [*report.notes, *report.details.splitlines()]
    assert "all traffic is simulated" in page.inner_text("#labels")
    assert figure(page, "Decisions").startswith("1,500")
    figures = page.locator("#rates-map tbody td").all_inner_texts()
    assert len(figures) == 12
    assert all(re.fullmatch(r"[0-9.]+%|–", figure) for figure in figures)  # in every cell: no colour needed
    assert page.locator("#rates-map td.leads").count() == 1
    page.wait_for_selector("#rate-chart svg")
    page.wait_for_selector("#traffic-chart svg")
    client.experiment("homepage").ask(5)
    page.locator("#figures dd", has_text="1,505").wait_for()
    assert figure(page, "Open decisions").startswith("5")
    assert "1,500 of 1,505 decisions are simulated" in page.inner_text("#labels")


def test_it_shows_the_stage_and_the_survivors(alive, open_page):
    url, _ = alive
    page = open_page(url)
    shown(page, "checkout")
    view = Api(url).on("checkout", "GET", "/view").json()
    assert view["stage"] >= 1
    assert view["left"] == {"row": ["row 1"], "col": ["col 1"]}
    assert f"stage {view['stage'] + 1}: 1 of 3 levels of row and 1 of 2 levels of col are left" in page.inner_text(
        "#race-note"
    )
    assert page.locator("#factor-0 td", has_text="eliminated").count() == 2
    assert f"{view['stage'] + 1}\n1 of 3 levels of row and 1 of 2 levels of col left" in page.inner_text("#figures")


def test_it_is_honest_without_data(alive, open_page):
    url, _ = alive
    page = open_page(url)
    shown(page, "homepage")
    page.wait_for_selector("#traffic-chart svg")
    shown(page, "empty")
    assert "No outcomes yet" in page.inner_text("#sentence")
    assert not page.is_visible("#rate-chart svg")  # nothing is left of the experiment shown before
    assert not page.is_visible("#traffic-chart svg")
    assert set(page.locator("#maps tbody td").all_inner_texts()) == {"–"}
    text = page.inner_text("main")
    assert "Too few outcomes yet" in text
    assert "not enough data" in text
    assert "★" not in text
    assert "NaN" not in text


def test_it_is_honest_without_experiments(tmp_path, open_page):
    with running(tmp_path / "rankone.db") as url:
        page = open_page(url)
        page.wait_for_selector("#empty:not([hidden])")
        assert f"rankone simulate-traffic {url} demo --problem needle:8x8" in page.inner_text("#empty")
        assert "rankone create rankone.db homepage" in page.inner_text("#empty")
        page.set_viewport_size(PHONE)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        request = page.inner_text("#create-request")
        assert f"curl -X POST {url}/v1/experiments" in request
        if shutil.which("curl"):
            done = subprocess.run(
                ["sh", "-c", request], capture_output=True, text=True, check=False
            )  # as one copies it
            assert json.loads(done.stdout)["factors"]["headline"] == ["A", "B"], done
            shown(page, "homepage")


def test_it_says_which_experiments_cannot_be_read(tmp_path, open_page):
    db = tmp_path / "rankone.db"
    start(db, name="broken").close()
    damage(db, 1)
    with running(db) as url:
        page = open_page(url)
        page.wait_for_selector("#damaged:not([hidden])")
        assert "broken cannot be read: " in page.inner_text("#damaged")
        assert not page.is_visible("#empty")
        start(db, name="sound").close()
        shown(page, "sound")
        assert page.is_visible("#damaged")


@pytest.mark.parametrize("name", ["homepage", "checkout"])
def test_it_can_be_used_on_a_phone(alive, open_page, name):
    page = open_page(alive[0], PHONE, device_scale_factor=2)
    shown(page, name)
    page.wait_for_selector("#traffic-chart svg")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.evaluate("Math.min(...[...document.querySelectorAll('nav button')].map((b) => b.clientHeight))") >= 32


def test_its_figures_mean_what_they_say(tmp_path, open_page):
    """Long after the last decision nothing happens "now"; a dot's number is the least; percentages look alike."""
    clock = Clock(int((time.time() - 9000) * 1e6))
    alone = {"outcomes": {"window": 600}, "explore": 0, "durability": "off"}  # steady: it draws nothing
    with at(clock)("shop", 2, 2, "ucb1", tmp_path / "rankone.db", **alone) as shop:
        for count in (330, 200, 200):  # far enough apart to be dots of their own
            decisions = shop.ask(count)
            shop.tell_many([(decision.id, row_of(decision) == 0) for decision in decisions])
            clock.pass_seconds(10)
        for seconds in (570, 10, 10):  # their windows end one after the other too
            clock.pass_seconds(seconds)
            shop.settle()
        shop.stop({"row": "row 2", "col": "col 1"})
    with running(tmp_path / "rankone.db") as url:
        page = open_page(url)
        shown(page, "shop")
        figures = page.inner_text("#figures")
        assert re.search(r"the last one 2\.[4-7] hours ago", figures)
        assert "per second now" not in figures
        assert "after 10 minutes" in page.inner_text("#labels")
        assert "Stopped: everyone sees 'row 2' with 'col 1'" in page.inner_text("#sentence")
        assert "No level is ruled out: too few decisions were drawn at random to compare them." in page.inner_text(
            "#race-note"
        )
        assert not re.search(r"\d %", page.inner_text("main"))
        page.wait_for_selector("#rate-chart svg")
        assert re.match(r"Each dot is 200 outcomes or more", page.inner_text("#rate-note"))


def test_it_plans(alive, open_page):
    from playwright.sync_api import expect

    page = open_page(alive[0])
    page.get_by_text("Plan an experiment").click()
    for name, value in {"Levels of each factor": "2, 2", "Click rate, %": "20", "Lift of the best, %": "50"}.items():
        page.get_by_label(name).fill(value)
    page.get_by_role("button", name="Plan", exact=True).click()
    answer = page.locator("#plan-answer")
    expect(answer).to_contain_text(" for a winner")
    assert answer.locator("tbody tr").count() == 4
    for kind, fields, said in (
        ("a winner on revenue", {"Visitors who order, %": "20", "Average order": "40"}, "for a winner on revenue"),
        ("a guardrail to be cleared", {"Worse by at most, %": "30"}, "to clear a guardrail of 30%"),
    ):
        page.get_by_label("How long until").select_option(kind)
        for name, value in ({"Levels of each factor": "2", "Visitors a day": "100"} | fields).items():
            page.get_by_label(name).fill(value)
        page.get_by_role("button", name="Plan", exact=True).click()
        expect(answer).to_contain_text(said, timeout=120_000)
        assert answer.locator("tbody tr").count() == 1
        expect(answer.locator("tbody")).to_contain_text("days")
    page.get_by_label("How long until").select_option("a winner on clicks")
    page.get_by_label("Click rate, %").fill("20")
    page.get_by_label("Lift of the best, %").fill("50")
    page.get_by_label("Levels of each factor").fill("2, 2, 2")
    page.get_by_role("button", name="Plan", exact=True).click()
    expect(answer).to_contain_text("2 x 2 x 2 = 8 combinations", timeout=120_000)
    page.get_by_label("Click rate, %").fill("90")
    page.get_by_role("button", name="Plan", exact=True).click()
    expect(answer.get_by_role("alert")).to_contain_text("Ask for a smaller lift")
    page.problems = [text for text in page.problems if "422" not in text]


def test_it_can_be_read_in_the_dark(alive, open_page):
    page = open_page(alive[0], color_scheme="dark")
    shown(page, "homepage")
    page.wait_for_selector("#traffic-chart svg")
    ratios = page.evaluate(
        """() => {
          const light = (text) => { const [r, g, b] = text.match(/[0-9.]+/g).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
          const paper = light(getComputedStyle(document.body).backgroundColor);
          return ["#sentence", "#status", ".note", "#figures dt", "td"].map((where) => {
            const ink = light(getComputedStyle(document.querySelector(where)).color);
            return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
          });
        }"""
    )
    assert min(ratios) >= 4.5  # WCAG AA


def test_hostile_labels_are_only_text(tmp_path, open_page):
    db = tmp_path / "rankone.db"
    with Experiment(HOSTILE[0], HOSTILE, HOSTILE, "ucb1", db, durability="off") as experiment:
        for decision in experiment.ask(200, source=HOSTILE[1]):
            experiment.tell(decision.id, decision["row"] == HOSTILE[1], source=HOSTILE[2])
        experiment.stop({"row": HOSTILE[1], "col": HOSTILE[0]}, why=HOSTILE[0])
    with running(db) as url:
        page = open_page(url)
        shown(page, HOSTILE[0])
        page.wait_for_selector("#traffic-chart svg")
        # Not hover: the chart is drawn anew every second, and the bar may be gone before the mouse is there.
        page.dispatch_event("#traffic-chart svg .mark-rect path", "mousemove")
        page.hover("#rates-map tbody tr:nth-child(2) td")
        assert page.evaluate("window.hacked") is None
        assert page.evaluate("({}).polluted") is None
        assert page.locator("main img, main script, nav img").count() == 0
        for where in ("#factor-0", "#factor-1", "#rates-map thead", "#shares-map tbody"):
            text = page.inner_text(where)
            assert [label for label in HOSTILE if label not in text] == []
        assert HOSTILE[0] in page.inner_text("#labels")


def test_it_asks_for_a_token_and_keeps_it_out_of_the_address(tmp_path, open_page):
    db = tmp_path / "rankone.db"
    database = Database(db)
    token = create_token(database, ["read"], "homepage")
    Experiment("homepage", 2, 2, "ucb1", db=database)
    Experiment("secret", 2, 2, "ucb1", db=database)
    with running(db) as url:
        page = open_page(url)
        page.wait_for_selector("#sign-in:not([hidden])")
        page.fill("#token", "rk_wrong_wrong")
        page.click("#sign-in button")
        page.wait_for_selector("#status.bad")
        assert page.is_visible("#sign-in")
        page.fill("#token", token)
        page.click("#sign-in button")
        shown(page, "homepage")
        assert page.locator("nav button").all_inner_texts() == ["homepage"]
        assert token not in page.url
        assert token not in page.content()
    database.close()


def test_it_says_so_when_the_service_is_away(tmp_path, open_page):
    with running(tmp_path / "rankone.db") as url:
        page = open_page(url)
        page.wait_for_selector("#empty:not([hidden])")
    page.wait_for_selector("#status.bad")
    assert "No answer" in page.inner_text("#status")


def test_the_policy_of_the_page_forbids_foreign_scripts_and_eval(alive, open_page):
    page = open_page(alive[0])
    shown(page, "homepage")
    page.evaluate("""() => {
        setTimeout("window.evaluated = 1");
        document.body.append(Object.assign(document.createElement("script"), { textContent: "window.inlined = 1" }));
    }""")
    page.wait_for_timeout(100)
    assert page.evaluate("[window.evaluated, window.inlined]") == [None, None]
    assert len(page.problems) == 2  # the browser reports both
    page.problems.clear()
    policy = Api(alive[0])("GET", "/").headers["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert "unsafe-eval" not in policy


def test_many_experiments_and_many_lines(tmp_path, open_page):
    from playwright.sync_api import expect

    db = tmp_path / "rankone.db"
    database = Database(db, durability="off")
    for number in range(9):
        Experiment(f"number {number}", 30, 24, "ucb1", db=database)
    with running(db) as url:
        page = open_page(f"{url}/#number%204")
        page.locator("#factor-0 tr", has_text="show all 30").wait_for()
        assert page.input_value("nav select") == "number 4"
        assert page.locator("#rates-map tbody td").count() == 24 * 24
        assert page.locator("#factor-0 tbody th").count() == 12
        page.get_by_role("button", name="show all 30").click()
        assert page.locator("#factor-0 tbody th").count() == 30
        page.select_option("nav select", "number 7")
        expect(page).to_have_title("number 7 · rankone")
        assert page.url.endswith("#number%207")
        page.set_viewport_size(PHONE)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.goto(f"{url}/#%")  # not an address of ours
        page.reload()
        expect(page).to_have_title("number 0 · rankone")
    database.close()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_it_shows_three_factors_and_all_their_combinations(tmp_path, open_page, size):
    from playwright.sync_api import expect

    factors = {
        "headline": ["A", HOSTILE[0], "Zebra", "D", "E"],
        "image": ["1", "2", "3", "4"],
        "button": ["buy", "try", "buttonless"],
    }
    with running(tmp_path / "rankone.db") as url, Client(url) as client:
        banner = client.create("banner", factors=factors, policy="uniform", aim="decide")
        clicked = {("try", image) for image in factors["image"]} | {("buttonless", "2")}
        banner.tell_many(
            [(made, (made.levels["button"], made.levels["image"]) in clicked) for made in banner.ask(1000)]
        )
        page = open_page(url, size)
        expect(page.locator("#factor-tables table")).to_have_count(3)
        expect(page.locator("#maps-section")).to_be_hidden()
        expect(page.locator("#combinations-note")).to_contain_text("5 x 4 x 3 = 60 combinations")
        expect(page.locator("#combinations tbody tr")).to_have_count(26)  # and the button that shows all
        page.locator("#combinations-search").fill("try zebra")
        expect(page.locator("#combinations-note")).to_contain_text("4 of those listed fit")
        page.locator("#combinations thead button", has_text="image").click()
        expect(page.locator("#combinations tbody tr td:nth-child(2)")).to_have_text(["1", "2", "3", "4"])
        assert "clicks by now" in figure(page, "Equal split")
        page.locator("#combinations-search").fill("")
        banner.retire_level("image", "4")
        banner.forbid({"headline": "A", "button": "try"})
        expect(page.locator("#combinations-note")).to_contain_text(
            "5 x 3 x 3 = 45 combinations, 45 of them shown so far, and 15 with levels that were retired."
        )
        page.locator("#combinations button", has_text="show all 60").click()
        expect(page.locator("#combinations tr.out", has_text="retired")).to_have_count(15)
        expect(page.locator("#combinations tr.out", has_text="forbidden")).to_have_count(3)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        assert page.evaluate("window.hacked") is None
