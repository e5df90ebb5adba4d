"""The page in a real Chromium: who has won, what is not decided, and traffic that does not match."""

import re

import pytest

from rankone.live import Database, Experiment
from rankone.numerics.seeds import generator
from rankone.wording.numbers import percent
from rankone.wording.ratios import signed_percent
from tests.levels import row_of

from .browser import DESKTOP, PHONE, figure, needs_chromium, shown
from .helpers import running

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """A service with an experiment that is decided, one that is not, with a control, and one that loses visitors."""
    db, rng = tmp_path_factory.mktemp("verdicts") / "rankone.db", generator(4, "page")
    rows, cols = ["Save time today", "Work less", "A calmer week"], ["beach", "desk"]
    clicks = dict(zip(rows + cols, (0.9, 0.5, 0.3, 0.8, 0.4), strict=True)) | dict.fromkeys("ABx", 0.9)

    def visit(experiment, visitors, lost=lambda made: False):
        for _ in range(0, visitors, 100):
            asked = [made for made in experiment.ask(100) if not lost(made)]
            told = [(made, rng.random() < clicks[made["row"]] * clicks[made["col"]]) for made in asked]
            experiment.tell_many([(made, bool(clicked)) for made, clicked in told])

    with Database(db, durability="off") as database:
        settings = {"db": database, "aim": "decide", "seed": 1}
        won = Experiment("decided", rows, cols, control={"levels": ("Work less", "desk")}, **settings)
        visit(won, 2500)
        visit(
            Experiment(
                "open", rows, cols, stopping={"margin": 0.05}, control={"levels": ("Work less", "desk")}, **settings
            ),
            300,
        )
        leaky = Experiment("leaky", ["A", "B"], ["x"], "uniform", explore=0, db=database, seed=1)
        visit(leaky, 1500, lambda made: row_of(made) == 1 and rng.random() < 0.5)
        visit(Experiment("near tie", ["A", "B"], ["x"], stopping={"margin": 0.4}, **settings), 2000)
    with running(db) as url:
        yield url


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_shows_the_verdict(verdicts, open_page, size, scheme):
    page = open_page(verdicts, size, color_scheme=scheme)
    shown(page, "decided")
    assert page.inner_text("#sentence").startswith("'Save time today' with 'beach' wins: ")
    assert page.inner_text("#assumes").startswith("Assumes: ")
    assert figure(page, "Verdict").startswith("decided")
    assert figure(page, "Over the control") == "–\nnot enough data"  # +279%, but -39% to +7,125%
    assert page.locator("#warnings").is_hidden()
    assert "control Work less, desk, 10% of decisions" in page.inner_text("#labels")
    assert re.search(r"-\d+%\s+\(-\d+% to -?\d+%\)", page.locator("#factor-0 tbody tr").nth(1).inner_text())
    assert page.locator("#factor-0 .whisker .leader").count() == 1  # not of the leader itself
    out = page.locator("#factor-0 tbody tr", has_text="A calmer week")
    assert "beaten by the leader" in out.inner_text()  # with too few clicks for an interval
    assert out.locator("td").last.inner_text() == "no"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_it_shows_what_is_not_decided_and_what_is_good_enough(verdicts, open_page):
    page = open_page(verdicts)
    shown(page, "open")
    assert figure(page, "Verdict").startswith("open")
    assert figure(page, "Exploring").startswith("100%")
    assert "good enough within 5%" in page.inner_text("#labels")
    shown(page, "near tie")
    assert figure(page, "Verdict").startswith("good enough\nwithin 40%")
    assert "nothing beats it by more than 40%. 95% sure." in page.inner_text("#sentence")


def test_it_warns_of_traffic_that_does_not_match(verdicts, open_page):
    page = open_page(verdicts)
    shown(page, "leaky")
    page.wait_for_selector("#warnings:not([hidden])")
    assert "% of decisions with row 'B' have an outcome" in page.inner_text("#warnings")
    assert "check your traffic" in page.inner_text("#sentence")
    assert figure(page, "Verdict").startswith("in doubt")


def test_it_writes_percentages_as_the_report_does(verdicts, open_page):
    """0.04% is not 0%: rates have three figures, other shares and effects two, by one rule in both languages."""
    page = open_page(verdicts)
    shares = [0.0, 0.0004, 0.00012345, 0.0412345, 0.1, 0.0991, 0.5, 0.9996, 1.0, 12.346, -0.026, 0.002]
    written = page.evaluate(
        """async (shares) => {
          const { percent, signedPercent } = await import("./dom.js");
          return shares.map((share) => [percent(share), percent(share, 2), signedPercent(share)]);
        }""",
        shares,
    )
    assert written == [[percent(share), percent(share, 2), signed_percent(1.0 + share)] for share in shares]
