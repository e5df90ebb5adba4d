"""Goals: told by decision or by visitor, once or added up, each with its window; all of it follows from the journal."""

from __future__ import annotations

import dataclasses
import itertools
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankone
from rankone.errors import Contradiction, InputError, KeyReused
from rankone.live import Database, Tell
from rankone.live.fold import snapshot
from rankone.live.fold.journal_reading import begin, from_snapshot, read_tail, replay
from rankone.live.goals import checked_goals
from rankone.live.operate.archive import archive
from rankone.live.operate.doctor import examine
from rankone.live.operate.export import decisions_table
from rankone.live.report.report import Report

from .helpers import Clock, at

GOALS: dict[str, Any] = {
    "click": {},
    "order": {"kind": "amount", "cap": 100, "window": 60},
    "refund": {"better": "less", "worse_by": 0.1, "window": 600},
}
SECOND = 1_000_000


def shop(db: Path | None, clock: Clock | None = None, **settings: Any) -> rankone.Experiment:
    settings = {"goals": GOALS, "policy": "uniform", "seed": 3} | settings
    return at(clock)("shop", factors={"price": ["low", "high"], "page": ["old", "new"]}, db=db, **settings)


def level(experiment: rankone.Experiment, goal: str, name: str) -> Any:
    (found,) = [each for each in experiment.report().goals if each.name == goal]
    return next(each for each in found.levels if each.name == name)


def fold_of(experiment: rankone.Experiment) -> Any:
    return experiment.look(lambda fold: fold)


def test_amounts_add_up_until_their_window_ends() -> None:
    watch = Clock()
    with shop(None, watch) as experiment:
        decision = experiment.ask()
        assert experiment.tell(decision, goal="order", value=20.0).value == 20.0
        assert experiment.tell(decision, clicked=True).learned  # the click closes the decision, not its goals
        assert experiment.tell(decision, goal="order", value=30.0) == (
            decision.id, None, "held", False, False, None, "order", 50.0, None, None,
        )  # fmt: skip
        assert level(experiment, "order", decision["price"]).total == 50.0
        assert fold_of(experiment).goals.amounts(1).gain.sum() == 0.0  # nothing is weighed before the end
        watch.now += 61 * SECOND
        experiment.settle()
        assert fold_of(experiment).goals.amounts(1).gain.max() == pytest.approx(0.5)
        assert experiment.tell(decision, goal="order", value=1.0).status == "late"
        assert experiment.tell(decision, goal="refund").status == "held"  # which has a window of its own
        report = experiment.report()
        assert [goal.late for goal in report.goals] == [1, 0]
        assert "1 outcome of 'order' came after its window and did not count." in report.warnings


def test_outcomes_that_wait_for_the_end_of_their_window_count_as_memory() -> None:
    """So folds with many of them leave memory in time, and are not written down whole again and again."""
    watch = Clock()
    with shop(None, watch) as experiment:
        decisions = [decision for _ in range(4) for decision in experiment.ask(1_000)]
        for decision in decisions[:2_000]:  # with what is made once
            experiment.tell(decision, goal="order", value=20.0)
        before = fold_of(experiment).nbytes
        tracemalloc.start()
        for decision in decisions[2_000:]:
            experiment.tell(decision, goal="order", value=20.0)
        taken, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        waiting = fold_of(experiment).nbytes - before
        assert waiting == pytest.approx(taken, rel=0.3)
        watch.now += 601 * SECOND
        experiment.ask()
        assert fold_of(experiment).nbytes < before


def test_more_than_the_cap_counts_as_the_cap() -> None:
    with shop(None) as experiment:
        decision = experiment.ask()
        for _ in range(3):
            experiment.tell(decision, goal="order", value=70.0)
        assert level(experiment, "order", decision["price"]).total == 100.0
        assert level(experiment, "order", decision["price"]).outcomes == 1


def test_a_yes_no_goal_counts_once() -> None:
    watch = Clock()
    with shop(None, watch) as experiment:
        decision = experiment.ask()
        assert not experiment.tell(decision, goal="refund").repeated
        assert experiment.tell(decision, goal="refund", value=True).repeated
        with pytest.raises(Contradiction):
            experiment.tell(decision, goal="refund", value=0)
        watch.now += 700 * SECOND
        experiment.settle()
        assert experiment.tell(decision, goal="refund").repeated  # also when its window is over
        assert level(experiment, "refund", decision["page"]).outcomes == 1


def test_a_key_counts_once() -> None:
    with shop(None) as experiment:
        decision = experiment.ask()
        first = experiment.tell(decision, goal="order", value=5.0, key="order 1")
        again = experiment.tell(decision, goal="order", value=5.0, key="order 1")
        assert again.repeated
        assert not first.repeated
        with pytest.raises(KeyReused):
            experiment.tell(decision, goal="order", value=6.0, key="order 1")
        assert experiment.tell(decision, goal="order", value=5.0, key="order 2").value == 10.0


def test_the_goal_that_steers_may_be_named_or_not() -> None:
    with shop(None) as experiment:
        one, two = experiment.ask(2)
        assert experiment.tell(one, goal="click").learned
        assert experiment.tell(two, value=0).clicked is False
        assert experiment.tell(one, clicked=True).repeated
    with rankone.Experiment("plain", 2, 2, db=None) as plain:
        assert plain.tell(plain.ask(), goal="click").clicked
        with pytest.raises(InputError, match="click"):
            plain.tell(plain.ask(), goal="order", value=3.0)
        assert "goals" not in plain.report().to_dict()


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), "3", 2e9])
def test_what_is_no_amount_is_refused(value: Any) -> None:
    with shop(None) as experiment, pytest.raises(InputError):
        experiment.tell(experiment.ask(), goal="order", value=value)


def test_a_decision_that_was_never_shown_brings_nothing() -> None:
    with shop(None) as experiment:
        decision = experiment.ask()
        experiment.tell(decision, goal="order", value=5.0)
        experiment.void(decision)
        assert level(experiment, "order", decision["price"]).total == 0.0
        with pytest.raises(Contradiction):
            experiment.tell(decision, goal="order", value=5.0)


def test_track_credits_the_latest_decision_of_the_visitor() -> None:
    with shop(None) as experiment:
        first = experiment.ask(visitor="ann")
        assert experiment.track("ann", "order", 12.5).value == 12.5
        experiment.add_level("price", "none")
        second = experiment.ask(visitor="ann")
        assert second.number != first.number
        assert experiment.track("ann", "order", 7.0, key="o2").value == 7.0
        assert experiment.track("ann", "order", 7.0, key="o2").repeated
        assert experiment.track("ann", "click").clicked  # also the goal that steers
        assert experiment.track("bob", "order", 3.0, key="o3").status == "unmatched"
        assert experiment.track("bob", "order", 3.0, key="o3").repeated
        orders = experiment.report().goals[0]
        assert orders.unmatched == 1
        assert sum(each.total for each in orders.levels if each.factor == "page") == 19.5


def test_an_amount_can_steer() -> None:
    watch = Clock()
    goals = {"order": {"kind": "amount", "cap": 10.0, "window": 60}}
    with shop(None, watch, goals=goals) as experiment:
        assert experiment.settings.outcomes.window == 60
        decisions = experiment.ask(200)
        for decision in decisions:
            experiment.tell(decision, value=3.0)
            assert experiment.tell(decision, goal="order", value=4.0).value == 7.0
        watch.now += 61 * SECOND
        report = experiment.report()
        clicks = report.outcomes["clicked"]  # binomial: off by more than four standard deviations once in 16,000 seeds
        assert abs(clicks - 140) <= 4 * np.sqrt(200 * 0.7 * 0.3)
        assert report.goals[0].steers
        assert report.goals[0].levels[0].total > 0
        with pytest.raises(InputError, match="value"):
            experiment.tell(experiment.ask(), clicked=True)


def test_an_amount_that_steers_is_not_said_to_be_clicks() -> None:
    with shop(None, goals={"order": {"kind": "amount", "cap": 10.0}}) as experiment:
        for decision, value in zip(experiment.ask(40), [10.0] * 5 + [0.0] * 35, strict=True):
            experiment.tell(decision, value=value)
        report = experiment.report()
        assert report.headline == "Not enough data yet: 5 of 40 visitors with 'order'."
        assert "clicks instead of" not in dataclasses.replace(report, even_clicks=12.0, leads=True).details


def test_an_amount_that_steers_without_a_window_is_told_once() -> None:
    with shop(None, goals={"order": {"kind": "amount", "cap": 10.0}}) as experiment:
        decision = experiment.ask()
        assert experiment.tell(decision, value=4.0).learned
        assert experiment.tell(decision, value=4.0).repeated
        with pytest.raises(Contradiction):
            experiment.tell(decision, value=5.0)
        assert experiment.tell(experiment.ask(), clicked=False).learned  # brought nothing
        assert fold_of(experiment).learned == 2


def busy(experiment: rankone.Experiment, clock: Clock, count: int = 300, seed: int = 0) -> list[Any]:
    """Let visitors come, order and send back, at odd times."""
    rng, decisions = np.random.default_rng(seed), []
    for _ in range(count):
        clock.now += int(rng.integers(1, 4 * SECOND))
        decisions.append(experiment.ask())
        for decision in rng.choice(np.array(decisions[-40:], object), 2):
            goal = str(rng.choice(["order", "order", "refund"]))
            source = "bot" if rng.random() < 0.2 else None
            if goal == "order" or not rng.integers(3):
                value = 1.0 if goal == "refund" else float(np.round(rng.lognormal(2.0, 1.0), 2))
                experiment.tell(decision, goal=goal, value=value, source=source)
        experiment.tell(decisions[-1], bool(rng.random() < 0.3))
    return decisions


def test_a_journal_read_again_gives_the_same_bits(tmp_path: Path) -> None:
    """In one go, from any stretch, from a snapshot in the middle, and after an archive."""
    watch = Clock()
    with shop(tmp_path / "shop.db", watch, context={"device": None}) as experiment:
        busy(experiment, watch, 150)
        middle, half = snapshot.save(fold_of(experiment)), fold_of(experiment).seq
        experiment.add_level("page", "newest")
        busy(experiment, watch, 150, seed=1)
        now = snapshot.save(fold_of(experiment))
    with Database(tmp_path / "shop.db") as database, database.reader() as storage:
        number = storage.number("shop")
        assert snapshot.save(replay(storage, number)) == now
        fold = begin(storage, number)
        assert snapshot.save(read_tail(storage, number, fold, 7)) == now
        known = from_snapshot(storage, number, half, middle)
        assert known is not None
        assert snapshot.save(read_tail(storage, number, known)) == now
    with Database(tmp_path / "shop.db") as database:
        moved = list(archive(database, "shop", tmp_path / "old", 0))
        assert moved
        found = list(examine(str(tmp_path / "shop.db"), tmp_path / "old"))
        assert [finding for finding in found if not finding.ok] == []
        with database.reader() as storage:
            assert replay(storage, number).goals.counts.tolist() == fold.goals.counts.tolist()  # type: ignore[union-attr]


def test_archived_decisions_can_still_be_told_until_their_windows_end(tmp_path: Path) -> None:
    watch = Clock()
    with shop(tmp_path / "shop.db", watch) as experiment:
        decision = experiment.ask()
        experiment.tell(decision, True)
        watch.now += 300 * SECOND
        list(archive(experiment.database, "shop", tmp_path / "old", 0))
        assert experiment.tell(decision, goal="refund").status == "held"


def test_a_key_counts_once_after_a_restart_and_an_archive(tmp_path: Path) -> None:
    watch = Clock()
    with shop(tmp_path / "shop.db", watch) as experiment:
        experiment.tell(experiment.ask(visitor="ann"), True)
        experiment.track("ann", "order", 5.0, key="one")
        experiment.track("bob", "order", 5.0, key="of nobody")
        experiment.tell_many([(each, False) for each in experiment.ask(50)])
    watch.now += 3000 * SECOND
    with shop(tmp_path / "shop.db", watch) as experiment:
        assert experiment.track("ann", "order", 5.0, key="one").repeated
        assert list(archive(experiment.database, "shop", tmp_path / "old", 0))
        assert experiment.ask(visitor="ann").number == 51  # a new decision: the old one is archived
        again = experiment.track("ann", "order", 5.0, key="one")
        assert (again.status, again.repeated) == ("held", True)
        assert experiment.track("bob", "order", 5.0, key="of nobody").repeated
        orders = experiment.report().goals[0]
        assert sum(each.total for each in orders.levels if each.factor == "page") == 5.0
        assert orders.unmatched == 1
        assert [finding for finding in examine(str(tmp_path / "shop.db"), tmp_path / "old") if not finding.ok] == []


def test_what_is_excluded_does_not_count(tmp_path: Path) -> None:
    watch = Clock()
    with shop(tmp_path / "shop.db", watch) as experiment, shop(tmp_path / "other.db", Clock()) as other:
        busy(experiment, watch)
        assert experiment.exclude(source="bot") > 0
        table = decisions_table(experiment.database, "shop")
        brought = np.minimum(table["goal_order"].fill_null(0.0).to_numpy(), 100.0)
        orders = experiment.report().goals[0]
        assert brought.sum() == pytest.approx(sum(each.total for each in orders.levels if each.factor == "page"))
        assert other.report().goals[0].levels[0].total == 0.0


def test_a_restart_goes_on_exactly(tmp_path: Path) -> None:
    watch, again = Clock(), Clock()
    with shop(tmp_path / "one.db", watch) as one:
        busy(one, watch, 200)
        whole = snapshot.contents(fold_of(one))
    rng_free = [name for name in whole if name != "facts"]
    with shop(tmp_path / "two.db", again) as two:
        busy(two, again, 200)
    with shop(tmp_path / "two.db", again) as two:
        assert all(np.array_equal(whole[name], snapshot.contents(fold_of(two))[name]) for name in rng_free)


def guarded(goal: dict[str, Any], rates: dict[str, float], auto: bool, rounds: int = 60) -> list[Any]:
    """Return reports of an experiment on prices, "high" clicked twice as often, whose other goal has these rates."""
    rng, watch, reports = np.random.default_rng(1), Clock(), []
    settings = {"goals": {"click": {}, "other": goal | {"window": 1}}, "stopping": {"auto": auto}, "aim": "decide"}
    with at(watch)("shop", factors={"price": ["low", "high"]}, db=None, seed=1, **settings) as experiment:
        for _ in range(rounds):
            decisions, requests = experiment.ask(100), []
            for decision in decisions:
                if rng.random() < rates[decision["price"]]:
                    requests.append(Tell(decision.id, goal="other", value=1.0))
                requests.append(Tell(decision.id, bool(rng.random() < (0.6 if decision["price"] == "high" else 0.3))))
            experiment.do(requests)
            watch.now += 2 * SECOND
            reports.append(experiment.report())
            if reports[-1].stopped:
                break
    return reports


def test_a_guardrail_holds_the_winner_back() -> None:
    """What leads on clicks is sent back three times as often: nobody is declared the winner any more."""
    goal = {"better": "less", "worse_by": 0.2}
    report = guarded(goal, {"low": 0.2, "high": 0.6}, auto=False)[-1]
    assert report.best == {"price": "high"}
    assert not report.decided
    assert report.confidence > 0.99
    assert report.goals[0].guardrail == "violated"
    assert report.goals[0].holds_back
    assert "Guardrail 'other' is violated" in " ".join(report.warnings)
    assert report.headline.endswith("but guardrail 'other' does not allow a winner yet.")
    assert report.error_rate == 0.025  # half of it is the guardrail's
    stopped = guarded(goal | {"must_clear": True}, {"low": 0.2, "high": 0.6}, auto=True, rounds=30)[-1]
    assert stopped.stopped is None
    assert stopped.goals[0].guardrail == "violated"


def test_a_guardrail_that_changes_is_an_event_of_the_journal(tmp_path: Path) -> None:
    """Violated once, cleared once: each is one event, whoever reads the journal, and a restart writes none."""
    for rates, status in (({"low": 0.2, "high": 0.6}, "violated"), ({"low": 0.5, "high": 0.2}, "cleared")):
        watch, rng = Clock(), np.random.default_rng(1)
        settings = {"goals": {"click": {}, "other": {"better": "less", "worse_by": 0.2, "window": 1}}, "aim": "decide"}
        db = tmp_path / f"{status}.db"
        with at(watch)("shop", factors={"price": ["low", "high"]}, db=db, seed=1, **settings) as experiment:
            for _ in range(30):
                requests: list[Any] = []
                for decision in experiment.ask(100):
                    if rng.random() < rates[decision["price"]]:
                        requests.append(Tell(decision.id, goal="other", value=1.0))
                    requests.append(
                        Tell(decision.id, bool(rng.random() < (0.6 if decision["price"] == "high" else 0.3)))
                    )
                experiment.do(requests)
                watch.now += 2 * SECOND
            before = experiment.changes()
            assert [change.kind for change in before] == ["create", f"guardrail {status}"]
            assert before[1].what == f"guardrail 'other' {status}; leading: price 'high'"
            report = experiment.report()
            told = report.goals[0]
            assert (told.guardrail, told.since, told.event) == (status, before[1].at, before[1].seq)
            kept = snapshot.contents(fold_of(experiment))
        with at(watch)("shop", factors={"price": ["low", "high"]}, db=db, seed=1, **settings) as again:
            assert again.changes() == before
            assert again.report().goals == report.goals
            assert bytes(snapshot.contents(fold_of(again))["facts"]) == bytes(kept["facts"])
            guards = fold_of(again).guards["other"]
            assert (guards["seq"], guards["times"], guards["status"]) == (before[1].seq, 1, status)
        assert all(finding.ok for finding in examine(db))


def test_a_guardrail_is_not_cleared_while_nothing_leads() -> None:
    with shop(None) as experiment:
        for decision in experiment.ask(3):
            experiment.tell(decision, True)
        report = experiment.report()
        assert [goal.guardrail for goal in report.goals if goal.worse_by is not None] == ["open"]
        assert "is cleared" not in str(report)


def test_a_violation_that_is_over_is_an_event(tmp_path: Path) -> None:
    """The level that was sent back too often is retired: what leads now is the baseline itself."""
    watch, rng = Clock(), np.random.default_rng(1)
    settings = {"goals": {"click": {}, "other": {"better": "less", "worse_by": 0.2, "window": 1}}, "aim": "decide"}
    with at(watch)("shop", factors={"price": ["low", "high", "mid"]}, db=None, seed=1, **settings) as experiment:
        for turn in range(60):
            requests: list[Any] = []
            for decision in experiment.ask(100):
                if rng.random() < (0.6 if decision["price"] == "high" else 0.2):
                    requests.append(Tell(decision.id, goal="other", value=1.0))
                requests.append(Tell(decision.id, bool(rng.random() < (0.6 if decision["price"] == "high" else 0.3))))
            experiment.do(requests)
            watch.now += 2 * SECOND
            if turn == 30:
                experiment.retire_level("price", "high")
        kinds = [change.kind for change in experiment.changes() if change.kind.startswith("guardrail")]
        assert experiment.report().goals[0].guardrail == kinds[-1].removeprefix("guardrail ")
    assert "guardrail violated" in kinds[:-1]
    assert kinds[-1] in ("guardrail open", "guardrail cleared")
    assert all(one != other for one, other in itertools.pairwise(kinds))  # each says something new


def test_a_guardrail_that_must_be_cleared_is_waited_for() -> None:
    goal = {"better": "more", "worse_by": 0.3, "must_clear": True}
    reports = guarded(goal, {"low": 0.4, "high": 0.4}, auto=True)
    seen = [(each.confidence > 0.98, each.goals[0].guardrail, each.stopped is not None) for each in reports]
    assert (True, "open", False) in seen  # there would be a winner already
    assert seen[-1] == (True, "cleared", True)


@pytest.mark.parametrize(
    "goals",
    [
        {},
        {"order": {"kind": "amount"}},
        {"click": {"cap": 3}},
        {"click": {"kind": "revenue"}},
        {"refund": {"better": "less"}},
        {"click": {}, "refund": {"worse_by": 0.1}},
        {"click": {}, "refund": {"better": "less", "must_clear": True}},
        {"click": {"windw": 3}},
        {"click": {"window": 0}},
        {f"goal {index}": {} for index in range(9)},
    ],
)
def test_goals_that_make_no_sense_are_refused(goals: Any) -> None:
    with pytest.raises(InputError):
        checked_goals(goals)


def test_settings_with_goals_are_found_again(tmp_path: Path) -> None:
    shop(tmp_path / "shop.db").close()
    shop(tmp_path / "shop.db").close()
    with pytest.raises(InputError, match="goals"):
        shop(tmp_path / "shop.db", goals={"click": {}})


def test_a_value_may_be_left_out_but_not_of_an_amount() -> None:
    with shop(None) as experiment:
        decision = experiment.ask(visitor="ann")
        assert experiment.tell(decision, goal="refund").value == 1.0
        for tell in (lambda: experiment.tell(decision, goal="order"), lambda: experiment.track("ann", "order")):
            with pytest.raises(InputError, match="a value for the goal 'order'"):
                tell()
        assert "Guardrail 'refund': not enough data yet" in str(experiment.report())  # nothing leads


def test_the_report_is_the_same_when_it_was_sent() -> None:
    with shop(None) as experiment:
        experiment.tell(experiment.ask(), goal="order", value=5.0)
        report = experiment.report()
        assert Report.of_dict(report.to_dict()) == report
        assert "Goal 'order', capped at 100, more is better:" in str(report)
