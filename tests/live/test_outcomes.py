"""Windows, silence, lateness; any order of outcomes; clocks that jump."""

import itertools

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rankone.errors import Contradiction, UnknownDecision
from rankone.live import Experiment

from .helpers import POLICIES, Audience, Clock, at, error_of, live_policy, pairs, saved, start


@pytest.mark.parametrize(("microseconds", "status"), [(-1, "held"), (0, "late"), (1, "late")])
def test_the_window_ends_to_the_microsecond(microseconds, status, sqlite_db):
    clock = Clock()
    experiment = start(sqlite_db, outcomes={"window": 600}, clock=clock)
    decision = experiment.ask()
    clock.pass_seconds(600 + microseconds / 1e6)
    outcome = experiment.tell(decision.id, True)
    assert outcome.status == status
    assert not outcome.learned
    clock.pass_seconds(1)
    counts = experiment.report().outcomes
    assert (counts["clicked"], counts["expired"], counts["late"]) == ((1, 0, 0) if status == "held" else (0, 1, 1))


def test_clicks_are_held_until_silence_is_known(sqlite_db):
    clock = Clock()
    experiment = start(sqlite_db, outcomes={"window": 600}, clock=clock)
    decisions = experiment.ask(count=10)
    experiment.tell(decisions[0].id, True)
    assert experiment.report().leader.rate is None  # nothing is learned early
    clock.pass_seconds(600)
    assert experiment.report().outcomes == {
        "clicked": 1,
        "not_clicked": 0,
        "expired": 9,
        "held": 0,
        "late": 0,
        "void": 0,
        "open": 0,
    }
    assert isinstance(error_of(experiment.void, decisions[1].id), Contradiction)


def test_late_outcomes_change_nothing(sqlite_db, tmp_path):
    clocks = Clock(), Clock()
    with_late, without = (
        start(path, outcomes={"window": 60}, clock=clock)
        for path, clock in zip((sqlite_db, tmp_path / "b.db"), clocks, strict=True)
    )
    decisions = with_late.ask(count=5)
    without.ask(count=5)
    for clock in clocks:
        clock.pass_seconds(61)
    assert with_late.tell(decisions[0].id, True)[:6] == (decisions[0].id, True, "late", False, False, None)
    assert with_late.tell(decisions[0].id, True).repeated
    assert isinstance(error_of(with_late.tell, decisions[0].id, False), Contradiction)
    assert pairs(with_late.ask(count=200)) == pairs(without.ask(count=200))
    assert with_late.look(lambda fold: fold.clicks.sum()) == 0


def test_void_within_a_window_teaches_nothing(sqlite_db):
    clock = Clock()
    experiment = start(sqlite_db, outcomes={"window": 60}, clock=clock)
    one, two = experiment.ask(count=2)
    experiment.void(one.id)
    experiment.tell(two.id, False)
    assert isinstance(error_of(experiment.void, two.id), Contradiction)
    clock.pass_seconds(61)
    assert experiment.report().outcomes["not_clicked"] == 1
    assert experiment.look(lambda fold: int(fold.pulls.sum())) == 1


def test_clock_jumps_do_no_harm(sqlite_db):
    """However the clock jumps, every window ends once: none twice, none never."""
    clock = Clock()
    experiment = start(sqlite_db, outcomes={"window": 600}, clock=clock, seed=1)
    jumps = itertools.cycle([3600, -3600, 0, 1, -7200, 599, 601, -1, 86_400, -86_400])
    decisions = []
    for _ in range(60):
        decisions += experiment.ask(count=2)
        experiment.tell(decisions[-1].id, True)  # may be held or, after a jump, late
        clock.jump(next(jumps))
    clock.pass_seconds(200_000)
    experiment.settle()
    counts = experiment.report().outcomes
    assert counts["open"] == counts["held"] == 0
    assert counts["clicked"] + counts["expired"] == 120
    times = [row[2] for row in experiment.database.transactions.storage.tail(1, 0, 1000)]
    assert times == sorted(times)
    assert saved(Experiment("homepage", db=sqlite_db)) == saved(experiment)


@pytest.mark.parametrize("name", POLICIES)
def test_any_order_of_outcomes_gives_the_same_counts_and_within_a_stage_the_same_state(name, tmp_path):
    policy = live_policy(name, horizon=10_000)  # one long first stage for policies with stages
    states, following = set(), set()
    for order in range(4):
        experiment = start(tmp_path / f"{order}.db", policy, explore=0)  # evidence weighs outcomes as they come
        decisions = experiment.ask(count=30)
        outcomes = [(decision.id, (decision.number * 7) % 3 == 0) for decision in decisions]
        np.random.default_rng(order).shuffle(outcomes)
        experiment.tell_many(outcomes)
        states.add(experiment.look(lambda fold: (fold.pulls.tobytes(), fold.clicks.tobytes())))
        following.add(tuple(pairs(experiment.ask(count=50))))
        experiment.close()
    assert len(states) == 1
    if name != "glm-thompson":  # it fits again on what has come so far
        assert len(following) == 1


def test_while_a_stage_waits_the_leader_is_played_as_filler(sqlite_db):
    experiment = start(sqlite_db, "rank1elim-kl:horizon=3", n_rows=2)
    decisions = experiment.ask(count=300)  # more than the stage has
    fillers = [decision for decision in decisions if decision.filler]
    assert fillers
    stage = [decision for decision in decisions if not decision.filler]
    before = saved(experiment)
    experiment.tell(fillers[0].id, True)
    state = experiment.look(lambda fold: fold.state.pulls.copy())
    assert saved(experiment) != before  # recorded in the counts
    assert state.sum() == 0  # and not used by the stage
    experiment.tell_many([(decision.id, True) for decision in stage])
    assert not experiment.ask().filler  # the stage is closed, the next one is open


class Life(RuleBasedStateMachine):
    """Ask, tell, void, wait and restart in any order, against a few lines that say what should come out."""

    @initialize(window=st.sampled_from([None, 10]))
    def begin(self, window):
        import tempfile
        from pathlib import Path

        self.folder = tempfile.TemporaryDirectory()
        self.db = Path(self.folder.name) / "life.db"
        self.clock = Clock()
        self.window = window
        self.experiment = start(self.db, "kl-ucb", n_rows=2, n_cols=2, outcomes={"window": window}, clock=self.clock)
        self.asked = {}  # id -> when
        self.told = {}  # id -> (clicked or None, whether it counts)

    def _expired(self, id):
        return self.window is not None and self.clock.now >= self.asked[id] + self.window * 10**6

    @rule(count=st.integers(1, 3))
    def ask(self, count):
        for decision in self.experiment.ask(count=count):
            self.asked[decision.id] = self.clock.now

    @precondition(lambda self: self.asked)
    @rule(data=st.data(), clicked=st.sampled_from([True, False, None]))
    def tell(self, data, clicked):
        id = data.draw(st.sampled_from(sorted(self.asked)))
        call = (self.experiment.void, id) if clicked is None else (self.experiment.tell, id, clicked)
        if id in self.told:
            if self.told[id][0] == clicked:
                assert call[0](*call[1:]).repeated
            else:
                assert isinstance(error_of(*call), Contradiction)
        elif self._expired(id) and clicked is None:
            assert isinstance(error_of(*call), Contradiction)
        else:
            assert not call[0](*call[1:]).repeated
            self.told[id] = clicked, not self._expired(id)

    @rule(seconds=st.integers(0, 8))
    def wait(self, seconds):
        self.clock.pass_seconds(seconds)

    @rule()
    def restart(self):
        self.experiment.close()
        self.experiment = at(self.clock)("homepage", db=self.db)

    @rule(id=st.sampled_from(["1000000-" + "0" * 32, "0-" + "0" * 32]))
    def guess(self, id):
        assert isinstance(error_of(self.experiment.tell, id, True), UnknownDecision)

    @invariant()
    def numbers_add_up(self):
        if not hasattr(self, "experiment"):
            return
        counts = self.experiment.report().outcomes
        ripe = [id for id in self.asked if self.window is None or self._expired(id)]
        counted = [
            self.told[id][0] for id in ripe if id in self.told and self.told[id][1] and self.told[id][0] is not None
        ]
        silent = [id for id in ripe if id not in self.told or not self.told[id][1]] if self.window else []
        assert counts["clicked"] == sum(counted)
        assert counts["not_clicked"] == len(counted) - sum(counted)
        assert counts["expired"] == len(silent)
        assert counts["late"] == sum(not counts_now for _, counts_now in self.told.values())
        assert counts["void"] == sum(clicked is None for clicked, _ in self.told.values())

    def teardown(self):
        if hasattr(self, "experiment"):
            self.experiment.close()
            self.folder.cleanup()


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=40, stateful_step_count=25, deadline=None, derandomize=True)


def test_an_audience_that_is_often_silent_is_measured_without_bias(sqlite_db):
    """Held clicks: after many windows the estimate is within 4 standard errors of the truth at every moment."""
    clock = Clock()
    experiment = start(sqlite_db, "ucb1", n_rows=1, n_cols=1, outcomes={"window": 100}, clock=clock)
    audience = Audience(rows=(0.5,), cols=(0.4,))
    asked = 0
    for second in range(600):
        clock.pass_seconds(1)
        for decision in experiment.ask(count=4):
            asked += 1
            if audience.rng.random() < 0.2:
                experiment.tell(decision.id, True)
        if second % 50 == 0 and second > 100:
            report = experiment.report()
            pulls = sum(line.outcomes for line in report.factors[0].levels)
            assert abs(report.leader.rate - 0.2) < 4 * (0.16 / pulls) ** 0.5
            assert pulls <= asked - 4 * 99
