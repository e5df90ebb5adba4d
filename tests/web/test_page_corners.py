"""Odd corners of the page, in a real Chromium: large figures, long names, rare clicks, figures that fill their rows."""

import pytest

from rankone.live import Database

from ..live.helpers import Clock, at
from .browser import DESKTOP, PHONE, needs_chromium, shown
from .helpers import running

pytestmark = needs_chromium
NAME = "Save up to forty percent on every order that is placed before the end of this long and busy month"


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A service with an experiment of 4,000 decisions in one second, two of them clicked."""
    db = tmp_path_factory.mktemp("corners") / "rankone.db"
    with Database(db, durability="off") as database:
        levels = {"headline": [NAME, "B"], "image": ["1", "2"]}
        busy = at(Clock())("busy", factors=levels, policy="uniform", explore=0, db=database, seed=1)
        for _ in range(4):
            made = busy.ask(1_000)
            busy.tell_many([(one, one.number in (7, 8)) for one in made])
        busy.add_level("image", "new")
        at(Clock())("empty", factors=levels, db=database, control={"levels": {"headline": "B", "image": "1"}})
    with running(db) as found:
        yield found


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_labels_of_a_thousand_and_more_are_whole(url, open_page, size):
    page = open_page(url, size)
    shown(page, "busy")
    page.wait_for_selector("#traffic-chart svg")
    outside = """() => { const svg = document.querySelector("#traffic-chart svg"), box = svg.getBoundingClientRect();
        return [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()])
            .map(([text, { left, right }]) => [text, left >= box.left - 1 && right <= box.right + 1]); }"""
    labels = page.evaluate(outside)
    assert any(
        "," in text and int(text.replace(",", "")) >= 1_000 for text, _ in labels if text.replace(",", "").isdigit()
    )
    assert all(whole for _, whole in labels), labels


def test_a_long_name_ends_in_an_ellipsis_and_is_told_whole(url, open_page):
    page = open_page(url)
    shown(page, "busy")
    name = page.locator("#factor-tables").get_by_title(NAME).first
    style = name.evaluate("(each) => [getComputedStyle(each).webkitLineClamp, each.scrollHeight > each.clientHeight]")
    assert style[0] not in ("none", "")
    assert style[1]


def test_rare_clicks_are_no_zero_and_what_was_never_shown_says_so(url, open_page):
    page = open_page(url)
    shown(page, "busy")
    table = page.locator("#factor-1")
    assert "never shown" in table.locator("tr", has_text="new").inner_text()
    rates = page.locator("#rates-map td").all_inner_texts()
    assert any(text.startswith("0.") for text in rates)  # one click of about 1,000
    assert "–" in rates  # the new level


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("name", ["busy", "empty"])
def test_no_figure_stands_alone_in_a_row(url, open_page, name, size):
    page = open_page(url, size)
    shown(page, name)
    boxes = page.evaluate(
        "[...document.querySelectorAll('#figures > div')].map((each) => each.getBoundingClientRect())"
    )
    assert name == "busy" or len(boxes) % 2, "of an even number none is alone on a phone"
    tops = [round(box["top"]) for box in boxes]
    whole = page.evaluate("document.querySelector('#figures').clientWidth")
    for box, top in zip(boxes, tops, strict=True):
        assert tops.count(top) > 1 or box["width"] >= whole - 2


def test_winners_of_all_experiments_are_a_list(url, open_page):
    page = open_page(url)
    shown(page, "busy")
    page.locator("#winners summary").click()
    page.locator("#winners-headline", has_text="0 of 2 experiments have a winner").wait_for()
    assert page.locator("#winners-assumes").inner_text().startswith("Assumes")
