"""Every old spelling still works, gives what the new one gives, and says what to write instead."""

import importlib
import warnings

import pytest

import rankone
from rankone.deprecation import old_positions
from rankone.errors import InputError
from rankone.policies import known_policies
from rankone.simulation.arena_problems import PROBLEMS
from tests import deprecated_uses
from tests.deprecated_uses import NAMES, USES


@pytest.mark.parametrize(("module", "old", "new"), NAMES)
def test_an_old_name_is_answered_by_the_new_one_and_says_so(module, old, new):
    home, _, name = new.rpartition(".")
    with pytest.warns(DeprecationWarning, match=f"^{module}.{old} is deprecated: use {new}$") as seen:
        assert getattr(importlib.import_module(module), old) is getattr(importlib.import_module(home), name)
    assert seen[0].filename == __file__, "the warning names the line that has to change"
    assert old not in importlib.import_module(module).__all__


def test_other_names_are_as_unknown_as_ever():
    with pytest.raises(AttributeError, match=r"module 'rankone\.clicks' has no attribute 'modle'"):
        _ = rankone.clicks.modle


@pytest.mark.parametrize("use", USES)
def test_what_is_said_the_old_way_does_what_it_did_and_says_how_to_say_it(use):
    found = USES[use]
    expected = found.new()
    with pytest.warns(DeprecationWarning, match="deprecated") as seen:
        assert found.old() == expected
    assert [str(each.message) for each in seen] == [found.told]
    assert seen[0].filename == deprecated_uses.__file__, "the warning names the line that has to change"


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


def test_a_third_list_of_numbers_is_refused_in_words_and_not_taken_for_names():
    with pytest.raises(InputError, match="expected two factors, rows and cols: a problem has no third one here"):
        rankone.RankOne([0.5, 0.2], [0.5, 0.1], [0.3, 0.2])


def test_the_order_of_an_arena_can_be_told():
    assert not {entry.name for entry in PROBLEMS} & set(known_policies())
