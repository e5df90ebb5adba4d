"""The embedded experiment as its users see it."""

import threading
from unittest.mock import Mock

import numpy as np
import pytest

import rankone
from rankone.errors import (
    Contradiction,
    InputError,
    JournalError,
    KeyReused,
    StorageError,
    TooManyOpen,
    UnknownDecision,
)
from rankone.live import Ask, Database, Experiment, Tell, Void
from tests.levels import col_of

from .helpers import Audience, Clock, error_of, pairs, saved, start, with_other_col


def test_the_readme_lines_work(db):
    homepage = Experiment(
        "homepage", rows=["headline A", "headline B"], cols=["image 1", "image 2", "image 3"], policy="ucb1", db=db
    )
    decision = homepage.ask()
    assert decision["row"] in ("headline A", "headline B")
    assert decision["col"] == f"image {col_of(decision) + 1}"
    assert homepage.tell(decision.id, clicked=True).learned
    assert "headline" in str(homepage.report())
    homepage.close()
    continued = Experiment("homepage", db=db)
    assert continued.report().outcomes["clicked"] == 1
    continued.close()


def test_ids_cannot_be_guessed(sqlite_db):
    experiment = start(sqlite_db)
    ids = [decision.id for decision in experiment.ask(count=100)]
    secrets = {id.split("-")[1] for id in ids}
    assert len(secrets) == 100
    assert all(len(bytes.fromhex(secret)) == 16 for secret in secrets)
    right = ids[7]
    wrong = right[:-1] + ("0" if right[-1] != "0" else "1")
    for bad in (
        wrong,
        "7-" + "0" * 32,
        right.upper(),
        right + "0",
        " " + right,
        "07" + right[1:],
        "100-" + "0" * 32,
        "x",
        "",
        None,
        7,
    ):
        assert isinstance(error_of(experiment.tell, bad, True), UnknownDecision), bad
    assert experiment.tell(right, True).learned


def test_an_outcome_counts_once(db):
    experiment = start(db)
    first, second, third = experiment.ask(count=3)
    told = experiment.tell(first.id, True)
    again = experiment.tell(first.id, True)
    assert (told.learned, told.repeated, again.learned, again.repeated) == (True, False, True, True)
    assert isinstance(error_of(experiment.tell, first.id, False), Contradiction)
    assert isinstance(error_of(experiment.void, first.id), Contradiction)
    assert experiment.void(second.id)[:6] == (second.id, None, "void", False, False, None)
    assert experiment.void(second.id).repeated
    assert isinstance(error_of(experiment.tell, second.id, True), Contradiction)
    assert isinstance(error_of(experiment.tell, third.id, "yes"), InputError)
    assert experiment.report().outcomes == {
        "clicked": 1,
        "not_clicked": 0,
        "expired": 0,
        "held": 0,
        "late": 0,
        "void": 1,
        "open": 1,
    }
    experiment.close()


def test_outcomes_in_one_batch_see_each_other(sqlite_db):
    experiment = start(sqlite_db)
    one, two = experiment.ask(count=2)
    answers = experiment.do(
        [Tell(one.id, True), Tell(one.id, True), Tell(one.id, False), Void(two.id), Tell(two.id, True), Ask(2)]
    )
    assert (answers[0].learned, answers[0].repeated) == (True, False)
    assert answers[1].repeated
    assert isinstance(answers[2], Contradiction)
    assert answers[3].status == "void"
    assert isinstance(answers[4], Contradiction)
    assert [decision.number for decision in answers[5]] == [2, 3]
    assert experiment.report().outcomes["clicked"] == 1


def test_tell_many_answers_each_for_itself(sqlite_db):
    experiment = start(sqlite_db)
    one, two = experiment.ask(count=2)
    told = experiment.tell_many([(one.id, True), ("0-nonsense", True), (two.id, False)])
    assert told[0].clicked is True
    assert isinstance(told[1], UnknownDecision)
    assert told[2].clicked is False
    assert experiment.tell_many([]) == []


def test_a_request_that_makes_no_sense_harms_no_other(sqlite_db):
    """Each is answered for itself, also where requests of many callers are committed together."""
    experiment = start(sqlite_db)
    decision = experiment.ask()
    nonsense = [
        Ask(0),
        "tell",
        Tell(decision.id, "yes"),
        Ask(key=""),
        Tell(decision.id, True, source="\n"),
    ]
    answers = experiment.do([*nonsense, Tell(decision.id, True), Ask(2)])
    assert all(isinstance(answer, InputError) for answer in answers[:5])
    assert answers[5].learned
    assert [made.number for made in answers[6]] == [1, 2]


def test_a_decision_may_be_given_whole(sqlite_db):
    experiment = start(sqlite_db)
    told, many, done, void = experiment.ask(count=4)
    assert experiment.tell(told, clicked=True).id == told.id
    assert experiment.tell_many([(many, False)])[0].id == many.id
    assert experiment.do([Tell(done, True)])[0].id == done.id
    assert experiment.void(void).status == "void"


def test_what_it_is_can_be_read(sqlite_db):
    with start(sqlite_db) as experiment:
        assert repr(experiment) == f"<Experiment 'homepage' in {sqlite_db}>"
        assert repr(experiment.database) == f"<Database {sqlite_db}>"


@pytest.mark.parametrize("outcomes", [[7], ["7-0"], [("7-0", True, False)]])
def test_outcomes_that_are_no_pairs_are_refused(outcomes, sqlite_db):
    assert "decision.id" in str(error_of(start(sqlite_db).tell_many, outcomes))


def test_numbers_and_truths_of_numpy_are_welcome(sqlite_db):
    experiment = start(sqlite_db, seed=np.int64(7), outcomes={"max_open": np.int32(50)}, n_rows=np.int64(3))
    decisions = experiment.ask(count=np.int64(3))
    for decision, clicked in zip(decisions, (np.bool_(True), np.int64(0), 1), strict=True):
        assert experiment.tell(decision.id, clicked).clicked is bool(clicked)


@pytest.mark.parametrize("of_database", [StorageError, JournalError])
def test_an_error_of_the_database_is_no_answer_to_one_request(of_database, sqlite_db, monkeypatch):
    """What the transaction may have lost must not be committed: the group fails, nothing is written, and it heals."""
    experiment = start(sqlite_db)
    told = experiment.tell(experiment.ask().id, True)
    before = experiment.look(lambda fold: fold.seq)
    with monkeypatch.context() as broken:
        error = of_database("an answer", "silence", "try again")
        broken.setattr(type(experiment.database.transactions.storage), "of_decision", Mock(side_effect=error))
        assert error_of(experiment.do, [Tell(told.id, True), Ask()]) is error
    assert len(experiment.database.transactions.storage.tail(1, 0, 100)) == before
    assert experiment.tell(told.id, True).repeated
    assert experiment.ask().number == 1


def test_a_key_makes_asking_again_safe(db):
    experiment = start(db)
    first = experiment.ask(key="request 1")
    assert experiment.ask(key="request 1") == first
    batch = experiment.ask(count=5, key="request 2")
    assert experiment.ask(count=5, key="request 2") == batch
    assert isinstance(error_of(experiment.ask, count=4, key="request 2"), KeyReused)
    together = experiment.do([Ask(2, "request 3"), Ask(2, "request 3"), Ask(3, "request 3")])
    assert together[0] == together[1]
    assert isinstance(together[2], KeyReused)
    experiment.close()
    continued = Experiment("homepage", db=db)
    assert continued.ask(count=5, key="request 2") == batch
    assert continued.look(lambda fold: fold.decisions) == 8
    continued.close()


def test_many_threads_each_told_at_once(sqlite_db):
    experiment = start(sqlite_db)
    problems = []

    def client(number):
        try:
            for _ in range(25):
                decision = experiment.ask(source=f"client {number}")
                assert experiment.tell(decision.id, number % 2 == 0).learned
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert experiment.report().outcomes == {
        "clicked": 200,
        "not_clicked": 200,
        "expired": 0,
        "held": 0,
        "late": 0,
        "void": 0,
        "open": 0,
    }
    assert saved(Experiment("homepage", db=sqlite_db)) == saved(experiment)


def test_open_decisions_are_limited(sqlite_db):
    experiment = start(sqlite_db, outcomes={"max_open": 3})
    decisions = experiment.ask(count=3)
    assert isinstance(error_of(experiment.ask), TooManyOpen)
    assert len(experiment.do([Tell(decisions[0].id, True), Ask(1)])[1]) == 1
    assert isinstance(error_of(experiment.ask), TooManyOpen)


def test_settings_given_again_must_agree(sqlite_db):
    start(sqlite_db, outcomes={"window": 600}, stopping={"auto": True}).close()
    Experiment(
        "homepage",
        rows=3,
        cols=2,
        policy="ucb1",
        db=sqlite_db,
        outcomes={"window": 600},
        stopping={"auto": True},
        seed=7,
    ).close()
    for contradiction in (
        {"rows": 4, "cols": 2},
        {"rows": 3, "cols": ["a", "b"]},
        {"policy": "kl-ucb"},
        {"outcomes": {"window": 60}},
        {"stopping": {"error": 0.1}},
        {"seed": 8},
    ):
        error = error_of(Experiment, "homepage", db=sqlite_db, **contradiction)
        assert isinstance(error, InputError), contradiction
        assert "homepage" in str(error)
    other = {"outcomes": {"window": 60}}
    assert "outcomes.window 600 (seconds)" in str(error_of(Experiment, "homepage", db=sqlite_db, **other))
    many = str(error_of(Experiment, "homepage", db=sqlite_db, rows=5000, cols=2))
    assert "5000 in all" in many
    assert len(many) < 500


def test_a_name_that_is_not_there_is_answered_with_those_that_are(sqlite_db):
    start(sqlite_db).close()
    assert "homepage" in str(error_of(Experiment, "homepgae", db=sqlite_db))


def test_a_closed_experiment_says_so(db):
    experiment = start(db)
    experiment.close()
    experiment.close()
    for call in (experiment.ask, experiment.report, experiment.stop):
        error = error_of(call)
        assert isinstance(error, StorageError)
        assert "was closed" in str(error)


def test_a_clock_once_given_is_kept(sqlite_db):
    with Database(sqlite_db) as database:
        clock = Clock()
        start(database, clock=clock, outcomes={"window": 60}).ask()
        clock.pass_seconds(60)
        assert Experiment("homepage", db=database).report().outcomes["expired"] == 1


def test_a_window_is_never_rounded_to_none(sqlite_db):
    assert start(sqlite_db, outcomes={"window": 1e-9}).look(lambda fold: fold.settings.outcomes.window_micros) == 1


@pytest.mark.parametrize(
    "bad",
    [
        {"name": ""},
        {"name": "x" * 257},
        {"name": "a\nb"},
        {"name": 3},
        {"rows": []},
        {"rows": ["a", "a"]},
        {"rows": "ab"},
        {"rows": None},
        {"rows": 0},
        {"rows": 10_001},
        {"cols": [1, 2]},
        {"rows": 10_000, "cols": 1_001},
        {"policy": "nobody"},
        {"policy": "rank1elim-kl"},
        {"seed": 1.5},
        {"outcomes": {"max_open": 0}},
        {"outcomes": {"max_open": 2.5}},
        {"seed": -1},
        {"seed": True},
        {"outcomes": {"window": 0}},
        {"outcomes": {"window": -1}},
        {"outcomes": {"window": float("nan")}},
        {"stopping": {"error": 0}},
        {"stopping": {"error": 0.6}},
        {"stopping": {"auto": 1}},
        {"durability": "maybe"},
        {"db": "mysql://x"},
        {"db": ""},
    ],
)
def test_bad_settings_are_refused_in_one_voice(bad, tmp_path):
    arguments = {"name": "x", "rows": 2, "cols": 2, "policy": "ucb1", "db": tmp_path / "x.db"} | bad
    error = error_of(Experiment, **arguments)
    assert isinstance(error, InputError)
    assert str(error).startswith(("Expected ", "No such "))
    if (tmp_path / "x.db").exists():  # nothing half made
        assert Database(tmp_path / "x.db").names() == []


@pytest.mark.parametrize(
    "bad",
    [{"count": 0}, {"count": 1001}, {"count": True}, {"count": 1.0}, {"key": ""}, {"key": "x" * 257}, {"source": 1}],
)
def test_bad_asks_are_refused(bad, sqlite_db):
    experiment = start(sqlite_db)
    assert isinstance(error_of(experiment.ask, **bad), InputError)
    assert experiment.look(lambda fold: fold.seq) == 1


def test_experiments_of_one_database_are_independent(db):
    database = Database(db, durability="off")
    both = [start(database, name=name) for name in ("one", "two")]
    alone = start(database, name="three")
    for _ in range(30):
        for experiment, audience in zip(both, audiences := [Audience(), Audience(seed=1)], strict=True):
            audience.step(experiment)
        del audiences
    assert set(database.transactions.storage.names()) == {"one", "two", "three"}
    assert alone.look(lambda fold: fold.decisions) == 0
    database.close()


def test_nothing_leads_before_the_first_outcome(sqlite_db):
    experiment = start(sqlite_db)
    experiment.ask(count=5)
    assert "Name a level of each factor" in str(error_of(experiment.stop))
    experiment.stop({"row": "row 3", "col": "col 2"})
    assert pairs([experiment.ask()]) == [(2, 1, True)]


def test_what_is_held_is_said(sqlite_db):
    experiment = start(sqlite_db, outcomes={"window": 600})
    experiment.tell(experiment.ask().id, True)
    assert experiment.report().details.endswith("1 outcome waits until the window of 10 minutes is over.")
    assert "window" not in start(sqlite_db, name="told").report().details


def test_stop_serves_one_pair_and_resume_goes_on(sqlite_db):
    experiment = start(sqlite_db)
    audience = Audience()
    for _ in range(200):
        audience.step(experiment)
    leader = experiment.report()
    assert leader.shown is None
    assert experiment.stop() == leader.best
    stopped = experiment.ask(count=20)
    assert {(decision["row"], decision["col"], decision.filler) for decision in stopped} == {
        (leader.best["row"], leader.best["col"], True)
    }
    assert experiment.tell(stopped[0].id, True).learned  # it counts in the report, if not for the policy
    assert experiment.report().stopped == "by hand"
    again = Experiment("homepage", db=sqlite_db)
    assert pairs(again.ask(count=3)) == pairs(stopped[:3])
    experiment.resume()
    assert not any(decision.filler for decision in experiment.ask(count=20))
    assert isinstance(error_of(experiment.resume), InputError)
    assert experiment.stop({"row": "row 2", "col": "col 1"}) == {"row": "row 2", "col": "col 1"}
    assert experiment.ask()["row"] == "row 2"
    report = experiment.report()
    assert report.shown == {"row": "row 2", "col": "col 1"}
    assert report.headline.startswith("Stopped: everyone sees 'row 2' with 'col 1'")
    assert report.notes[0] == "Stopped: by hand."
    assert "in the race" not in report.details
    for bad in (
        {"levels": {"row": "row 9"}},
        {"levels": {"row": ""}},
        {"levels": "row 1"},
        {"why": object()},
        {"why": "two\nlines"},
    ):
        assert isinstance(error_of(experiment.stop, **bad), InputError), bad


def test_a_program_whose_policy_changed_starts_afresh_on_what_is_known(sqlite_db):
    experiment = start(sqlite_db)
    audience = Audience()
    for _ in range(120):
        audience.step(experiment)
    known = experiment.look(lambda fold: fold.pulls.tolist())
    # As if the program that wrote it had chosen otherwise: one choice is replaced, and the checksums are made to fit.
    from rankone.live.journal.events import KIND, Kind, read_groups

    storage = experiment.database.transactions.storage
    events, _ = read_groups(storage.tail(1, 0, 1000), 0, b"")
    place = int((events.numbers[:, KIND] == Kind.ASK).nonzero()[0][-1])
    events.texts[place] = events.texts[place]._replace(shown=with_other_col(events.texts[place].shown))
    experiment.close()
    database = Database(sqlite_db)
    database.transactions.storage.query("DELETE FROM rankone_journal")
    chain = b""
    for seq in range(len(events)):
        group = events[slice(seq, seq + 1)]
        chain = group.checksum(chain)
        database.transactions.storage.append(1, group.rows(chain))
    with pytest.warns(UserWarning, match="policy's code changed"):
        changed = Experiment("homepage", db=database)
    assert changed.look(lambda fold: fold.pulls.tolist()) == known
    changed.ask()
    assert changed.report().eras == ("created", "the program's policy changed")
    state = saved(changed)
    database.close()
    assert saved(Experiment("homepage", db=sqlite_db)) == state  # no warning: the last era replays


def test_exported_names():
    assert rankone.Experiment is Experiment
    assert rankone.Database is Database
