"""The page in a real Chromium: segments that differ, and an experiment of which nobody says anything."""

import pytest

from rankone.live import Database, Experiment
from rankone.numerics.seeds import generator
from tests.levels import numbers

from .browser import DESKTOP, PHONE, needs_chromium, shown
from .helpers import running

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def segments(tmp_path_factory):
    """A service with an experiment whose phones and desks differ in the headline."""
    db, rng = tmp_path_factory.mktemp("segments") / "rankone.db", generator(4, "page")
    with Database(db, durability="off") as database:
        home = Experiment(
            "home", ["Save time today", "Work less"], ["beach", "desk"], aim="decide", db=database, seed=1
        )
        for turn in range(300):
            device = ("phone", "desktop")[turn % 2]
            asked = home.ask(16, context={"device": device, "country": "DE"})
            shown = [numbers(home, made) for made in asked]
            rates = [(0.8 if row == turn % 2 else 0.3) * (0.9, 0.6)[col] for row, col in shown]
            home.tell_many([(made, bool(rng.random() < rate)) for made, rate in zip(asked, rates, strict=True)])
        Experiment("plain", ["A", "B"], ["x"], db=database, seed=1).ask()
    with running(db) as url:
        yield url


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_it_says_whether_the_best_depends_on_the_segment(segments, open_page, size):
    page = open_page(segments, size)
    shown(page, "home")
    assert "The best row depends on the segment." in page.inner_text("#segments-note")
    assert "Segments have different winners" in page.inner_text("#warnings")
    rows = page.locator("#segments tbody tr").all()
    lines = [[cell.inner_text().strip() for cell in row.locator("th, td").all()] for row in rows]
    assert [line[:3] for line in lines] == [["DE", "phone", "2,400"], ["DE", "desktop", "2,400"]]
    assert "★ Save time today" in lines[0][5]
    assert "★ Work less" in lines[1][5]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("#segments").evaluate("it => it.parentElement.scrollWidth <= it.parentElement.clientWidth")


def test_it_says_nothing_where_nothing_was_said(segments, open_page):
    page = open_page(segments, DESKTOP)
    shown(page, "plain")
    assert page.locator("#segments-section").is_hidden()
