"""Planning reads the fold and nothing more: only applied events change it."""

import pytest

from rankone.live import Ask, Experiment, Tell, Void
from rankone.live.commit.transactions import Transactions

from .helpers import Clock, error_of, known, saved, start

OPERATIONS = {
    "nothing but ends of windows": lambda experiment, ids: experiment.settle(),
    "ask": lambda experiment, ids: experiment.ask(count=3, source="shop"),
    "ask with a new key": lambda experiment, ids: experiment.ask(key="new"),
    "ask with a known key": lambda experiment, ids: experiment.ask(key="old"),
    "tell what is open or held": lambda experiment, ids: experiment.tell_many([(id, False) for id in ids]),
    "tell it otherwise": lambda experiment, ids: experiment.tell_many([(id, True) for id in ids]),
    "void": lambda experiment, ids: experiment.do([Void(id) for id in ids]),
    "all at once": lambda experiment, ids: experiment.do([Ask(2), Tell(ids[0], True), Void(ids[4]), Ask(2, "new")]),
    "more than there is room for without the old": lambda experiment, ids: experiment.ask(count=8),
    "void by hand": lambda experiment, ids: experiment.void_open(older_than=1),
    "exclude": lambda experiment, ids: experiment.exclude(source="shop"),
    "stop": lambda experiment, ids: experiment.stop({"row": "row 1", "col": "col 1"}),
    "resume": lambda experiment, ids: experiment.resume(),
    "add a row": lambda experiment, ids: experiment.add_level("row", "new"),
    "retire a column": lambda experiment, ids: experiment.retire_level("col", "col 1"),
    "report": lambda experiment, ids: experiment.report(),
}
DRAFT_NOTHING = {(None, "nothing but ends of windows"), (None, "ask with a known key"), (None, "report")}


def everything(fold):
    """What a fold knows, and what it has worked out to answer quickly."""
    return known(fold) | {"due": list(fold.due), "last_era": fold._last_era, "exclusions": list(fold.exclusions)}


def prepared(db, window):
    """An experiment with decisions open, held, told, voided and too old, and the ids of all of them."""
    clock = Clock()
    limits = (
        {"outcomes": {"window": window, "max_open": 12}} if window else {"outcomes": {"max_open": 12, "max_age": 60}}
    )
    experiment = start(db, "rank1elim-kl:horizon=100", clock=clock, **limits)
    ids = [decision.id for decision in experiment.ask(count=6, source="shop")]
    experiment.tell(ids[1], True, source="shop")
    experiment.void(ids[2])
    clock.pass_seconds(40)
    ids += [decision.id for decision in experiment.ask(count=4, key="old")]
    experiment.tell(ids[7], False, source="shop")
    experiment.stop({"row": "row 1", "col": "col 2"})
    clock.pass_seconds(30)
    return experiment, ids


@pytest.mark.parametrize("window", [None, 60])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_is_planned_and_not_applied_changes_nothing(operation, window, sqlite_db, monkeypatch):
    experiment, ids = prepared(sqlite_db, window)
    fold = experiment.look(lambda fold: fold)
    drafted, before = [], everything(fold)
    monkeypatch.setattr(Transactions, "_append", lambda self, cached, events, restart=False: drafted.append(events))
    error_of(OPERATIONS[operation], experiment, ids)
    assert everything(fold) == before
    assert bool(drafted) is ((window, operation) not in DRAFT_NOTHING)


def test_decisions_wait_for_the_end_of_their_windows_in_order_and_leave_when_it_comes(sqlite_db):
    """The first to wait is always open; the same decisions wait for whoever reads the journal."""
    experiment, _ = prepared(sqlite_db, 60)
    waits = experiment.look(lambda fold: [list(fold.due), list(fold.open)])
    assert waits == [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [0, 1, 3, 4, 5, 6, 7, 8, 9]]
    experiment.settle()
    assert experiment.look(lambda fold: list(fold.due)) == [6, 7, 8, 9]
    restarted = Experiment("homepage", db=sqlite_db)
    assert restarted.look(lambda fold: list(fold.due)) == [6, 7, 8, 9]
    assert saved(restarted) == saved(experiment)
