"""Every old spelling still works, gives what the new one gives, and says what to write instead."""

import importlib
import subprocess
import sys
import warnings

import pytest

import rankone
from rankone.deprecation import DROPPED_IN, old_positions
from rankone.errors import InputError
from rankone.old_modules import MOVED
from rankone.policies import known_policies
from rankone.simulation.arena_problems import PROBLEMS
from tests import deprecated_uses
from tests.deprecated_uses import NAMES, USES

OLD_WAY = " (0.3 drops the old way)"


@pytest.mark.parametrize(("module", "old", "new"), NAMES)
def test_an_old_name_is_answered_by_the_new_one_and_says_so(module, old, new):
    home, _, name = new.rpartition(".")
    with pytest.warns(DeprecationWarning, match=f"^{module}.{old} is deprecated: use {new} ") as seen:
        assert getattr(importlib.import_module(module), old) is getattr(importlib.import_module(home), name)
    assert seen[0].filename == __file__, "the warning names the line that has to change"
    assert old not in importlib.import_module(module).__all__


def test_the_version_that_drops_the_old_ways_is_the_next_but_has_not_come():
    major, minor = (int(part) for part in rankone.__version__.split(".")[:2])
    assert f"{major}.{minor + 1}" == DROPPED_IN


@pytest.mark.parametrize("old", MOVED)
def test_a_module_is_found_by_its_old_name(old):
    home = importlib.import_module(MOVED[old][0])
    name = next(name for name, thing in vars(home).items() if getattr(thing, "__module__", "") == home.__name__)
    with pytest.warns(DeprecationWarning, match=rf"^{old}\.{name} is deprecated: use {home.__name__}\.{name} ") as seen:
        assert getattr(importlib.import_module(old), name) is getattr(home, name)
    assert seen[0].filename == __file__, "the warning names the line that has to change"
    with pytest.raises(AttributeError, match=f"module '{old}' has no attribute 'no_such_name'"):
        _ = importlib.import_module(old).no_such_name


# As CONTRIBUTING.md and docs/your-own-policy.md of 0.1 said that a policy is written.
POLICY_OF_0_1 = """
import pickle
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

import rankone
from rankone.clicks.counts import Counts
from rankone.numerics.compiled import kernel, lean
from rankone.policies.base import Policy, check_sizes
from rankone.policies.kernels import FILLER, choose, settled, update
from rankone.policies.race import race
from rankone.policies.uts import *


class OldState(NamedTuple):
    pulls: np.ndarray


@dataclass(frozen=True)
class Old(Policy):
    name: ClassVar[str] = "of-0.1"

    def start(self, n_rows: int, n_cols: int) -> OldState:
        check_sizes(n_rows, n_cols)
        return OldState(np.zeros((n_rows, n_cols)))


@lean
def least(pulls: Any) -> int:
    found = 0
    for place in range(pulls.size):
        if pulls.flat[place] < pulls.flat[found]:
            found = place
    return found


@choose.register(OldState)
def _choose(state: Any, rng: Any) -> tuple[int, int, int]:
    place = least(state.pulls)
    return place // state.pulls.shape[1], place % state.pulls.shape[1], 0


@update.register(OldState)
def _update(state: Any, row: int, col: int, tag: int, reward: int) -> None:
    if tag != FILLER:
        state.pulls[row, col] += 1


agent = rankone.policy("of-0.1").agent(2, 2, 3)
for _ in range(4):
    agent.tell(agent.ask(), reward=1)
assert agent.state.pulls.tolist() == [[1, 1], [1, 1]]
study = rankone.simulate(rankone.RankOne([0.5, 0.1], [0.5, 0.1]), Old(), 40, 1, workers=1)
assert abs(study.summary()["regret_mean"][0] - 10 * (0.25 * 3 - 0.05 - 0.05 - 0.01)) < 1e-9
assert race(agent.state) is None and UTS is rankone.UTS
assert pickle.loads(b"crankone.policies.uts\\nUTS\\n.") is rankone.UTS
assert Counts is rankone.clicks.Counts
"""


def test_a_policy_written_for_the_last_version_still_runs_and_hears_what_to_write(tmp_path):
    script = tmp_path / "policy_of_0_1.py"
    script.write_text(POLICY_OF_0_1)
    ended = subprocess.run([sys.executable, "-W", "always", script], capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    told = [line for line in ended.stderr.splitlines() if "DeprecationWarning" in line]
    assert all(line.startswith(f"{script}:") for line in told), "each names a line that has to change"
    for old, new in (
        ("policies.kernels.choose", "kernels.policy.choose"),
        ("numerics.compiled.lean", "compiling.compiled.noalloc"),
    ):
        assert any(f"rankone.{old} is deprecated: use rankone.{new} " in line for line in told)


def test_other_names_are_as_unknown_as_ever():
    with pytest.raises(AttributeError, match=r"module 'rankone\.clicks' has no attribute 'modle'"):
        _ = rankone.clicks.modle


@pytest.mark.parametrize("use", USES)
def test_what_is_said_the_old_way_does_what_it_did_and_says_how_to_say_it(use):
    found = USES[use]
    expected = found.new()
    with pytest.warns(DeprecationWarning, match="deprecated") as seen:
        assert found.old() == expected
    assert [str(each.message) for each in seen] == [found.told + OLD_WAY]
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
        "runs=, seed= by position in play() is deprecated: use their names" + OLD_WAY,
        "runs= by position in play() is deprecated: use runs= by name" + OLD_WAY,
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
