"""What can be said under a policy that tells no probabilities of its decisions, or wrong ones."""

import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rankone.kernels.policy import FILLER, chance, choose, update
from rankone.policies import Policy
from rankone.serving import Database, Experiment

from .helpers import error_of
from .visits import COLS, ROWS, live, visit


class SilentState(NamedTuple):
    sizes: Any


@dataclasses.dataclass(frozen=True)
class Silent(Policy):
    """Plays the first pair, and says no probabilities."""

    name: ClassVar[str] = "silent-player"
    suits: ClassVar[str] = "nothing"

    def start(self, n_rows, n_cols):
        return SilentState(np.array([n_rows, n_cols]))


@choose.register(SilentState)
def _choose_first(state, rng):
    return 0, 0, FILLER


@update.register(SilentState)
def _learn_nothing(state, row, col, tag, reward):
    pass


def test_what_explores_can_be_compared_where_the_policy_says_no_probabilities():
    with live(["A", "B"], ["x"], policy="silent-player", goal="both") as experiment:
        last = visit(experiment, [0.1, 0.9], [0.9], 800)[-1]
    assert (last.basis, last.best_row, last.decided) == ("any", "B", True)
    with live(["A", "B"], ["x"], policy="silent-player", explore=0) as experiment:
        assert visit(experiment, [0.1, 0.9], [0.9], 200)[-1].basis == "steady"


class LiarState(NamedTuple):
    sizes: Any


@dataclasses.dataclass(frozen=True)
class Liar(Policy):
    """Says that every pair is as good as certain."""

    name: ClassVar[str] = "liar"
    suits: ClassVar[str] = "nothing"

    def start(self, n_rows, n_cols):
        return LiarState(np.array([n_rows, n_cols]))


@choose.register(LiarState)
def _choose(state, rng):
    return int(rng.random() * state.sizes[0]), 0, FILLER


@update.register(LiarState)
def _update(state, row, col, tag, reward):
    pass


@chance.register(LiarState)
def _chance(state, shown):
    return 0.9


def test_probabilities_that_do_not_sum_to_1_are_refused():
    with Database(None) as database:
        error = error_of(Experiment, "homepage", ROWS, COLS, Liar(), database)
        assert error.expected == "probabilities of 'liar' of all pairs that sum to 1"
        assert list(database.names()) == []
