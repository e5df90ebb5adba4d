"""The page in a real Chromium: a tab for each goal, the steering one first; orders that come from a page of a shop."""

import re

import pytest

from rankone.live import Database, Experiment
from rankone.numerics.seeds import generator

from ..live.helpers import Clock, at
from .browser import DESKTOP, PHONE, needs_chromium, shown
from .helpers import running

pytestmark = needs_chromium
GOALS = {
    "order": {"kind": "amount", "cap": 200, "window": 1},
    "signup": {"window": 1},
    "refund": {"better": "less", "worse_by": 0.2, "window": 1},
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A service with a shop whose higher price brings more revenue, and more refunds."""
    db, rng, watch = tmp_path_factory.mktemp("goals") / "rankone.db", generator(4, "page"), Clock()
    with Database(db, durability="off") as database:
        home = at(watch)("shop", factors={"price": ["low", "high"]}, aim="decide", db=database, seed=1, goals=GOALS)
        for _ in range(20):
            for decision in home.ask(100):
                high = decision["price"] == "high"
                if rng.random() < 0.4:
                    home.tell(decision, value=float(rng.integers(50, 150)) * (1.6 if high else 1.0))
                    if rng.random() < (0.9 if high else 0.3):
                        home.tell(decision, goal="refund")
            watch.now += 2_000_000
        home.settle()
        Experiment("plain", ["A", "B"], ["x"], db=database, seed=1).ask()
    with running(db) as url:
        yield url


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_a_tab_for_each_goal(shop, open_page, size):
    page = open_page(shop, size)
    shown(page, "shop")
    tabs = page.get_by_role("tab")
    assert [tab.inner_text().split()[0] for tab in tabs.all()] == ["order", "signup", "refund"]
    panel = page.locator("#goals")
    assert panel.inner_text().startswith("More is better, capped at 200. It steers.")
    assert panel.locator(".scroll").evaluate("shown => shown.scrollWidth <= shown.clientWidth"), "nothing is cut"
    assert "per visitor" in panel.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tabs.nth(2).click()
    assert re.search(r"Guardrail violated since .+: nobody is declared the winner\.", panel.inner_text())
    assert page.get_by_role("tab", selected=True).inner_text().startswith("refund")
    page.keyboard.press("ArrowLeft")
    assert page.get_by_role("tab", selected=True).inner_text() == "signup"
    assert page.evaluate("document.activeElement.innerText") == "signup"
    page.keyboard.press("ArrowRight")
    assert "Guardrail 'refund' is violated" in page.inner_text("#warnings")


def test_none_without_goals(shop, open_page):
    page = open_page(shop, DESKTOP)
    shown(page, "plain")
    assert page.locator("#goals-section").is_hidden()
