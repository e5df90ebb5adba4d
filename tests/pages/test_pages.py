"""The pages as files in a real Chromium: they draw, step, fit a phone, and ask nothing of the network.

RANKONE_SCREENSHOTS=folder keeps the pictures.
"""

import re

import pytest

import rankone
from tests.web.browser import DESKTOP, HOSTILE, PHONE, needs_chromium

pytestmark = needs_chromium


@pytest.fixture
def hostile_problem():
    rows = [0.95, *(0.3 for _ in HOSTILE[1:8])]
    return rankone.RankOne(rows, [0.9, 0.1, 0.05], row_names=HOSTILE[:8], col_names=HOSTILE[8:11], name=HOSTILE[0])


@pytest.fixture
def open_told(tmp_path, open_page):
    """Open the page of an explanation."""

    def open_told(told, size=DESKTOP):
        path = tmp_path / "explain.html"
        path.write_text(told.html(), encoding="utf-8")
        return open_page(path.as_uri(), size)

    return open_told


def now(page):
    return page.inner_text("#where"), page.inner_text("#sentence")


def test_explain_steps_by_button_key_slider_and_event(open_told):
    told = rankone.explain("rank1elim-kl:c=0", horizon=5_000, seed=1)
    page = open_told(told)
    count = len(told.frames)
    assert "The 8 of 12 pairs that were shown most." in page.inner_text("#run-note")
    assert now(page) == (f"step 1 of {count} · decision 0", told.frames[0].text)
    page.click("#on")
    page.keyboard.press("ArrowRight")
    assert now(page)[1] == told.frames[2].text
    page.keyboard.press("ArrowLeft")
    assert now(page)[1] == told.frames[1].text
    page.keyboard.press("End")
    assert now(page)[0].startswith(f"step {count} of {count}")
    assert page.is_disabled("#on")
    page.keyboard.press("Home")
    page.keyboard.press("e")
    end = next(frame for frame in told.frames if frame.kind == "stage ends")
    assert now(page)[1] == end.text
    assert page.locator("#pairs td.out").count() == 0
    page.locator("#events button", has_text="out:").first.click()
    after = next(
        frame for frame in told.frames if frame.kind in ("eliminates", "settled") and not frame.pairs.left.all()
    )
    assert page.locator("#pairs td.out").count() == (~after.pairs.left).sum()
    assert page.locator(".name.gone").count() > 0  # struck through: no colour needed
    page.evaluate(
        "slider => { slider.value = 3; slider.dispatchEvent(new Event('input')); }", page.query_selector("#slider")
    )
    assert now(page)[1] == told.frames[3].text
    page.click("#play")
    page.locator("#where", has_text=re.compile("^step ([5-9]|[0-9]{2})")).wait_for()  # it plays by itself
    page.click("#play")
    assert page.inner_text("#play").endswith("Play")


@pytest.mark.parametrize("policy", ["rank1elim-kl:c=0", "uts", "imed-ub"])
def test_explain_fits_a_phone_and_foreign_names_are_only_text(open_told, policy, hostile_problem):
    told = rankone.explain(policy, hostile_problem, horizon=3_000)
    page = open_told(told, PHONE)
    for key in ("e", "End"):
        page.keyboard.press(key)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.evaluate("[window.hacked, document.querySelectorAll('img').length]") == [None, 0]
    assert HOSTILE[0] in page.inner_text("#pairs")
    assert page.locator("#run rect").count() > 10


@pytest.mark.parametrize(
    ("policy", "problem"), [("rank1elim-kl:c=0", "needle:3x2x2:p=0,gap=1"), ("uts", "needle:40x3")]
)
def test_more_factors_and_large_ones_have_the_same_page_without_pairs(open_told, policy, problem):
    told = rankone.explain(policy, problem, horizon=3_000)
    page = open_told(told)
    page.keyboard.press("End")
    assert now(page)[1] == told.frames[-1].text
    assert not page.locator("#pairs").is_visible()
    assert page.locator(".beliefs").count() == len(told.problem.shape)
    assert page.locator(".beliefs .name").count() == sum(12 if size > 16 else size for size in told.problem.shape)
    assert page.locator("#run rect").count() > 10


@pytest.mark.parametrize(
    ("policy", "problem"),
    [("mixture-ts", "latent:20x5"), ("club", "clustered-linear:12x4:d=3"), ("logit-ts", "visitors:3x2:d=2")],
)
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_visitors_who_come_by_themselves_have_the_same_page(open_told, policy, problem, size):
    told = rankone.explain(policy, problem, horizon=600, seed=1)
    page = open_told(told, size)
    page.keyboard.press("e")
    first = next(frame for frame in told.frames if frame.kind == "visitor")
    assert now(page)[1] == first.text
    assert first.who in page.inner_text("#figures")
    assert not page.locator("#pairs").is_visible()
    assert page.locator(".beliefs .name").count() == sum(told.problem.shape)
    assert ("payoff" in page.inner_text("#figures")) == (policy == "club")
    page.keyboard.press("End")
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_the_last_label_of_time_is_not_cut_off(open_told):
    page = open_told(rankone.explain("uts", "needle:2x2", horizon=10_000))
    inside = page.evaluate(
        """() => { const svg = document.querySelector("#run svg"), box = svg.getBoundingClientRect();
        const last = [...svg.querySelectorAll("text")].find((text) => text.textContent === "10k");
        return last.getBoundingClientRect().right <= box.right + 0.5; }"""
    )
    assert inside


def test_explain_without_javascript_tells_the_run_in_sentences(tmp_path, browser):
    told = rankone.explain("rank1elim-kl:c=0", horizon=5_000, seed=1)
    path = tmp_path / "explain.html"
    path.write_text(told.html(), encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(path.as_uri())
        told_now = page.locator("noscript").inner_text()
        assert all(frame.text in told_now for frame in told.frames if frame.kind in ("start", "eliminates", "end"))
        assert not page.locator("#player").is_visible()
    finally:
        context.close()


def test_many_columns_keep_their_figures_apart(open_told):
    page = open_told(rankone.explain("uts", "needle:2x16", horizon=3_000))
    page.keyboard.press("End")
    wide = "[...document.querySelectorAll('#pairs td')].filter(cell => cell.scrollWidth > cell.clientWidth).length"
    assert page.evaluate(wide) == 0


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_report_draws_its_charts_and_switches_their_axes(tmp_path, open_page, hostile_problem, size):
    rankone.simulate(
        [hostile_problem, "needle:2x2"], ["uts", "ucb1"], horizon=300, runs=2, workers=1, out=tmp_path, checkpoints=20
    )
    page = open_page(rankone.report(tmp_path).as_uri(), size)
    page.wait_for_selector("[data-chart='0'] svg")
    linear = page.inner_html("[data-chart='0']")
    page.emulate_media(color_scheme="dark")  # white paper and black ink would glare
    page.wait_for_function("old => document.querySelector(\"[data-chart='0']\").innerHTML !== old", arg=linear)
    assert 'fill="white"' not in page.inner_html("[data-chart='0']")
    linear = page.inner_html("[data-chart='0']")
    page.get_by_role("button", name="log axes").click()
    page.wait_for_function("old => document.querySelector(\"[data-chart='0']\").innerHTML !== old", arg=linear)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert page.evaluate("[window.hacked, document.querySelectorAll('img').length]") == [None, 0]
    assert HOSTILE[0] in page.inner_text("table >> nth=0")


def test_pages_may_ask_nothing_of_the_network(open_told):
    """Even a script that got in could not: the page's policy forbids it."""
    page = open_told(rankone.explain("uts", horizon=20))
    asked = "fetch('https://example.org/').then(() => 'sent', () => 'refused')"
    assert page.evaluate(asked) == "refused"
    assert any("Content Security Policy" in text for text in page.problems)
    page.problems.clear()
