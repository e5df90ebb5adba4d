"""Clicks that come after the window: a level of which more are late than of others is named, and nothing is stated."""

import math
import re

import numpy as np
import pytest
from benchmarks.late_clicks import WINDOW, Steps, send

from rankone.compiling.compiled import compiled
from rankone.evidence.levels import start_evidence, weigh
from rankone.live.report.report_wording import TRAFFIC_ERROR
from rankone.live.verdict.unequal_lateness import late_levels

from .helpers import at, saved, start
from .visits import live


@pytest.mark.parametrize(("share", "auto"), [(0.3, True), (1.0, False)])
def test_a_level_whose_clicks_are_late_is_named_and_nothing_is_stated(share, auto):
    clock = Steps()
    with live(["A", "B"], ["x"], outcomes={"window": WINDOW}, clock=clock, stopping={"auto": auto}) as experiment:
        report = send(experiment, clock, 1_500, (0.0, share), (0.4, 0.4), 0)
    (short,) = report.shortfalls
    assert (short.factor, short.name, short.other, short.late) == ("row", "B", "A", True)
    assert short.told == pytest.approx(1.0 - share, abs=0.1)
    assert short.other_told == 1.0
    assert report.stopped is None
    assert report.confidence == 0.0
    assert all(level.in_race for level in report.factors[0].levels)
    assert "not proven" in report.headline or "check your traffic" in report.headline
    assert re.search(r"% of clicks on row 'B' came after the window of 1 minute, 0% on 'A'", report.warnings[0])
    assert "Create the experiment with a longer window" in report.details


class OnPhones:
    """An experiment all of whose visitors have a phone."""

    def __init__(self, experiment):
        self.tell_many, self.report, self.look = experiment.tell_many, experiment.report, experiment.look
        self.ask = lambda count: experiment.ask(count, context={"device": "phone"})


def test_where_clicks_of_a_level_are_late_nothing_is_compared_and_late_ones_tell_who_leads():
    """B has half as many clicks again as A; in time, fewer. Where all is counted it leads, and a stop ships it."""
    clock = Steps()
    with live(
        ["A", "B"], ["x"], outcomes={"window": WINDOW}, clock=clock, control={"levels": ("A", "x")}
    ) as experiment:
        report = send(OnPhones(experiment), clock, 1_500, (0.0, 0.6), (0.4, 0.6), 0)
        assert experiment.stop() == {"row": "B", "col": "x"}
    assert report.shortfalls
    assert (report.best["row"], report.uplift, report.visitors_left) == ("B", None, None)
    assert {level.name: (level.ratio, level.against) for level in report.factors[0].levels} == {
        "A": (None, "not known: outcomes are not reported equally"),
        "B": (1.0, "leads"),
    }
    (phone,) = report.segments.segments
    assert (report.segments.answer, phone.best, phone.proven, phone.beats) == ("unknown", {}, {}, ())
    assert "Cannot compare segments: outcomes are not reported equally." in report.segments_sentence
    assert "fewer" not in str(report)


def test_late_clicks_of_all_levels_alike_hide_no_winner():
    """The better row has more late clicks than the other, as it has more clicks."""
    clock = Steps()
    with live(["A", "B"], ["x"], outcomes={"window": WINDOW}, clock=clock, aim="both") as experiment:
        report = send(experiment, clock, 1_500, (0.3, 0.3), (0.5, 0.25), 0)
    assert report.outcomes["late"] > 100
    assert report.shortfalls == ()
    assert report.decided


def test_late_clicks_are_weighed_the_same_when_the_journal_is_read_again(sqlite_db):
    clock = Steps()
    with start(sqlite_db, "uts", 2, 1, explore=0.5, outcomes={"window": WINDOW}, clock=clock) as experiment:
        send(experiment, clock, 400, (0.2, 0.5), (0.4, 0.4), 0)
        experiment.add_level("row", "C")
        send(experiment, clock, 200, (0.2, 0.5, 0.0), (0.4, 0.4, 0.4), 1)
        before, late = saved(experiment), experiment.look(lambda fold: fold.late.ravel().tolist())
    with at(clock)("homepage", db=sqlite_db) as again:
        assert saved(again) == before
        assert again.look(lambda fold: fold.late.ravel().tolist()) == late
        assert again.exclude(levels={"row": "row 2"})
        assert again.look(lambda fold: fold.late.ravel().tolist()) == [late[0], 0, late[2]]
        assert again.report().shortfalls == ()


def test_a_warning_about_late_clicks_is_rare_where_all_is_well():
    """The bar is one in 1,000 experiments; here 300 with rates that differ, each looked at ten times."""
    rng, warned, bar = np.random.default_rng(1), 0, math.log(4 / TRAFFIC_ERROR)
    for _ in range(300):
        in_time, late, nothing = start_evidence((3, 2)), start_evidence((3, 2)), start_evidence((0, 0))
        rings = False
        for _ in range(10):
            shown = np.stack([rng.choice(3, 60, p=(0.5, 0.3, 0.2)), rng.integers(3, 5, 60)], axis=1)
            crosses, lag = np.full((60, 5), 1 / 6), rng.random(60) < 0.3
            for evidence, which in ((in_time, ~lag), (late, lag)):
                ones = np.ones(int(which.sum()), np.int64)
                compiled(weigh, weigh.__module__)(evidence, nothing, shown[which], ones, crosses[which])
            rings |= bool(late_levels(in_time, late, bar))
        warned += rings
    assert warned <= 2
