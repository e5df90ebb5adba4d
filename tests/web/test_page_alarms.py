"""The page in a real Chromium: what rang, when and why, what was done, and the counts from before."""

import numpy as np
import pytest

from rankone.live import Database, Experiment
from rankone.numerics.seeds import generator
from tests.levels import numbers

from .browser import DESKTOP, PHONE, figure, needs_chromium, shown
from .helpers import running

pytestmark = needs_chromium

SUMMER, WINTER = np.outer([0.8, 0.4, 0.2], [0.8, 0.6]), np.outer([0.2, 0.4, 0.8], [0.8, 0.6])
MATCH = np.array([[0.6, 0.4], [0.3, 0.2], [0.2, 0.9]])


@pytest.fixture(scope="module")
def alarms(tmp_path_factory):
    """A service with an experiment that began anew, one whose levels are no product, and a quiet one."""
    db, rng = tmp_path_factory.mktemp("alarms") / "rankone.db", generator(6, "page")
    headlines, images = ["Off to the sea", "Work less", "Warm and dry"], ["beach", "fireplace"]
    with Database(db, durability="off") as database:
        for name, tables in (("season", (SUMMER, WINTER)), ("match", (MATCH,)), ("quiet", ())):
            made = Experiment(name, headlines, images, "uniform", db=database, seed=1, watch={"change": "restart"})
            for table in tables:
                for _ in range(20):
                    asked = made.ask(100)
                    made.tell_many([(one, bool(rng.random() < table[numbers(made, one)])) for one in asked])
    with running(db) as url:
        yield url


@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "light"), (PHONE, "light"), (PHONE, "dark")])
def test_a_change_is_shown_with_the_counts_before(alarms, open_page, size, scheme):
    page = open_page(alarms, size, color_scheme=scheme)
    shown(page, "season")
    assert "Learning restarted; results count from then." in page.inner_text("#warnings")
    page.locator("#alarms-section > summary").click()
    text = page.inner_text("#alarms")
    assert "learning restarted" in text
    assert "Clicks of row Off to the sea against " in text
    assert "Until then Off to the sea with beach" in text
    assert figure(page, "Click rate").endswith("since the restart")  # as all but the totals is
    page.locator("#earlier summary").click()
    lines = [line.inner_text().split("\t") for line in page.locator("#earlier-table tbody tr").all()]
    assert [line[:2] for line in lines[:3]] == [
        [name, "row"] for name in ("Off to the sea", "Work less", "Warm and dry")
    ]
    assert all(int(line[2].replace(",", "")) > 0 for line in lines)
    assert page.inner_text("#shares-map caption") == "Traffic: share of all decisions since the restart"
    shares = page.locator("#shares-map tbody td").all_inner_texts()
    assert sum(float(share.rstrip("%")) for share in shares if share != "–") == pytest.approx(100, abs=3)  # rounded
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_levels_that_are_no_product_are_shown(alarms, open_page):
    page = open_page(alarms, DESKTOP)
    shown(page, "match")
    assert "levels interact" in page.inner_text("#warnings")
    page.locator("#alarms-section > summary").click()
    assert "Levels interact" in page.inner_text("#alarms")
    assert "no action taken" in page.inner_text("#alarms")
    assert page.locator("#earlier").is_hidden()
    assert figure(page, "Verdict").startswith("in doubt")


def test_nothing_is_shown_where_nothing_rang(alarms, open_page):
    page = open_page(alarms, DESKTOP)
    shown(page, "quiet")
    assert page.locator("#alarms-section").is_hidden()
