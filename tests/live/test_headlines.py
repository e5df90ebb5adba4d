"""The headline of a report in every state: at most 25 words, whatever people call their levels."""

import dataclasses
import re

import pytest

from rankone.live import Experiment
from rankone.live.report.goal_report import GoalReport
from rankone.live.report.report import Alarm, Report, Shortfall

from .visits import live, visit

LONG = [f"a headline with more words than anybody would ever read, number {number}" for number in range(3)]


@pytest.fixture(scope="module")
def won():
    """A report on an experiment that is decided, on levels and factors with long names."""
    factors = {"the headline above the fold": LONG, "image": ["a beach with palm trees", "a desk"]}
    with live(factors=factors, rows=None, cols=None, control={"levels": [LONG[1], "a desk"]}) as experiment:
        return visit(experiment, [0.9, 0.5, 0.3], [0.9, 0.3], 2000)[-1]


def alarm(what: str) -> Alarm:
    facts = {"factor": "image", "first": "a desk", "second": LONG[0], "beside": None, "before": 1.2, "after": 0.7}
    return Alarm(what=what, did="warn", at=0.0, decisions=9, outcomes=9, led={"image": "a desk"}, won=False, **facts)


def goal_of(report, steers=False, **more):
    return GoalReport("revenue of all orders", "amount", 100.0, "more", 60.0, steers, 0.025, report.best, (), **more)


def changed(report: Report, **facts: object) -> Report:
    return dataclasses.replace(report, **facts)


STATES = {
    "no data": lambda won: changed(won, outcomes=dict.fromkeys(won.outcomes, 0)),
    "too little data": lambda won: changed(won, leads=False, decided=False),
    "fault": lambda won: changed(won, fault="ValueError: something long that went wrong in the program"),
    "ahead": lambda won: changed(won, decided=False, confidence=0.7),
    "wins": lambda won: won,
    "margin reached": lambda won: changed(won, good_enough=True, margin=0.05),
    "too little random traffic": lambda won: changed(won, basis="steady", decided=False),
    "traffic mismatch": lambda won: changed(won, shortfalls=(Shortfall("image", "a desk", 0.5, LONG[0], 0.9),)),
    "changed": lambda won: changed(won, alarms=(alarm("change"),)),
    "interacts": lambda won: changed(won, alarms=(alarm("misfit"),)),
    "stopped, won": lambda won: changed(won, stopped="won, 95% sure", shown=won.best),
    "stopped, good enough": lambda won: changed(won, good_enough=True, margin=0.05, stopped="so", shown=won.best),
    "stopped too early": lambda won: changed(won, decided=False, stopped="by hand", shown=won.best),
    "stopped on another": lambda won: changed(won, stopped="by hand", shown=dict(won.best, image="a desk")),
    "stopped without data": lambda won: changed(won, leads=False, stopped="by hand", shown=won.best),
    "resumed": lambda won: changed(won, resumed="it was stopped on another level"),
    "an era": lambda won: changed(won, eras=("started", "image 'a desk' added")),
    "forbidden": lambda won: changed(won, forbidden=(won.best,), decided=False),
    "amounts": lambda won: changed(won, goals=(goal_of(won, steers=True),)),
    "held back": lambda won: changed(
        won, decided=False, confidence=1.0, goals=(goal_of(won, worse_by=0.1, guardrail="violated", holds_back=True),)
    ),
    "one combination": lambda won: changed(
        won, factors=tuple(dataclasses.replace(each, levels=each.levels[:1]) for each in won.factors)
    ),
}


@pytest.mark.parametrize("state", STATES)
def test_a_headline_has_25_words_at_most_and_the_rest_short_sentences(won, state):
    report = STATES[state](won)
    assert 4 <= len(report.headline.split()) <= 25, report.headline
    assert report.headline.endswith(".")
    assert len(report.assumes.split()) <= 25, report.assumes
    assert report.assumes.startswith("Assumes: ") or report.headline.startswith(("No ", "Not enough", "Stopped:"))
    assert "None" not in f"{report} {report.details}"
    assert "  " not in report.headline


def test_all_states_say_something_of_their_own(won):
    same = {STATES[state](won).headline for state in ("wins", "resumed", "an era")}  # told by a warning, or in details
    assert len({STATES[state](won).headline for state in STATES if state != "forbidden"}) == len(STATES) - 3
    assert len(same) == 1
    assert STATES["wins"](won).headline.startswith(
        "'a headline with more words…' with 'a beach with palm trees' wins: "
    )


def test_with_short_names_it_can_be_pasted():
    with Experiment("home", ["A", "B"], ["x"], aim="decide", seed=1, db=None) as experiment:
        last = visit(experiment, [0.9, 0.6], [0.9], 1500)[-1]
    words = r"'A' with 'x' wins: \d+(\.\d)?% clicked, \+\d+% \((\+\d+|above 0)% to \+[\d,]+%\) over the next row\. 95% sure\."
    assert re.fullmatch(words, last.headline), last.headline
