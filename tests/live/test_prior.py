"""A warm start: past counts that the policy begins with, and that no verdict rests on."""

import numpy as np
import polars as pl
import pytest

from rankone.errors import InputError
from rankone.live import Experiment
from rankone.live.opening import MOST, read_prior, weighted

from .helpers import error_of, saved, start

PAST = pl.DataFrame(
    {
        "headline": ["A", "A", "B", "B", "C"],
        "image": ["1", "2", "1", "2", "1"],
        "shown": [400, 300, 200, 100, 50],
        "clicked": [80, 15, 12, 4, 1],
    }
)


def open_warm(db, prior=PAST, **settings):
    return Experiment("homepage", db=db, prior={"counts": prior}, seed=3, durability="off", **settings)


def test_the_policy_begins_with_what_was_seen_before(sqlite_db):
    with open_warm(sqlite_db, policy="uts", explore=0) as experiment:
        assert experiment.look(lambda fold: [levels.names for levels in fold.factors.each]) == [
            ["A", "B", "C"],
            ["1", "2"],
        ]
        pulls, clicks = experiment.look(lambda fold: (fold.state.pulls.tolist(), fold.state.clicks.tolist()))
        assert pulls == [200, 150, 100, 50, 25, 0]
        assert clicks == [40, 8, 6, 2, 0, 0]
        shown = [experiment.ask() for _ in range(200)]
        assert sum(tuple(each.levels.values()) == ("A", "1") for each in shown) > 150  # it knows who leads
        report = experiment.report()
        assert report.outcomes["clicked"] == 0  # its own outcomes only
        assert not report.decided


def test_a_restart_and_new_levels_keep_it(sqlite_db):
    with open_warm(sqlite_db, policy="uts") as experiment:
        for _ in range(50):
            experiment.tell(experiment.ask(), False)
        experiment.add_level("headline", "D")
        experiment.retire_level("image", "2")
        assert experiment.look(lambda fold: fold.state.pulls[0]) >= 200
        before = saved(experiment)
    with open_warm(sqlite_db) as again:
        assert saved(again) == before
        assert again.exclude(prior=True) == 0
        assert again.look(lambda fold: fold.state.pulls.sum()) == again.look(lambda fold: fold.pulls[:, 0].sum())
        after = saved(again)
    with open_warm(sqlite_db) as last:
        assert saved(last) == after


def test_the_past_counts_for_so_much_and_no_more():
    counts = read_prior((np.array([[10_000, 10], [0, 400]]), np.array([[5_000, 1], [0, 100]])))
    (pulls, clicks), past = weighted(counts, {"row": ["row 1", "row 2"], "col": ["col 1", "col 2"]}, 0.5)
    assert past == (10_410, 0.5, ())
    assert pulls == ((MOST, 5), (0, 200))
    assert clicks == ((MOST // 2, 0), (0, 50))


def test_names_decide_which_factor_is_which():
    swapped, past = weighted(read_prior(PAST), {"row": ["1", "2"], "col": ["C", "A"]}, 1.0)
    assert past == (750, 1.0, ("B",))
    assert swapped == (((50, 400), (0, 300)), ((1, 80), (0, 15)))


def test_a_report_says_what_it_began_with_until_that_is_taken_back(sqlite_db):
    began = "The policy began with 1,050 past impressions, each counted as 0.5 at most; no statement rests on them."
    with open_warm(sqlite_db) as experiment:
        report = experiment.report()
        assert began in report.details
        assert report.to_dict()["prior_impressions"] == 1050
    with open_warm(sqlite_db) as again:
        assert again.report().prior_weight == 0.5
        again.exclude(prior=True)
        assert "past impression" not in again.report().details


def test_levels_that_the_experiment_does_not_have_are_named(sqlite_db):
    with open_warm(sqlite_db, rows=["A", "D"], cols=["1", "2"]) as experiment:
        said = "Past counts of 'B', 'C' were left out: the experiment does not have these levels."
        assert said in experiment.report().details


@pytest.mark.parametrize(
    "wrong",
    [
        {"prior": {"counts": PAST.drop("clicked")}},
        {"prior": {"counts": PAST.drop("image")}, "rows": ["A", "B"], "cols": ["1", "2"]},
        {"prior": {"counts": PAST}, "rows": ["X"], "cols": ["Y"]},
        {"prior": {"counts": PAST, "weight": 0.0}},
        {"prior": {"counts": PAST, "weight": 1.5}},
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_written(sqlite_db, wrong):
    assert isinstance(error_of(Experiment, "homepage", db=sqlite_db, **wrong), InputError)
    with start(sqlite_db, name="another") as other:
        assert list(other.database.names()) == ["another"]


def test_an_experiment_that_began_otherwise_is_not_continued_with_it(sqlite_db):
    start(sqlite_db).close()
    error = error_of(Experiment, "homepage", db=sqlite_db, prior={"counts": ([[5, 5], [5, 5]], [[1, 1], [1, 1]])})
    assert "Leave prior out" in str(error) or "Call the levels by the same names" in str(error)
    with Experiment("homepage", db=sqlite_db) as plain:
        assert isinstance(error_of(plain.exclude, prior=True), InputError)
