"""What can be said under a policy that tells no probabilities of its decisions, or wrong ones."""

import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rankone.kernels.policy import FILLER, chance, decide, learn, relearn
from rankone.live import Database, Experiment
from rankone.policies import Policy

from .helpers import error_of
from .visits import COLS, ROWS, live, visit


class SilentState(NamedTuple):
    sizes: Any


@dataclasses.dataclass(frozen=True)
class Silent(Policy):
    """Plays the first pair, and says no probabilities."""

    name: ClassVar[str] = "silent-player"
    use_when: ClassVar[str] = "nothing"

    def start(self, n_rows, n_cols):
        return SilentState(np.array([n_rows, n_cols]))


@decide.register(SilentState)
def _decide_first(state, context, rng, shown):
    shown[0] = shown[1] = 0
    return FILLER


@learn.register(SilentState)
def _learn_nothing(state, shown, tag, outcome):
    pass


@relearn.register(SilentState)
def _relearn_nothing(state, shown, pulls, clicks):
    pass


def test_what_explores_can_be_compared_where_the_policy_says_no_probabilities():
    with live(["A", "B"], ["x"], policy="silent-player", aim="both") as experiment:
        last = visit(experiment, [0.1, 0.9], [0.9], 800)[-1]
    assert (last.basis, last.best["row"], last.decided) == ("any", "B", True)
    with live(["A", "B"], ["x"], policy="silent-player", explore=0) as experiment:
        assert visit(experiment, [0.1, 0.9], [0.9], 200)[-1].basis == "steady"


class LiarState(NamedTuple):
    sizes: Any


@dataclasses.dataclass(frozen=True)
class Liar(Policy):
    """Says that every pair is as good as certain."""

    name: ClassVar[str] = "liar"
    use_when: ClassVar[str] = "nothing"

    def start(self, n_rows, n_cols):
        return LiarState(np.array([n_rows, n_cols]))


@decide.register(LiarState)
def _decide(state, context, rng, shown):
    shown[0], shown[1] = int(rng.random() * state.sizes[0]), 0
    return FILLER


learn.register(LiarState)(_learn_nothing)
relearn.register(LiarState)(_relearn_nothing)


@chance.register(LiarState)
def _chance(state, shown):
    return 0.9


def test_probabilities_that_do_not_sum_to_1_are_refused():
    with Database(None) as database:
        error = error_of(Experiment, "homepage", ROWS, COLS, Liar(), database)
        assert error.expected == "probabilities of 'liar' of all pairs that sum to 1"
        assert list(database.names()) == []
