"""Excluding outcomes of a long journal: the experiment goes on meanwhile, and a kill loses nothing."""

import signal
import threading

import numpy as np
import pytest

from rankone.errors import InputError
from rankone.live import Database, Experiment
from rankone.live.commit import transactions
from rankone.live.fold import fold_cache
from rankone.live.fold.fold_cache import FoldCache
from rankone.live.operate import archive, excluding
from rankone.live.operate.doctor import examine
from rankone.live.operate.excluding import Refolding
from rankone.live.storage.driver import RolledBack

from .helpers import Clock, at, saved, start
from .workers import CONTEXT, exclude_until_killed

EVENTS = 400


@pytest.fixture
def long(monkeypatch):
    """A journal counts as long from a few events on, and each step reads a few."""
    monkeypatch.setattr(fold_cache, "SHORT", 30)
    monkeypatch.setattr(transactions, "_BYTES_PER_EVENT", 10_000)  # a snapshot of so few events is worth it


def told(experiment, rounds=EVENTS // 4, seed=1):
    """Decisions and outcomes, a third of them by robots; return how many robots told."""
    rng, robots = np.random.default_rng(seed), 0
    for number in range(rounds):
        decision = experiment.ask()
        robot = number % 3 == 0
        experiment.tell(decision.id, robot or bool(rng.random() < 0.3), source="bot" if robot else "web")
        robots += robot
    return robots


def interrupt(experiment, monkeypatch, **fits):
    """Want an exclusion and be killed at once."""
    with monkeypatch.context() as killed:
        killed.setattr(excluding, "_carry_out", lambda *job: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            experiment.exclude(**fits)


def honest(experiment):
    """What is counted, and whether it is what the journal says."""
    return experiment.look(lambda fold: (int(fold.pulls.sum()), int(fold.clicks.sum())))


def test_asks_go_on_while_outcomes_are_excluded(db, long, monkeypatch):
    """In every step somebody else asks and is answered, and nobody of this process reads the journal again."""
    reads, steps, asked = [], [], []
    read_on, read_whole = Refolding.read_on, FoldCache.read_whole

    def busy(self):
        asked.append(experiment.ask())
        thread = threading.Thread(target=lambda: asked.extend(experiment.ask(5)))
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
        steps.append(len(asked))
        return read_on(self)

    def noted(self, cached, number):
        reads.append(number)
        return read_whole(self, cached, number)

    with start(db, "uts") as experiment:
        robots = told(experiment)
        monkeypatch.setattr(Refolding, "read_on", busy)
        monkeypatch.setattr(FoldCache, "read_whole", noted)
        assert experiment.exclude(source="bot") == robots
        experiment.tell_many([(decision, True) for decision in asked])
        experiment.add_level("row", "row 4")
        assert steps
        assert reads == []
        assert experiment.report().excluded == robots
        expected = saved(experiment)
        with Database(db) as database:
            (newest, _), *_ = database.use(lambda storage: storage.snapshots(1))
            again = Experiment("homepage", db=database)
            assert saved(again) == expected
            assert [newest] == experiment.look(lambda fold: list(fold.exclusions.taken))
    assert [finding for finding in examine(db) if not finding.ok] == []


def test_much_that_comes_meanwhile_is_counted_outside_the_turn(sqlite_db, long, monkeypatch):
    rounds = iter([40, 40, 0])
    catch_up = Refolding.catch_up

    def crowded(self, storage, fits):
        turns.append(catch_up(self, storage, fits))
        return turns[-1]

    def read_on(self, original=Refolding.read_on):
        found = original(self)
        told(experiment, next(rounds), seed=2)
        return found

    turns = []
    with start(sqlite_db, "uts") as experiment:
        told(experiment)
        monkeypatch.setattr(Refolding, "read_on", read_on)
        monkeypatch.setattr(Refolding, "catch_up", crowded)
        experiment.exclude(source="bot")
        assert turns == [False, False, True]
        expected = saved(experiment)
    assert saved(Experiment("homepage", db=sqlite_db)) == expected
    assert [finding for finding in examine(sqlite_db) if not finding.ok] == []


@pytest.mark.parametrize("other", ["exclude", "level", "stop"])
def test_changes_meanwhile_are_heeded(sqlite_db, long, monkeypatch, other):
    """Another exclusion, a new row or a stop while the journal is counted."""

    def changed(self, original=Refolding.read_on):
        monkeypatch.setattr(Refolding, "read_on", original)
        found = original(self)
        if other == "exclude":
            with Database(sqlite_db) as database:
                Experiment("homepage", db=database).exclude(levels={"row": "row 1"})
        elif other == "level":
            experiment.add_level("row", "row 4")
        else:
            experiment.stop({"row": "row 2", "col": "col 1"})
        return found

    with start(sqlite_db, "uts") as experiment:
        told(experiment)
        monkeypatch.setattr(Refolding, "read_on", changed)
        experiment.exclude(source="bot")
        experiment.ask(20)
        expected = saved(experiment)
    with Experiment("homepage", db=sqlite_db) as again:
        assert saved(again) == expected
        assert again.look(lambda fold: fold.wanted) == {}
    assert [finding for finding in examine(sqlite_db) if not finding.ok] == []


def test_a_refused_change_forgets_nothing(sqlite_db, monkeypatch):
    with start(sqlite_db) as experiment:
        told(experiment, 10)
        monkeypatch.setattr(FoldCache, "read_whole", lambda *arguments: pytest.fail("the journal was read again"))
        with pytest.raises(Exception, match="No such level of 'row':"):
            experiment.retire_level("row", "nobody")
        experiment.ask()


# The wish is the first append (a look before it is carried out too), and later applies are steps of counting.
KILLS = [
    ("before append", 1, False),
    ("after append", 1, False),
    ("after commit", 3, True),
    ("before apply", 3, True),
    ("before append", 2, True),
    ("after append", 2, True),
    ("during snapshot", 1, True),
]


@pytest.mark.parametrize(("point", "after", "wanted"), KILLS)
def test_a_killed_exclusion_is_finished_or_was_never_wanted(sqlite_db, long, point, after, wanted):
    clock = Clock()
    with start(sqlite_db, "uts", clock=clock) as experiment:
        robots = told(experiment)
    process = CONTEXT.Process(target=exclude_until_killed, args=(str(sqlite_db), point, after))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    clock.now = 2**51  # the child had the machine's clock
    with at(clock)("homepage", db=sqlite_db, durability="off") as experiment:
        assert honest(experiment)[0] == EVENTS // 4  # nothing is half excluded
        assert bool(experiment.look(lambda fold: fold.wanted)) is wanted
        experiment.tell(experiment.ask().id, True, source="bot")  # and asks go on
        clock.pass_seconds(excluding._GIVEN_UP / 1e6)
        assert experiment.report().excluded == (robots if wanted else 0)
        assert experiment.look(lambda fold: fold.wanted) == {}
        assert [change.what for change in experiment.changes()][1:] == (
            ["to be excluded: outcomes excluded", "outcomes excluded"] if wanted else []
        )
        assert experiment.exclude(source="bot") == (1 if wanted else robots + 1)
        expected = saved(experiment)
    assert saved(at(clock)("homepage", db=sqlite_db)) == expected
    assert [finding for finding in examine(sqlite_db) if not finding.ok] == []


def test_what_another_program_is_at_is_left_to_it(sqlite_db, long, monkeypatch):
    """One that asks for a report meanwhile does not begin the same; one that has, and is quicker, is believed."""
    monkeypatch.setattr(excluding, "_GIVEN_UP", 10**15)
    seen = []

    def others(self, original=Refolding.read_on):
        monkeypatch.setattr(Refolding, "read_on", original)
        with Database(sqlite_db) as database:
            other = Experiment("homepage", db=database)
            seen.append(other.report().excluded)
            monkeypatch.setattr(excluding, "_GIVEN_UP", 0)
            seen.append(other.report().excluded)
        return original(self)

    with start(sqlite_db, "uts") as experiment:
        robots = told(experiment)
        monkeypatch.setattr(Refolding, "read_on", others)
        assert experiment.exclude(source="bot") == robots
        assert seen == [0, robots]
        assert len(experiment.report().eras) == 2


@pytest.mark.parametrize("meanwhile", [0, 20])
def test_an_exclusion_that_the_database_undoes_is_tried_again(sqlite_db, long, monkeypatch, meanwhile):
    """Others may write before it is."""
    append, undone = transactions.Transactions._append, []

    def undo_once(self, cached, events, restart=False):
        append(self, cached, events, restart)
        if restart and not undone:
            undone.append(cached)
            raise RolledBack("a transaction", "undone", "try again")

    def others(seconds):
        with Database(sqlite_db, durability="off") as database:
            Experiment("homepage", db=database).ask(meanwhile) if meanwhile else None

    with start(sqlite_db, "uts") as experiment:
        robots = told(experiment)
        monkeypatch.setattr(transactions.Transactions, "_append", undo_once)
        monkeypatch.setattr(transactions.time, "sleep", others)
        assert experiment.exclude(source="bot") == robots
        assert undone
        expected = saved(experiment)
    with Experiment("homepage", db=sqlite_db) as again:
        assert saved(again) == expected
        assert again.report().excluded == robots
    assert [finding for finding in examine(sqlite_db) if not finding.ok] == []


def test_an_exclusion_that_cannot_be_finished_harms_nothing_else(sqlite_db, long, monkeypatch, caplog):
    """It is tried again, now and then, and said."""
    clock, tries = Clock(), []
    with start(sqlite_db, "uts", clock=clock) as experiment:
        robots = told(experiment)
        interrupt(experiment, monkeypatch, source="bot")
        with monkeypatch.context() as broken:
            broken.setattr(excluding, "_carry_out", lambda *job: tries.append(1) or 1 / 0)
            clock.pass_seconds(excluding._GIVEN_UP / 1e6)
            for _ in range(3):
                assert experiment.report().excluded == 0
            assert experiment.settle() > 0.0
            assert len(tries) == 1
            assert "cannot be finished, and is tried again later: division by zero" in caplog.text
            clock.pass_seconds(excluding._GIVEN_UP / 1e6)
            experiment.report()
            assert len(tries) == 2
        clock.pass_seconds(excluding._GIVEN_UP / 1e6)
        assert experiment.report().excluded == robots


def test_what_another_program_has_finished_meanwhile_is_not_begun(sqlite_db, long, monkeypatch):
    clock, begun, carry_out = Clock(), [], excluding._carry_out

    def others(database, of, job):
        begun.append(job.wanted)
        monkeypatch.setattr(excluding, "_carry_out", carry_out)
        with Database(sqlite_db, durability="off") as other:
            at(clock)("homepage", db=other).report()
        monkeypatch.setattr(excluding, "_carry_out", others)
        return 0

    with start(sqlite_db, "uts", clock=clock) as experiment:
        told(experiment)
        interrupt(experiment, monkeypatch, source="bot")
        interrupt(experiment, monkeypatch, levels={"row": "row 1"})
        clock.pass_seconds(excluding._GIVEN_UP / 1e6)
        monkeypatch.setattr(excluding, "_carry_out", others)
        assert len(experiment.report().eras) == 3
        assert len(begun) == 1


def test_outcomes_held_are_counted_whoever_carries_it_out(sqlite_db, long, monkeypatch):
    def others(self, original=Refolding.read_on):
        monkeypatch.setattr(Refolding, "read_on", original)
        monkeypatch.setattr(excluding, "_GIVEN_UP", 0)
        with Database(sqlite_db) as database:
            Experiment("homepage", db=database).report()
        return original(self)

    with start(sqlite_db, "uts", outcomes={"window": 10_000}) as experiment:
        robots = told(experiment, 60)
        monkeypatch.setattr(Refolding, "read_on", others)
        assert experiment.exclude(source="bot") == robots
        assert len(experiment.report().eras) == 2


def test_nothing_is_archived_that_somebody_is_about_to_exclude(sqlite_db, long, monkeypatch, tmp_path):
    """What is in an archive counts on: the exclusion would shrink to what is left, and nobody would know."""
    clock = Clock()

    def move():
        return list(archive.archive(experiment.database, "homepage", tmp_path, 0))

    def wanted_meanwhile(*given, original=archive.write_rows):
        interrupt(experiment, monkeypatch, source="bot")
        return original(*given)

    with start(sqlite_db, "uts", clock=clock) as experiment:
        robots = told(experiment)
        clock.pass_seconds(1)
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(archive, "write_rows", wanted_meanwhile)
            with pytest.raises(InputError, match="exclusions are carried out, but got one that is not finished"):
                move()
        assert list(tmp_path.glob("*.parquet")) == []
        with pytest.raises(InputError, match="exclusions are carried out, but got one that is not finished"):
            move()
        clock.pass_seconds(excluding._GIVEN_UP / 1e6)
        assert experiment.report().excluded == robots
        assert move()
        assert experiment.report().excluded == robots
