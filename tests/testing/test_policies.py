"""The suite of policies finds what is wrong with a policy, and says so."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from rankone.errors import ConformanceError, InputError
from rankone.kernels.policy import choose, settled, update
from rankone.policies import base
from rankone.policies.base import Policy, check_sizes
from rankone.testing import PolicySuite


@pytest.fixture(autouse=True)
def _forget(monkeypatch):
    """Names that are registered here are unknown elsewhere."""
    monkeypatch.setattr(base._POLICIES, "_things", dict(base._POLICIES.known()))
    monkeypatch.setattr(base._POLICIES, "_origins", dict(base._POLICIES._origins))


def greedy(state, rng):
    n_rows, n_cols = state.pulls.shape
    if rng.random() < 0.1:
        return int(rng.random() * n_rows), int(rng.random() * n_cols), 0
    best, row, col = -1.0, 0, 0
    for i in range(n_rows):
        for j in range(n_cols):
            index = (state.clicks[i, j] + rng.random()) / (state.pulls[i, j] + 1.0)
            if index > best:
                best, row, col = index, i, j
    state.last[0], state.last[1] = row, col
    return row, col, 0


def count(state, row, col, tag, reward):
    state.pulls[row, col] += 1
    state.clicks[row, col] += reward


def make(name, choosing: Any = greedy, updating: Any = count, **members):
    """A policy that is right but for what is given."""
    fields = [("pulls", np.ndarray), ("clicks", np.ndarray), ("last", np.ndarray)]
    state_class = NamedTuple(f"{name.title()}State", fields)
    choose.register(state_class)(choosing)
    if updating is not None:
        update.register(state_class)(updating)

    def start(self, n_rows, n_cols):
        check_sizes(n_rows, n_cols)
        return state_class(np.zeros((n_rows, n_cols)), np.zeros((n_rows, n_cols)), np.zeros(2, np.int64))

    body = {"__doc__": "A policy.", "suits": "a test", "start": start, **members}
    body["__annotations__"] = {"name": ClassVar[str], **members.get("__annotations__", {})}
    return dataclass(frozen=True)(
        type(name.title(), (Policy,), {"name": name, "__module__": __name__, **body})
    ), state_class


def failure(policy, test=None, error=ConformanceError):
    """What the suite, or one test of it, says about a policy."""
    suite = PolicySuite()
    suite.policy = policy
    with pytest.raises(error, match=r"^expected .* - got .* - ") as found:
        suite.check(policy=policy) if test is None else getattr(suite, test)()
    return str(found.value)


def test_a_policy_that_is_right_passes():
    PolicySuite.check(policy=make("right")[0]())


def test_choices_out_of_range():
    said = failure(make("outside", choosing=lambda state, rng: (0, state.pulls.shape[1], 0))[0]())
    assert "a level of each factor, from 0 on and below 1, 1 - got (0, 1) - see what `choose` returns" in said


def test_no_update():
    said = failure(make("deaf", updating=None)[0](), error=InputError)
    assert "'update' for the state DeafState - got none - register one" in said


def test_an_update_that_learns_nothing():
    def nothing(state, row, col, tag, reward):
        state.pulls[row, col] += 1

    said = failure(make("stubborn", updating=nothing)[0](), "test_finds_what_is_clicked")
    assert "the pair (1, 2), which alone is clicked, in most decisions - got " in said


def test_outcomes_that_are_filed_under_the_last_decision():
    def to_the_last(state, row, col, tag, reward):
        state.pulls[state.last[0], state.last[1]] += 1
        state.clicks[state.last[0], state.last[1]] += reward

    policy = make("hasty", updating=to_the_last)[0]()
    said = failure(policy, "test_an_outcome_is_filed_under_its_own_decision")
    assert "let `update` go by its row, column and tag, not by the last decision" in said


def test_tags_that_nobody_remembers():
    def by_tag(state, row, col, tag, reward):
        state.pulls[row, col] += tag

    policy = make("forgetful", updating=by_tag)[0]()
    said = failure(policy, "test_starts_afresh_on_what_is_known", error=InputError)
    assert "a kernel 'recall' for the state ForgetfulState - got none" in said


def test_waiting_for_an_outcome_that_never_comes():
    def patient(state, rng):
        if state.last[0] > state.last[1]:  # more asked than told
            return 0, 0, 0
        state.last[0] += 1
        return int(rng.random() * state.pulls.shape[0]), int(rng.random() * state.pulls.shape[1]), 0

    def tick(state, row, col, tag, reward):
        state.last[1] += 1

    policy = make("patient", choosing=patient, updating=tick)[0]()
    said = failure(policy, "test_finds_it_when_outcomes_are_late_or_missing")
    assert "wait for no outcome before the next decision: it may never come" in said


def test_randomness_of_its_own():
    def own(state, rng):
        return int(np.random.random() * state.pulls.shape[0]), int(rng.random() * state.pulls.shape[1]), 0  # noqa: NPY002

    policy = make("dicey", choosing=own)[0]()
    assert "the same decisions from a copy of the state" in failure(policy, "test_a_copied_state_goes_on_the_same")
    said = failure(policy, "test_a_journal_is_replayed_bit_for_bit")
    assert "the same decisions when the journal is replayed - got another one at event" in said


def test_parameters_that_change():
    kind, state_class = make("restless", __annotations__={"starts": int}, starts=0)

    def start(self, n_rows, n_cols):
        check_sizes(n_rows, n_cols)
        object.__setattr__(self, "starts", self.starts + 1)
        return state_class(np.zeros((n_rows, n_cols)), np.zeros((n_rows, n_cols)), np.zeros(2, np.int64))

    kind.start = start
    said = failure(kind(), "test_playing_changes_no_parameter")
    assert "the parameters {'starts': 0} after playing - got {'starts': 1} - keep what changes in the state" in said


def test_settled_too_early():
    kind, state_class = make("premature")
    settled.register(state_class)(lambda state: True)
    assert "one decision for ever after `settled` - got {(" in failure(kind(), "test_once_settled_it_stays")


def test_a_state_that_runs_share():
    kind, state_class = make("shared")
    pulls = np.zeros((3, 4))
    kind.start = lambda self, n_rows, n_cols: state_class(pulls, np.zeros((n_rows, n_cols)), np.zeros(2, np.int64))
    said = failure(kind(), "test_the_state_is_plain_arrays")
    assert "pulls at every start(), or one that is read-only - got one that two runs share - make a copy" in said


@pytest.mark.parametrize(
    ("members", "test", "said"),
    [
        ({"suits": ""}, "test_says_what_it_is_and_what_it_suits", "a text Lacking.suits - got  - say in a few words"),
        ({"__doc__": "A policy"}, "test_says_what_it_is_and_what_it_suits", "a whole sentence - got A policy - say"),
        ({"__doc__": None}, "test_says_what_it_is_and_what_it_suits", "a whole sentence - got Lacking() - say"),
        ({"start": lambda self, n_rows, n_cols: None}, "test_the_state_is_plain_arrays", "a NamedTuple from start()"),
        (
            {"start": lambda self, n_rows, n_cols: None},
            "test_sizes_that_cannot_be_are_refused",
            "0 x 3 rows and columns to be refused with InputError - got no error",
        ),
        (
            {"__annotations__": {"sides": list}, "sides": ()},
            "test_the_label_leads_back_to_the_policy",
            "parameters of Lacking(sides=()) that JSON keeps - got {'sides': ()}",
        ),
    ],
    ids=["suits", "sentence", "docstring", "state", "sizes", "parameters"],
)  # fmt: skip
def test_what_is_missing(members, test, said):
    assert said in failure(make("lacking", **members)[0](), test)
