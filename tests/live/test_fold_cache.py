"""Experiments that nobody uses leave memory, and come back as they were."""

import numpy as np

from rankone.live import Database, Experiment
from rankone.live.commit import transactions
from rankone.live.fold import fold_cache
from rankone.live.fold.fold import Fold
from rankone.live.operate.doctor import examine
from rankone.numerics.seeds import generator
from tests.levels import col_of, row_of

from .helpers import saved, start


def in_memory(database):
    """How many folds there are, and how much they take as they are measured."""
    folds = [cached.fold for cached in database.transactions._folds._cached.values() if cached.fold is not None]
    return len(folds), sum(fold.nbytes for fold in folds)


def use(experiments, rounds, seed=1):
    """Ask and tell here and there; return what was shown, and what is reported in the end."""
    rng, shown = generator(seed, "use"), []
    for _ in range(rounds):
        experiment = experiments[int(rng.random() * len(experiments))]
        decision = experiment.ask(context={"device": "phone"} if rng.random() < 0.5 else None)
        shown.append((experiment.name, row_of(decision), col_of(decision)))
        if rng.random() < 0.8:
            experiment.tell(decision, bool(rng.random() < 0.4))
    return shown, [experiment.report().to_dict() for experiment in experiments]


def test_folds_come_and_go_and_nothing_changes(db, monkeypatch):
    monkeypatch.setattr(transactions, "_LEAVING_EVERY", 15)  # some leave with a snapshot, some without
    monkeypatch.setattr(transactions, "_BYTES_LEAVING", 10_000)
    with Database(None) as roomy, Database(db, durability="off") as narrow:
        expected = use([start(roomy, "uts", name=f"{number}") for number in range(4)], 60)
        assert in_memory(roomy)[0] == 4
        size = in_memory(roomy)[1] // 4
        monkeypatch.setattr(fold_cache, "MOST_BYTES", 2 * size)
        some = [start(narrow, "uts", name=f"{number}") for number in range(4)]
        assert use(some, 60) == expected
        held, taken = in_memory(narrow)
        assert 1 <= held <= 3
        assert taken <= 3 * size
        with Database(db) as again:
            assert [saved(Experiment(each.name, db=again)) for each in some] == [saved(each) for each in some]
        assert narrow.use(lambda storage: [len(storage.snapshots(number)) for number in range(1, 5)]).count(0) < 4
    assert all(finding.ok for finding in examine(db))


def test_one_larger_than_all_may_be_stays_while_it_is_used(sqlite_db, monkeypatch):
    with Database(sqlite_db) as database:
        small, large = start(database, name="small"), start(database, name="large", n_rows=30, n_cols=30)
        monkeypatch.setattr(fold_cache, "MOST_BYTES", 1)
        for _ in range(3):
            large.ask()
            assert in_memory(database)[0] == 1
            assert large._cached.fold is not None
        small.ask()
        assert large._cached.fold is None
        assert [small.report().decisions, large.report().decisions] == [1, 3]


def test_what_is_open_counts_as_memory(sqlite_db):
    with start(sqlite_db) as experiment:
        before = experiment.look(lambda fold: fold.nbytes)
        experiment.ask(1_000)
        assert experiment.look(lambda fold: fold.nbytes) - before >= 500_000


def test_what_is_large_leaves_although_others_are_few_events_old(sqlite_db, monkeypatch):
    """It is measured when it comes and now and then: one that has grown since is noticed."""
    monkeypatch.setattr(fold_cache, "_MEASURED_EVERY", 10)
    with Database(sqlite_db) as database:
        growing, other = start(database, name="growing"), start(database, name="other")
        monkeypatch.setattr(fold_cache, "MOST_BYTES", 2 * other.look(lambda fold: fold.nbytes) + 300_000)
        growing.ask()
        assert in_memory(database)[0] == 2
        growing.ask(1_000)
        growing.ask()
        other.ask()
        assert isinstance(other._cached.fold, Fold)
        assert growing._cached.fold is None
        assert Experiment("growing", db=database).report().decisions == 1_002


def test_every_count_is_memory(sqlite_db):
    with start(sqlite_db, n_rows=5, n_cols=4) as experiment:
        fold = experiment.look(lambda fold: fold)
        counts = {name: array for name, array in vars(fold).items() if getattr(array, "shape", ())[-2:] == (5, 4)}
        assert set(counts) == {"asked", "pulls", "clicks", "late", "earlier", "prior", "explored"}
        for name, array in counts.items():
            before = fold.nbytes
            setattr(fold, name, np.concatenate([array, array]))
            assert fold.nbytes == before + array.nbytes
