"""Stopped stays stopped: only `resume` ends a stop, or the end of the pair that it shows."""

import pytest

from rankone.live import Database, Experiment
from rankone.live.journal.events import KIND, Kind, read_groups
from rankone.live.operate.doctor import examine

from .helpers import Audience, pairs, saved, start, with_other_col

STOPPED = "Stopped: everyone sees 'row 2' with 'col 1'"
CHANGES = {
    "exclude": lambda experiment: experiment.exclude(source="bot"),
    "add_row": lambda experiment: experiment.add_level("row", "row new"),
    "add_col": lambda experiment: experiment.add_level("col", "col new"),
    "retire_row": lambda experiment: experiment.retire_level("row", "row 1"),
    "retire_col": lambda experiment: experiment.retire_level("col", "col 2"),
}


def stopped(db, steps=120):
    experiment = start(db)
    audience = Audience()
    for _ in range(steps):
        audience.step(experiment)
    experiment.tell(experiment.ask().id, True, source="bot")
    experiment.stop({"row": "row 2", "col": "col 1"})
    return experiment


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_leaves_it_stopped(change, sqlite_db):
    experiment = stopped(sqlite_db)
    CHANGES[change](experiment)
    assert set(pairs(experiment.ask(count=20))) == {(1, 0, True)}
    report = experiment.report()
    assert report.headline.startswith(STOPPED)
    assert (report.stopped, report.resumed) == ("by hand", None)
    state = saved(experiment)
    experiment.close()
    with Experiment("homepage", db=sqlite_db) as continued:
        assert saved(continued) == state
        continued.resume()
        assert continued.report().stopped is None
        assert not any(decision.filler for decision in continued.ask(count=20))
    assert all(finding.ok for finding in examine(sqlite_db))


@pytest.mark.parametrize(("side", "gone"), [("row", "row 2"), ("col", "col 1")])
def test_without_its_pair_it_experiments_again_and_says_so(side, gone, sqlite_db):
    experiment = stopped(sqlite_db)
    experiment.retire_level(side, gone)
    decisions = experiment.ask(count=20)
    assert not any(decision.filler for decision in decisions)
    assert gone not in {name for decision in decisions for name in (decision["row"], decision["col"])}
    said = f"Experimenting again: it was stopped on 'row 2' with 'col 1' until {side} '{gone}' was retired."
    report = experiment.report()
    assert report.stopped is report.shown is None
    assert report.warnings[0] == said
    experiment.add_level("row", "row new")  # another change, and a restart, leave that as it is
    state = saved(experiment)
    experiment.close()
    with Experiment("homepage", db=sqlite_db) as continued:
        assert saved(continued) == state
        assert continued.report().warnings[0] == said
        continued.stop()
        assert continued.report().resumed is None


def test_a_policy_that_changed_leaves_it_stopped(sqlite_db):
    """As if the program that wrote the journal had chosen otherwise: one choice is replaced, the checksums fit."""
    experiment = stopped(sqlite_db)
    events, _ = read_groups(experiment.database.transactions.storage.tail(1, 0, 1000), 0, b"")
    experiment.close()
    place = int((events.numbers[:, KIND] == Kind.ASK).nonzero()[0][-1])
    events.texts[place] = events.texts[place]._replace(shown=with_other_col(events.texts[place].shown))
    database = Database(sqlite_db)
    database.transactions.storage.query("DELETE FROM rankone_journal")
    chain = events.checksum(b"")
    database.transactions.storage.append(1, events.rows(chain))
    with pytest.warns(UserWarning, match="policy's code changed"):
        changed = Experiment("homepage", db=database)
    assert set(pairs(changed.ask(count=5))) == {(1, 0, True)}
    report = changed.report()
    assert report.eras[-1] == "the program's policy changed"
    assert report.headline.startswith(STOPPED)
    database.close()
