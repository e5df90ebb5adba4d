"""A policy that starts afresh on what is known: counts, but no tags."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import rankone
from rankone.errors import InputError
from rankone.kernels.policy import check_relearns, decide, learn, relearn
from tests.own_policies import own_policies


class HalvesState(NamedTuple):
    pulls: np.ndarray  # (2, K, L) by the half of the traffic that the tag names
    asked: np.ndarray


@dataclass(frozen=True)
class Halves(rankone.Policy):
    """Plays the first pair; the tag says to which half of the traffic a decision belongs."""

    name = "test-halves"

    def start(self, n_rows, n_cols):
        return HalvesState(np.zeros((2, n_rows, n_cols)), np.zeros(1, np.int64))


@decide.register(HalvesState)
def _decide(state, context, rng, shown):
    shown[0] = shown[1] = 0
    state.asked[0] += 1
    return state.asked[0] % 2


@learn.register(HalvesState)
def _learn(state, shown, tag, outcome):
    state.pulls[tag, shown[0], shown[1]] += 1


class PatientHalvesState(HalvesState):
    pass


class PatientHalves(Halves):
    name = "test-patient-halves"

    def start(self, n_rows, n_cols):
        return PatientHalvesState(*super().start(n_rows, n_cols))


@relearn.register(PatientHalvesState)
def _relearn(state, shown, pulls, clicks):
    state.pulls[0, shown[0], shown[1]] += pulls


def test_a_policy_that_cannot_relearn_does_not_go_live(tmp_path):
    said = r"Expected a kernel 'relearn' for the state HalvesState, but got none. Register one: @relearn.register"
    with pytest.raises(InputError, match=said):
        rankone.Experiment("new", 2, 2, policy=Halves(), db=tmp_path / "halves.db")
    agent = Halves().agent(2, 2)  # an agent never starts afresh
    agent.tell(agent.ask(), 1)
    assert agent.state.pulls[1, 0, 0] == 1


def test_with_a_relearn_of_its_own_it_goes_live(tmp_path):
    settings = {"policy": PatientHalves(), "seed": 1}  # with other seeds one of the three may be explored
    with rankone.Experiment("new", 2, 2, db=tmp_path / "halves.db", **settings) as experiment:
        for _ in range(3):
            experiment.tell(experiment.ask(), True)
        experiment.add_level("row", "another")
        assert experiment.look(lambda fold: fold.state.pulls[:, 0, 0].tolist()) == [3.0, 0.0]


@pytest.mark.parametrize("name", own_policies())
def test_every_policy_of_the_package_goes_live(name):
    check_relearns(type(rankone.as_policy(name).with_horizon(100).for_problem(0, 0).start(2, 2)))


def test_what_goes_together_is_registered_together():
    class Speechless(NamedTuple):
        nothing: np.ndarray

    state = Speechless(np.zeros(1))
    with pytest.raises(InputError, match="Expected a kernel 'decide' for the state Speechless"):
        decide(state, None, None, [0, 0])
    with pytest.raises(InputError, match="Expected a kernel 'learn' for the state Speechless"):
        learn(state, [0, 0], 0, [0])
