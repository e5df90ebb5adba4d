"""Every old spelling still works, gives what the new one gives, and says what to write instead."""

import importlib
import tempfile
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import rankone
from rankone.deprecation import old_positions

MOVED = [
    "Best", "Challengers", "IMEDUB", "KLUCB", "KLUCBUB", "OSUB", "Rank1Elim", "Rank1ElimKLAnytime", "TopTwo",
    "UCB1Elim", "Uniform",
]  # fmt: skip
OLD_NAMES = [
    ("rankone", "policy", "rankone.as_policy"),
    ("rankone", "problem", "rankone.as_problem"),
    ("rankone.clicks", "model", "rankone.clicks.as_model"),
    ("rankone.policies", "Decision", "rankone.policies.AgentDecision"),
    ("rankone.policies", "policy", "rankone.policies.as_policy"),
    ("rankone.problems", "problem", "rankone.problems.as_problem"),
    *(("rankone", name, f"rankone.policies.{name}") for name in MOVED),
]


@pytest.mark.parametrize(("module", "old", "new"), OLD_NAMES)
def test_an_old_name_is_answered_by_the_new_one_and_says_so(module, old, new):
    home, _, name = new.rpartition(".")
    with pytest.warns(DeprecationWarning, match=f"^{module}.{old} is deprecated: use {new}$") as seen:
        assert getattr(importlib.import_module(module), old) is getattr(importlib.import_module(home), name)
    assert seen[0].filename == __file__, "the warning names the line that has to change"
    assert old not in importlib.import_module(module).__all__


def test_other_names_are_as_unknown_as_ever():
    with pytest.raises(AttributeError, match=r"module 'rankone\.clicks' has no attribute 'modle'"):
        _ = rankone.clicks.modle


class Use(NamedTuple):
    """Something said the old and the new way."""

    old: Callable[[], Any]
    new: Callable[[], Any]
    told: str


def told(**outcome):
    agent = rankone.UTS().agent(3, 3, seed=1)
    agent.tell(agent.ask(), **outcome)
    return [tuple(agent.ask()) for _ in range(5)]


def checked():
    return rankone.check_rank1(([[100, 100], [100, 100]], [[40, 10], [20, 6]]), simulations=20)


def live_report():
    with tempfile.TemporaryDirectory() as folder, rankone.Experiment("e", 2, 2, db=f"{folder}/live.db") as experiment:
        return experiment.report()


USES = {
    "Agent.tell(reward=)": Use(
        lambda: told(reward=1), lambda: told(clicked=True), "reward= in Agent.tell() is deprecated: use clicked="
    ),
    "Rank1Report.as_dict": Use(
        lambda: checked().as_dict(), lambda: checked().to_dict(), "Rank1Report.as_dict is deprecated: use to_dict"
    ),
    "Rank1Check.as_dict": Use(
        lambda: checked().checks[0].as_dict(), lambda: checked().checks[0].to_dict(),
        "Rank1Check.as_dict is deprecated: use to_dict",
    ),
    "Rank1Report.table": Use(
        lambda: checked().table().to_dicts(), lambda: checked().summary().to_dicts(),
        "Rank1Report.table is deprecated: use summary",
    ),
    "Report.as_dict": Use(
        lambda: live_report().as_dict(), lambda: live_report().to_dict(), "Report.as_dict is deprecated: use to_dict"
    ),
}  # fmt: skip


@pytest.mark.parametrize("use", USES)
def test_what_is_said_the_old_way_does_what_it_did_and_says_how_to_say_it(use):
    found = USES[use]
    expected = found.new()
    with pytest.warns(DeprecationWarning, match="deprecated") as seen:
        assert found.old() == expected
    assert [str(each.message) for each in seen] == [found.told]
    assert seen[0].filename == __file__, "the warning names the line that has to change"


@old_positions("runs", "seed")
def play(policy, *, runs=1, seed=0, quick=False):
    return policy, runs, seed, quick


def test_positions_that_were_there_before_are_understood_and_no_others():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert play("uts", 2, 3, quick=True) == ("uts", 2, 3, True)
        assert play("uts", 2, seed=3) == ("uts", 2, 3, False)
    assert [str(each.message) for each in seen] == [
        "runs=, seed= by position in play() is deprecated: use their names",
        "runs= by position in play() is deprecated: use runs= by name",
    ]
    with pytest.raises(TypeError, match="takes 1 positional argument but 4 were given"):
        play("uts", 2, 3, True)
    with pytest.raises(TypeError):
        play("uts", 2, runs=3)
    assert play("uts", runs=4) == ("uts", 4, 0, False)


def test_an_argument_has_one_of_its_two_names():
    agent = rankone.UTS().agent(2, 2)
    with pytest.raises(TypeError, match=r"Agent\.tell\(\) got both clicked and reward, its old name"):
        agent.tell(agent.ask(), clicked=True, reward=1)
