"""Open decisions that grow old: they make room where there is none, and can be voided in bulk."""

import pytest

from rankone.errors import Contradiction, InputError, TooManyOpen
from rankone.live import Ask, Experiment, Tell
from rankone.live.operate.doctor import examine

from .helpers import Clock, error_of, saved, start

HOUR = 3600


@pytest.fixture
def clock():
    return Clock()


def numbers_open(experiment):
    return experiment.look(lambda fold: list(fold.open))


def test_a_flood_blocks_for_an_hour(sqlite_db, clock):
    experiment = start(sqlite_db, outcomes={"max_open": 30}, clock=clock)
    experiment.ask(count=30)
    clock.pass_seconds(HOUR - 1)
    assert isinstance(error_of(experiment.ask), TooManyOpen)
    clock.pass_seconds(1)
    experiment.ask(count=2)
    assert numbers_open(experiment) == list(range(2, 32))  # the oldest, and no more than needed
    report = experiment.report()
    assert (report.voided_by_age, report.outcomes["void"], report.outcomes["open"]) == (2, 2, 30)
    assert "2 decisions without an outcome were cancelled to make room. Report or cancel" in report.warnings[0]
    state = saved(experiment)
    experiment.close()
    assert saved(Experiment("homepage", db=sqlite_db)) == state
    assert all(finding.ok for finding in examine(sqlite_db))


def test_where_there_is_room_nothing_is_voided(sqlite_db, clock):
    experiment = start(sqlite_db, outcomes={"max_open": 3}, clock=clock)
    old = experiment.ask(count=2)
    clock.pass_seconds(1000 * HOUR)
    experiment.ask()
    assert isinstance(error_of(experiment.ask, count=3), TooManyOpen)  # two are old, three would have to go
    assert numbers_open(experiment) == [0, 1, 2]
    assert experiment.tell(old[0], True).learned


def test_what_comes_after_is_late(sqlite_db, clock):
    experiment = start(sqlite_db, outcomes={"max_open": 2, "max_age": 60}, clock=clock)
    one, two = experiment.ask(count=2)
    clock.pass_seconds(60)
    experiment.ask(count=2)
    assert experiment.tell(one, True)[:6] == (one.id, True, "late", False, False, None)
    assert experiment.tell(one, True)[:6] == (one.id, True, "late", False, True, None)
    assert isinstance(error_of(experiment.tell, one, False), Contradiction)
    assert experiment.void(two)[:6] == (two.id, None, "void", False, True, None)
    counts = experiment.report().outcomes
    assert (counts["late"], counts["void"], counts["clicked"]) == (1, 2, 0)


def test_requests_that_come_together_see_each_other(sqlite_db, clock):
    experiment = start(sqlite_db, outcomes={"max_open": 4}, clock=clock)
    old = experiment.ask(count=4)
    clock.pass_seconds(HOUR)
    answers = experiment.do([Ask(2), Tell(old[0].id, True), Ask(5), Ask(2)])
    assert answers[1].learned  # told, so it is not voided
    assert [len(answers[0]), len(answers[3])] == [2, 2]
    assert isinstance(answers[2], TooManyOpen)
    assert numbers_open(experiment) == [4, 5, 6, 7]
    assert experiment.report().voided_by_age == 3


def test_only_what_closes_a_decision_makes_room(sqlite_db, clock):
    """An outcome held until its window ends does not, and neither does a late one."""
    experiment = start(sqlite_db, outcomes={"max_open": 2, "window": 600}, clock=clock)
    late, _ = experiment.ask(count=2)
    clock.pass_seconds(600)
    held, _ = experiment.ask(count=2)
    answers = experiment.do([Tell(held.id, True), Tell(late.id, True), Ask()])
    assert [answers[0].status, answers[1].status] == ["held", "late"]
    assert isinstance(answers[2], TooManyOpen)


def test_the_advice_fits(sqlite_db, tmp_path):
    with_window = start(sqlite_db, outcomes={"max_open": 1, "window": 600})
    without = start(tmp_path / "b.db", outcomes={"max_open": 1, "max_age": 90})
    for experiment, advice in (
        (with_window, "Wait, since windows of 10 minutes end them, or cancel old ones with void_open()"),
        (
            without,
            "Report or cancel open decisions, or cancel old ones with void_open(); after 90 seconds they make room",
        ),
    ):
        experiment.ask()
        assert advice in str(error_of(experiment.ask))


def test_many_are_voided_by_age_and_source(db, clock, monkeypatch):
    monkeypatch.setattr("rankone.live.experiment._VOIDED_AT_ONCE", 250)  # so that it takes several commits
    experiment = start(db, clock=clock)
    experiment.ask(count=600, source="page")
    mail = experiment.ask(source="mail")
    clock.pass_seconds(600)
    experiment.ask(count=2, source="page")
    assert experiment.void_open(601) == 0
    assert experiment.void_open(600, source="nobody") == 0
    assert experiment.void_open(600, source="page") == 600
    assert numbers_open(experiment) == [600, 601, 602]
    assert experiment.void_open(600) == 1
    assert experiment.tell(mail, True).status == "late"
    report = experiment.report()
    assert (report.voided_by_age, report.outcomes["void"]) == (0, 601)
    state = saved(experiment)
    experiment.close()
    with Experiment("homepage", db=db) as continued:
        assert saved(continued) == state
    assert all(finding.ok for finding in examine(db))


def test_with_a_window_the_bulk_leaves_what_is_told_or_over(sqlite_db, clock):
    experiment = start(sqlite_db, outcomes={"window": 600}, clock=clock)
    experiment.ask()
    clock.pass_seconds(100)
    held, _ = experiment.ask(count=2)
    experiment.tell(held, True)
    clock.pass_seconds(500)
    assert experiment.void_open(1) == 1  # of three: one is over, one is held
    clock.pass_seconds(600)
    counts = experiment.report().outcomes
    assert (counts["clicked"], counts["expired"], counts["void"], counts["open"]) == (1, 1, 1, 0)


def test_a_window_that_ends_meanwhile_is_left_to_end(sqlite_db):
    """Between the look for old decisions and the commit that voids them, time passes."""

    class Slow(Clock):
        def wall(self):
            self.pass_seconds(20)
            return super().wall()

    experiment = start(sqlite_db, outcomes={"window": 600}, clock=(clock := Slow()))
    experiment.ask()
    clock.pass_seconds(570)
    assert experiment.void_open(1) == 0  # its window was open at the look, and over at the commit
    assert experiment.report().outcomes["expired"] == 1


@pytest.mark.parametrize("bad", [{"older_than": 0}, {"older_than": "old"}, {"older_than": 60, "source": ""}])
def test_what_makes_no_sense_is_refused(bad, sqlite_db):
    assert isinstance(error_of(start(sqlite_db).void_open, **bad), InputError)


@pytest.mark.parametrize(
    "bad",
    [
        {"outcomes": {"max_age": 0}},
        {"outcomes": {"max_age": -1}},
        {"outcomes": {"max_age": "old"}},
        {"outcomes": {"max_age": 60, "window": 60}},
    ],
)
def test_an_age_that_makes_no_sense_is_refused(bad, sqlite_db):
    assert isinstance(error_of(start, sqlite_db, **bad), InputError)


def test_an_age_given_again_must_agree(sqlite_db):
    start(sqlite_db, outcomes={"max_age": 60}).close()
    Experiment("homepage", db=sqlite_db, outcomes={"max_age": 60}).close()
    start(sqlite_db, name="shop", outcomes={"window": 600}).close()
    for age in (60, HOUR):  # an hour is what it would be without a window
        said = str(error_of(Experiment, "shop", db=sqlite_db, outcomes={"max_age": age}))
        assert "Expected no max_age for experiment 'shop', which has a window" in said
        assert "Leave it out: the window ends what is open" in said
    assert "outcomes.max_age 60 (seconds)" in str(
        error_of(Experiment, "homepage", db=sqlite_db, outcomes={"max_age": 61})
    )
