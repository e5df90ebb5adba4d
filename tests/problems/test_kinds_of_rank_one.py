"""A subclass of `RankOne` with a world of its own is a problem of its own: for seeds, for stored runs and for workers."""

from typing import ClassVar, NamedTuple

import cloudpickle
import numpy as np
import pytest

import rankone
from rankone.errors import InputError
from rankone.kernels.world import loss, respond
from rankone.problems.base import problem_from_dict, problem_to_dict
from tests.kinds import Factors


class LazyWorld(NamedTuple):
    rates: np.ndarray


class Lazy(rankone.RankOne):
    """Nobody ever clicks."""

    kind: ClassVar[str] = "test-lazy"

    def start(self):
        return LazyWorld(self.means)


@respond.register(LazyWorld)
def _respond(world, shown, outcome, rng):
    outcome[0] = 0
    return True


@loss.register(LazyWorld)
def _loss(world, shown):
    return 0.0


def test_it_is_told_from_a_plain_one_and_comes_back_as_itself():
    plain, lazy = rankone.RankOne([0.9, 0.5], [0.8]), Lazy([0.9, 0.5], [0.8])
    assert lazy.digest != plain.digest == "61d98a3242bf4fde"
    assert lazy.name.startswith("test-lazy:2x1:")
    for found in (cloudpickle.loads(cloudpickle.dumps(lazy)), problem_from_dict(problem_to_dict(lazy))):
        assert type(found) is Lazy
        assert found.digest == lazy.digest


def test_workers_play_in_its_world():
    one, two = (
        rankone.simulate(Lazy([0.9, 0.5], [0.8, 0.1]), "uts", horizon=200, runs=2, workers=workers)
        for workers in (1, 2)
    )
    assert one.table["regret"].max() == 0.0
    assert two.table.equals(one.table)


def test_another_world_needs_another_kind():
    with pytest.raises(
        InputError,
        match="Expected a kind of its own of Nameless, whose world is another, but got only its base has one",
    ):

        class Nameless(rankone.RankOne):
            def start(self):
                return LazyWorld(self.means)


def test_files_hold_problems_of_any_kind(tmp_path):
    factors = Factors([[0.9, 0.5], [0.8, 0.3], [0.7, 0.2]])
    rankone.save_problem(factors, tmp_path / "one.json")
    rankone.save_problems([factors], tmp_path / "all.json")
    assert rankone.as_problem(str(tmp_path / "one.json")) == factors
    assert (tmp_path / "all.json").exists()
