"""Rewards other than clicks: rounded once, the same way whenever they are told, kept in the journal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rankone
from rankone.errors import Contradiction, InputError
from rankone.live import Database, Tell
from rankone.live.operate.export import decisions_table

from .helpers import Clock, at


def shop(db: Path | None, window: float | None = None, clock: Clock | None = None) -> rankone.Experiment:
    outcomes = {"reward_cap": 10.0, "window": window}
    return at(clock)("shop", 2, 2, policy="uniform", db=db, outcomes=outcomes, seed=3)


def test_rewards_are_rounded_with_the_right_probability() -> None:
    """The number of clicks is binomial: off by more than four standard deviations once in 16,000 seeds."""
    with shop(None) as experiment:
        for reward in (0.0, 2.5, 7.0, 10.0):
            told = [experiment.tell_many([(d, reward)], rewards=True)[0] for d in experiment.ask(400)]
            share = reward / 10.0
            clicks = sum(bool(outcome.clicked) for outcome in told)
            assert abs(clicks - 400 * share) <= 4 * np.sqrt(400 * share * (1 - share))


def test_a_reward_told_again_is_rounded_the_same_way(tmp_path: Path) -> None:
    with shop(tmp_path / "shop.db") as experiment:
        decisions = experiment.ask(200)
        first = [experiment.tell(decision, reward=5.0) for decision in decisions]
    assert {outcome.clicked for outcome in first} == {True, False}
    with shop(tmp_path / "shop.db") as experiment:  # from the journal, by another process say
        again = [experiment.tell(decision, reward=5.0) for decision in decisions]
        assert [outcome.clicked for outcome in again] == [outcome.clicked for outcome in first]
        assert all(outcome.repeated for outcome in again)
        clicked = next(outcome for outcome in first if outcome.clicked)
        with pytest.raises(Contradiction):
            experiment.tell(clicked.id, reward=0.0)
        report = experiment.report()
        assert "Rewards above 10 count as 10" in report.details
        assert report.outcomes["clicked"] == sum(bool(outcome.clicked) for outcome in first)


def test_in_one_batch_too() -> None:
    with shop(None) as experiment:
        decision = experiment.ask()
        first, second = experiment.do([Tell(decision.id, reward=4.0), Tell(decision.id, reward=4.0)])
        assert second == first._replace(repeated=True)


def test_what_was_told_is_exported(tmp_path: Path) -> None:
    with shop(tmp_path / "shop.db") as experiment:
        experiment.tell(experiment.ask(), reward=2.5)
        experiment.tell(experiment.ask(), clicked=True)
        experiment.ask()
    with Database(tmp_path / "shop.db") as database:
        table = decisions_table(database, "shop")
    assert table["reward"].to_list() == [2.5, None, None]
    assert table["clicked"][0] is not None


def test_with_a_window_the_reward_of_a_held_outcome_is_exported(tmp_path: Path) -> None:
    watch = Clock()
    with shop(tmp_path / "shop.db", window=60, clock=watch) as experiment:
        assert experiment.tell(experiment.ask(), reward=9.0).status == "held"
        watch.now += 100_000_000
        experiment.settle()
        assert experiment.report().outcomes["held"] == 0
    with Database(tmp_path / "shop.db") as database:
        assert decisions_table(database, "shop")["reward"].to_list() == [9.0]


@pytest.mark.parametrize("window", [None, 600.0])
def test_another_reward_told_later_is_a_contradiction(tmp_path: Path, window: float | None) -> None:
    """However both would be rounded; in one batch, from memory, and from the file once the decision is closed."""
    with shop(tmp_path / "shop.db", window) as experiment:
        one, other, plain = experiment.ask(3)
        told = experiment.do([Tell(one.id, reward=10.0), Tell(one.id, reward=9.99), Tell(one.id, reward=10.0)])
        assert isinstance(told[1], Contradiction)
        assert told[2].repeated
        experiment.tell(other, reward=0.0)
        experiment.tell(plain, clicked=True)
    with shop(tmp_path / "shop.db", window) as experiment:
        with pytest.raises(Contradiction, match=r"expected a reward of 0 again, or nothing - got 0.001"):
            experiment.tell(other.id, reward=0.001)
        with pytest.raises(Contradiction, match="expected no reward, as a click was told"):
            experiment.tell(plain.id, reward=10.0)
        assert experiment.tell(other.id, clicked=False).repeated, "a click as the reward was rounded"


def test_bad_rewards_are_refused() -> None:
    with shop(None) as experiment, rankone.Experiment("clicks", 2, 2, policy="uniform", db=None) as other:
        decision = experiment.ask()
        for reward in (-1.0, float("nan"), float("inf"), "much", True):
            with pytest.raises(InputError, match="expected a reward as a number of at least 0"):
                experiment.tell(decision, reward=reward)
        with pytest.raises(InputError, match="expected a reward from 0 to 10, the experiment's reward_cap - got 11"):
            experiment.tell(decision, reward=11)
        with pytest.raises(InputError, match="expected clicked or a reward - got both"):
            experiment.tell(decision, True, reward=1.0)
        with pytest.raises(InputError, match="expected clicked as True or False - got None"):
            experiment.tell(decision)
        with pytest.raises(InputError, match="as the experiment has no reward_cap - got a reward of 1"):
            other.tell(other.ask(), reward=1.0)
        assert experiment.report().outcomes["open"] == 1, "nothing was told"
    for cap in (0, -1.0, float("inf"), "10"):
        with pytest.raises(InputError, match="reward_cap above 0"):
            rankone.Experiment("shop", 2, 2, db=None, outcomes={"reward_cap": cap})
