"""The rank-1 check of a live experiment: its counts, taken as if planned."""

import numpy as np
import pytest

import rankone
from rankone.analysis.interactions import check_experiment
from rankone.errors import InputError
from rankone.numerics.seeds import generator
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


def test_rank_one_traffic_and_other(tmp_path):
    good, bad = check(traffic(tmp_path / "good.db", GOOD)), check(traffic(tmp_path / "bad.db", BAD))
    assert not good.doubtful
    assert bad.doubtful
    assert bad.checks[0].outcomes == 30 * 19


def test_an_experiment_that_was_changed_is_tested_on_its_counts(tmp_path):
    report = check(traffic(tmp_path / "grown.db", BAD))
    assert report.checks[0].n_rows == 4
    assert report.doubtful


def test_wrong_input_is_a_sentence(tmp_path):
    db = traffic(tmp_path / "empty.db", GOOD, batches=0)
    with pytest.raises(InputError, match="Expected at least one outcome"):
        check(db)
    with rankone.Database(db, read_only=True) as database, pytest.raises(InputError, match="page"):
        check_experiment(database, "other")
    db = traffic(tmp_path / "some.db", GOOD, batches=1)
    for keywords in ({"level": 2.0}, {"simulations": 0}):
        with rankone.Database(db, read_only=True) as database, pytest.raises(InputError, match=next(iter(keywords))):
            check_experiment(database, "page", **keywords)
