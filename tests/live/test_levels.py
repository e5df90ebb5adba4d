"""Rows and columns added and retired while an experiment runs; outcomes excluded afterwards."""

import numpy as np
import pytest

from rankone.compiling.compiled import compiled
from rankone.errors import InputError
from rankone.kernels.policy import race
from rankone.live import Experiment
from rankone.live.journal.events import BY_OPERATOR, KIND, VALUE, Kind
from rankone.live.operate.doctor import examine
from rankone.numerics.seeds import generator
from rankone.policies.advance import Stretch, advance
from rankone.policies.engines.index_groups import NOBODY, RACE_HELD
from tests.levels import col_of, row_of

from .helpers import POLICIES, Audience, Clock, error_of, live_policy, saved, start


@pytest.mark.usefixtures("compiled_now")
@pytest.mark.parametrize("name", POLICIES)
def test_levels_come_and_go_for_every_policy(name, db):
    experiment = start(db, live_policy(name))
    audience = Audience()
    for _ in range(150):
        audience.step(experiment)
    known = experiment.look(lambda fold: fold.pulls.copy())
    number = experiment.add_level("row", "row new")
    assert number == 3
    after = experiment.look(lambda fold: fold.pulls.copy())
    assert np.array_equal(after[:3], known)  # nothing is forgotten
    assert after[3].sum() == 0
    if name != "best":  # it knows no other pair
        seen = {decision["row"] for decision in experiment.ask(count=300)}
        assert "row new" in seen
    for _ in range(50):
        audience.step(experiment)  # outcomes from before the change are told too
    experiment.retire_level("row", "row 2")
    experiment.retire_level("col", "col 2")
    for decision in experiment.ask(count=200):
        assert decision["row"] != "row 2"
        assert decision["col"] == "col 1"
    waiting = [decision for decision in audience.waiting if decision["row"] == "row 2"]
    pulls = experiment.look(lambda fold: int(fold.pulls.sum()))
    for decision in waiting:
        assert experiment.tell(decision.id, True).learned  # recorded, though never chosen again
    assert experiment.look(lambda fold: int(fold.pulls.sum())) == pulls + len(waiting)
    state = saved(experiment)
    experiment.close()
    with Experiment("homepage", db=db) as continued:
        assert saved(continued) == state
        report = continued.report()
        assert [line.name for line in report.factors[0].levels if line.live] == ["row 1", "row 3", "row new"]
        continued.add_level("row", "row 2")  # back under its old number, with all that was known of it
        assert {row_of(decision) for decision in continued.ask(count=300)} <= {0, 1, 2, 3}
    assert all(finding.ok for finding in examine(db))


def test_a_pair_policy_knows_in_the_new_era_what_it_knew(sqlite_db):
    experiment = start(sqlite_db, "kl-ucb")
    audience = Audience()
    for _ in range(400):
        audience.step(experiment)
    experiment.add_level("col", "col new")
    pulls, state = experiment.look(lambda fold: (fold.pulls.copy(), fold.state))
    assert np.array_equal(state.pulls.reshape(3, 3), pulls)


@pytest.mark.parametrize("name", ["ucb1", "kl-ucb"])
def test_an_era_that_begins_before_any_outcome_is_laid_out(name, sqlite_db):
    """Outcomes of earlier decisions then come before its first own decision."""
    experiment, rng = start(sqlite_db, name), generator(3, name)
    waiting = experiment.ask(count=8)
    experiment.add_level("row", "row new")
    assert experiment.look(lambda fold: fold.state.counters[RACE_HELD]) != NOBODY
    for _ in range(60):
        decision = waiting.pop(int(rng.random() * len(waiting)))
        assert experiment.tell(decision.id, bool(rng.random() < 0.5)).learned
        if rng.random() < 0.9 or not waiting:
            waiting += experiment.ask(count=1)
    pulls, state = experiment.look(lambda fold: (fold.pulls.ravel(), fold.state))
    assert np.array_equal(state.pulls, pulls)
    before = saved(experiment)
    experiment.close()
    with Experiment("homepage", db=sqlite_db) as continued:
        assert saved(continued) == before


def test_eliminated_lines_stay_out_unless_their_winner_retires(sqlite_db):
    experiment = start(sqlite_db, "rank1elim-kl:horizon=2000", n_rows=4, explore=0)
    audience = Audience(rows=(0.95, 0.1, 0.1), cols=(0.9, 0.8))
    while experiment.look(lambda fold: race(fold.state).left[0].all()):  # until rows are eliminated
        for decision in experiment.ask(count=50):
            clicked = bool(audience.rng.random() < audience.means[min(row_of(decision), 2), col_of(decision)])
            experiment.tell(decision.id, clicked)
    racing = experiment.look(lambda fold: sorted(set(fold.state.defeated_by[:4].tolist())))
    assert racing == [0]
    experiment.add_level("row", "row new")
    assert {decision["row"] for decision in experiment.ask(count=200)} == {"row 1", "row new"}
    experiment.retire_level("row", "row 1")  # all that it had beaten are back in the race
    assert {decision["row"] for decision in experiment.ask(count=200)} == {"row 2", "row 3", "row 4", "row new"}


def test_changes_that_make_no_sense_are_refused(sqlite_db):
    experiment = start(sqlite_db, n_cols=1)
    for change in (
        lambda: experiment.add_level("row", "row 1"),
        lambda: experiment.retire_level("row", "nobody"),
        lambda: experiment.retire_level("col", "col 1"),
        lambda: experiment.add_level("col", ""),
        lambda: experiment.exclude(),
    ):
        assert isinstance(error_of(change), InputError)
    experiment.retire_level("row", "row 1")
    assert isinstance(error_of(experiment.retire_level, "row", "row 1"), InputError)
    assert experiment.look(lambda fold: fold.seq) == 2


def test_reopening_with_the_first_or_the_present_lines(sqlite_db):
    start(sqlite_db).add_level("row", "row 4")
    Experiment("homepage", rows=3, cols=2, db=sqlite_db).close()  # the code that made it runs again
    Experiment("homepage", rows=4, cols=2, db=sqlite_db).close()
    assert isinstance(error_of(Experiment, "homepage", rows=5, cols=2, db=sqlite_db), InputError)


@pytest.mark.usefixtures("compiled_now")
@pytest.mark.parametrize("name", POLICIES)
def test_false_clicks_can_be_undone(name, sqlite_db):
    """Inject and exclude: the counts, and what the policy starts from, are as if it had never been told."""
    policy = live_policy(name)
    experiment = start(sqlite_db, policy)
    audience = Audience()
    honest = np.zeros((2, 3, 2), np.int64)
    for step in range(120):
        decision = experiment.ask()
        clicked = bool(audience.rng.random() < 0.3)
        if step % 4 == 0:
            experiment.tell(decision.id, True, source="bot")
        else:
            experiment.tell(decision.id, clicked)
            honest[:, row_of(decision), col_of(decision)] += 1, clicked
    assert experiment.exclude(source="bot") == 30
    pulls, clicks, state = experiment.look(lambda fold: (fold.pulls, fold.clicks, fold.state))
    assert np.array_equal(pulls, honest[0])
    assert np.array_equal(clicks, honest[1])
    never_told = policy.live().start(3, 2)
    rng = generator(7, "experiment", 2)  # of the second era
    compiled(advance, type(policy).__module__)(never_told, None, rng, Stretch.known(*honest))
    assert all(np.array_equal(found, expected) for found, expected in zip(state, never_told, strict=True))
    assert experiment.exclude(source="bot") == 0
    expected = saved(experiment)
    experiment.close()
    assert saved(Experiment("homepage", db=sqlite_db)) == expected
    assert all(finding.ok for finding in examine(sqlite_db))


def test_what_is_told_meanwhile_is_not_in_the_count(sqlite_db):
    """Others tell between the exclusion's commit and every look at what came of it."""
    others = start(sqlite_db)

    class Busy(Experiment):
        def look(self, at):
            others.tell_many([(decision, True) for decision in others.ask(10)], source="person")
            return super().look(at)

    experiment = Busy("homepage", db=sqlite_db)
    for count in (3, 0, 5):
        for decision in experiment.ask(count) if count else ():
            experiment.tell(decision, True, source="bot")
        assert experiment.exclude(source="bot") == count
    assert others.look(lambda fold: list(fold.exclusions.taken.values())) == [3, 0, 5]
    assert saved(Experiment("homepage", db=sqlite_db)) == saved(others)


def test_exclusion_by_time_row_and_column(sqlite_db):
    clock = Clock()
    experiment = start(sqlite_db, clock=clock)
    for _ in range(60):
        clock.pass_seconds(1)
        experiment.tell(experiment.ask().id, True)
    begin = 1000
    assert experiment.exclude(since=begin + 11, until=begin + 21) == 10
    counts = experiment.look(lambda fold: fold.pulls.copy())
    assert experiment.exclude(levels={"row": "row 2", "col": "col 1"}) == counts[1, 0]
    other = Experiment("homepage", db=sqlite_db)
    experiment.exclude(until=begin + 31)
    assert other.report().outcomes == experiment.report().outcomes  # seen by those who had counted them


def test_held_outcomes_can_be_excluded_too(sqlite_db):
    """What a bot told within an open window is not learned when the window ends, and not counted as silence."""
    clock = Clock()
    experiment = start(sqlite_db, clock=clock, outcomes={"window": 60})
    bot, person, _silent = experiment.ask(count=3)
    experiment.tell(bot.id, True, source="bot")
    experiment.tell(person.id, True, source="web")
    assert experiment.exclude(source="bot") == 1
    assert experiment.exclude(source="bot") == 0
    assert experiment.tell(bot.id, True).repeated
    events = experiment.database.transactions.storage.of_decision(1, bot.number)
    assert [event[VALUE] for event in events if event[KIND] == Kind.VOID] == [BY_OPERATOR]
    clock.pass_seconds(60)
    counts = experiment.report().outcomes
    assert (counts["clicked"], counts["expired"], counts["void"], counts["open"]) == (1, 1, 1, 0)
    expected = saved(experiment)
    experiment.close()
    assert saved(Experiment("homepage", db=sqlite_db)) == expected
    assert all(finding.ok for finding in examine(sqlite_db))


@pytest.mark.parametrize(
    "bad",
    [
        {"since": float("nan")},
        {"until": "yesterday"},
        {"levels": {"row": "nobody"}},
        {"source": "bot", "levels": {"row": ""}},
        {"levels": {"row": "row 1"}, "why": 3},
    ],
)
def test_exclusions_that_make_no_sense_are_refused(bad, sqlite_db):
    assert isinstance(error_of(start(sqlite_db).exclude, **bad), InputError)


def test_of_three_factors_too_the_eliminated_stay_out_and_others_begin_afresh(sqlite_db):
    """Sums of levels that met other partners cannot be compared: they begin again, among those still in the race."""
    factors = {"headline": ["A", "B"], "image": ["1", "2"], "button": ["x", "y"]}
    policy, rng = "rank1elim-kl:horizon=2000,c=0", generator(1, "elimination")
    with Experiment("page", factors=factors, policy=policy, db=sqlite_db, seed=3, durability="off", explore=0) as page:
        for _ in range(5):
            made = page.ask(500)
            best = [list(decision.levels.values()) == ["A", "1", "x"] for decision in made]
            page.tell_many((each, is_best and rng.random() < 0.9) for each, is_best in zip(made, best, strict=True))
        before = [decision.levels for decision in page.ask(20)]
        page.add_level("image", "3")
        after = page.ask(60)
        assert {levels["headline"] for levels in before} == {"A"}
        assert {decision.levels["headline"] for decision in after} == {"A"}
        assert {decision.levels["image"] for decision in after} == {"1", "3"}
        with pytest.raises(InputError, match="Expected a policy that can be told what is forbidden"):
            page.forbid({"headline": "A", "button": "x"})
    with Experiment("page", db=sqlite_db) as again:
        assert again.ask().levels["headline"] == "A"


def test_a_list_of_levels_that_changed_in_the_code_is_taken_over_with_sync(sqlite_db):
    def opened(**settings):
        return Experiment("page", db=sqlite_db, durability="off", **settings)

    with opened(factors={"headline": ["A", "B"], "image": ["1", "2"]}, seed=1) as page:
        page.tell(page.ask(), True)
    wanted = {"headline": ["C", "A"], "image": ["1", "2"]}
    with pytest.raises(InputError, match="sync=True"):
        opened(factors=wanted)
    for _ in range(2):  # the second time there is nothing to do
        with opened(factors=wanted, sync=True) as page:
            living = {each.name: {level.name for level in each.levels if level.live} for each in page.report().factors}
            assert living == {"headline": {"A", "C"}, "image": {"1", "2"}}
            assert [change.what for change in page.changes()][1:] == ["headline 'C' added", "headline 'B' retired"]
    with pytest.raises(InputError, match="the factors headline, image, but got headline"):
        opened(factors={"headline": ["A", "C"]}, sync=True)
    with pytest.raises(InputError, match="aim"):  # nothing else may change
        opened(factors=wanted, sync=True, aim="decide")


def test_a_name_that_is_a_number_is_said_to_be_text(sqlite_db):
    with start(sqlite_db) as experiment:
        error = error_of(experiment.ask, key=17)
    assert str(error) == "Expected key as printable text of 1 to 256 characters, but got 17. Pass it as text: '17'."
