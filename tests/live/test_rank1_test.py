"""The rank-1 check of a live experiment: the policy plays again, in the journal's order."""

import numpy as np
import pytest

import rankone
from rankone.analysis.interactions import _schedule, check_experiment, played_again
from rankone.clicks.rank1_test.report import PLAYED_AGAIN
from rankone.clicks.rank1_test.two_factors import FIXED
from rankone.errors import InputError
from rankone.live.fold.journal_reading import begin, each_stretch
from rankone.numerics.seeds import generator
from rankone.policies.advance import ASK, LEARN, VOID
from tests.levels import col_of, row_of

GOOD = np.outer([0.7, 0.5, 0.3], [0.8, 0.6, 0.4])
BAD = np.full((3, 3), 0.2) + 0.5 * np.eye(3)


def traffic(db, rates, batches=30, **keywords):
    rng = generator(2, "visitors")  # not at the border: rank-1 traffic of seed 0 has p = 0.04 to 0.15
    with rankone.Experiment("page", rows=3, cols=3, db=db, policy="thompson", seed=1, **keywords) as page:
        for _ in range(batches):
            decisions = page.ask(20)
            page.tell_many([(one.id, bool(rng.random() < rates[row_of(one), col_of(one)])) for one in decisions[1:]])
            page.void(decisions[0].id)
        page.add_level("row", "late") if "grown" in str(db) else None
    return db


def check(db, **keywords):
    with rankone.Database(db, read_only=True) as database:
        return check_experiment(database, "page", simulations=40, **keywords)


def journal(db):
    with rankone.Database(db, read_only=True) as database:
        storage = database.transactions.storage
        fold = begin(storage, 1, with_policy=False)
        return np.concatenate([events.numbers for events in each_stretch(storage, 1, fold)])


def test_rank_one_traffic_and_other(tmp_path):
    good, bad = check(traffic(tmp_path / "good.db", GOOD)), check(traffic(tmp_path / "bad.db", BAD))
    assert not good.doubtful
    assert bad.doubtful
    assert bad.checks[0].method == PLAYED_AGAIN
    assert bad.checks[0].outcomes == 30 * 19


def test_the_schedule_is_the_journal(tmp_path):
    schedule, after = _schedule(journal(traffic(tmp_path / "page.db", GOOD, batches=3)))
    assert [int((schedule.what == kind).sum()) for kind in (ASK, LEARN, VOID)] == [60, 57, 3]
    assert after == 0
    assert schedule.what[:20].tolist() == [ASK] * 20, "twenty are asked for before the first outcome"


def test_after_a_stop_the_winner_gets_the_rest(tmp_path):
    db = tmp_path / "page.db"
    traffic(db, GOOD, batches=5)
    with rankone.Experiment("page", db=db) as page:
        page.stop({"row": "row 1", "col": "col 1"})
        page.tell_many([(one.id, True) for one in page.ask(30)])
    schedule, after = _schedule(journal(db))
    assert int((schedule.what == ASK).sum()) == 100
    assert after == 30
    redraw = played_again(rankone.as_policy("thompson"), GOOD.shape, schedule, after)
    pulls, clicks = redraw(np.stack([GOOD.ravel(), GOOD.ravel()]), generator(1))
    assert pulls.sum(axis=1).tolist() == [5 * 19 + 30] * 2
    assert (clicks <= pulls).all()


def test_an_experiment_that_was_changed_is_tested_on_its_counts(tmp_path):
    report = check(traffic(tmp_path / "grown.db", BAD))
    assert report.checks[0].method == FIXED
    assert report.checks[0].n_rows == 4
    assert report.doubtful


def test_wrong_input_is_a_sentence(tmp_path):
    db = traffic(tmp_path / "empty.db", GOOD, batches=0)
    with pytest.raises(InputError, match="Expected at least one outcome"):
        check(db)
    with rankone.Database(db, read_only=True) as database, pytest.raises(InputError, match="page"):
        check_experiment(database, "other")
    for keywords in ({"level": 2.0}, {"simulations": 0}):
        with rankone.Database(db, read_only=True) as database, pytest.raises(InputError, match=next(iter(keywords))):
            check_experiment(database, "page", **keywords)
