"""The suite of policies finds what is wrong with a policy, and says so."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from rankone.errors import ConformanceError, InputError
from rankone.kernels.policy import decide, learn, relearn, settled
from rankone.policies import base
from rankone.policies.base import Policy, check_sizes
from rankone.testing import PolicySuite


@pytest.fixture(autouse=True)
def _forget(monkeypatch):
    """Names that are registered here are unknown elsewhere."""
    monkeypatch.setattr(base._POLICIES, "_things", dict(base._POLICIES.known()))
    monkeypatch.setattr(base._POLICIES, "_origins", dict(base._POLICIES._origins))


def greedy(state, context, rng, shown):
    n_rows, n_cols = state.pulls.shape
    shown[0], shown[1] = int(rng.random() * n_rows), int(rng.random() * n_cols)
    if rng.random() < 0.1:
        return 0
    best = -1.0
    for row in range(n_rows):
        for col in range(n_cols):
            index = (state.clicks[row, col] + rng.random()) / (state.pulls[row, col] + 1.0)
            if index > best:
                best, shown[0], shown[1] = index, row, col
    state.last[0], state.last[1] = shown[0], shown[1]
    return 0


def count(state, shown, tag, outcome):
    state.pulls[shown[0], shown[1]] += 1
    state.clicks[shown[0], shown[1]] += outcome[0]


def count_known(state, shown, pulls, clicks):
    state.pulls[shown[0], shown[1]] += pulls
    state.clicks[shown[0], shown[1]] += clicks


def make(name, deciding: Any = greedy, learning: Any = count, relearning: Any = count_known, **members):
    """A policy that is right but for what is given."""
    fields = [("pulls", np.ndarray), ("clicks", np.ndarray), ("last", np.ndarray)]
    state_class = NamedTuple(f"{name.title()}State", fields)
    for kernel, function in ((decide, deciding), (learn, learning), (relearn, relearning)):
        if function is not None:
            kernel.register(state_class)(function)

    def start(self, n_rows, n_cols):
        check_sizes(n_rows, n_cols)
        return state_class(np.zeros((n_rows, n_cols)), np.zeros((n_rows, n_cols)), np.zeros(2, np.int64))

    body = {"__doc__": "A policy.", "use_when": "a test", "start": start, **members}
    body["__annotations__"] = {"name": ClassVar[str], **members.get("__annotations__", {})}
    return dataclass(frozen=True)(
        type(name.title(), (Policy,), {"name": name, "__module__": __name__, **body})
    ), state_class


def failure(policy, test=None, error=ConformanceError):
    """What the suite, or one test of it, says about a policy."""
    suite = PolicySuite()
    suite.policy = policy
    with pytest.raises(error, match=r"^Expected .*, but got .*. ") as found:
        suite.check(policy=policy) if test is None else getattr(suite, test)()
    return str(found.value)


def test_a_policy_that_is_right_passes():
    PolicySuite.check(policy=make("right")[0]())


def test_choices_out_of_range():
    def outside(state, context, rng, shown):
        shown[0], shown[1] = 0, state.pulls.shape[1]
        return 0

    said = failure(make("outside", deciding=outside)[0]())
    assert "a level of each factor, from 0 on and below 1, 1, but got (0, 1). See what `decide` fills in" in said


def test_no_learning():
    said = failure(make("deaf", learning=None)[0](), error=InputError)
    assert "'learn' for the state DeafState, but got none. Register one" in said


def test_learning_nothing():
    def nothing(state, shown, tag, outcome):
        state.pulls[shown[0], shown[1]] += 1

    said = failure(make("stubborn", learning=nothing)[0](), "test_finds_what_is_clicked")
    assert "the pair (1, 2), which alone is clicked, in most decisions, but got " in said


def test_outcomes_that_are_filed_under_the_last_decision():
    def to_the_last(state, shown, tag, outcome):
        state.pulls[state.last[0], state.last[1]] += 1
        state.clicks[state.last[0], state.last[1]] += outcome[0]

    policy = make("hasty", learning=to_the_last)[0]()
    said = failure(policy, "test_an_outcome_is_filed_under_its_own_decision")
    assert "Let `learn` go by what was shown and its tag, not by the last decision" in said


def test_nothing_to_start_afresh_with():
    policy = make("forgetful", relearning=None)[0]()
    said = failure(policy, "test_starts_afresh_on_what_is_known", error=InputError)
    assert "a kernel 'relearn' for the state ForgetfulState, but got none" in said


def test_a_context_that_the_policy_does_not_say_it_looks_at():
    def curious(state, context, rng, shown):
        shown[0], shown[1] = int(context[0]), int(rng.random() * state.pulls.shape[1])
        return 0

    said = failure(make("curious", deciding=curious)[0](), "test_says_whether_it_looks_at_the_context")
    assert "Write uses_context = True" in said


def test_waiting_for_an_outcome_that_never_comes():
    def patient(state, context, rng, shown):
        shown[0] = shown[1] = 0
        if state.last[0] > state.last[1]:  # more asked than told
            return 0
        state.last[0] += 1
        shown[0], shown[1] = int(rng.random() * state.pulls.shape[0]), int(rng.random() * state.pulls.shape[1])
        return 0

    def tick(state, shown, tag, outcome):
        state.last[1] += 1

    policy = make("patient", deciding=patient, learning=tick)[0]()
    said = failure(policy, "test_finds_it_when_outcomes_are_late_or_missing")
    assert "Wait for no outcome before the next decision: it may never come" in said


def test_randomness_of_its_own():
    def own(state, context, rng, shown):
        shown[0], shown[1] = int(np.random.random() * state.pulls.shape[0]), int(rng.random() * state.pulls.shape[1])  # noqa: NPY002
        return 0

    policy = make("dicey", deciding=own)[0]()
    assert "the same decisions from a copy of the state" in failure(policy, "test_a_copied_state_goes_on_the_same")
    said = failure(policy, "test_a_journal_is_replayed_bit_for_bit")
    assert "the same decisions when the journal is replayed, but got another one at event" in said


def test_parameters_that_change():
    kind, state_class = make("restless", __annotations__={"starts": int}, starts=0)

    def start(self, n_rows, n_cols):
        check_sizes(n_rows, n_cols)
        object.__setattr__(self, "starts", self.starts + 1)
        return state_class(np.zeros((n_rows, n_cols)), np.zeros((n_rows, n_cols)), np.zeros(2, np.int64))

    kind.start = start
    said = failure(kind(), "test_playing_changes_no_parameter")
    assert "the parameters {'starts': 0} after playing, but got {'starts': 1}. Keep what changes in the state" in said


def test_settled_too_early():
    kind, state_class = make("premature")
    settled.register(state_class)(lambda state: True)
    assert "one decision for ever after `settled`, but got {(" in failure(kind(), "test_once_settled_it_stays")


def test_a_state_that_runs_share():
    kind, state_class = make("shared")
    pulls = np.zeros((3, 4))
    kind.start = lambda self, n_rows, n_cols: state_class(pulls, np.zeros((n_rows, n_cols)), np.zeros(2, np.int64))
    said = failure(kind(), "test_the_state_is_plain_arrays")
    assert "pulls at every start(), or one that is read-only, but got one that two runs share. Make a copy" in said


@pytest.mark.parametrize(
    ("members", "test", "said"),
    [
        (
            {"use_when": ""},
            "test_says_what_it_is_and_when_to_use_it",
            "a text Lacking.use_when, but got nothing. Say in a few words",
        ),
        ({"__doc__": "A policy"}, "test_says_what_it_is_and_when_to_use_it", "a whole sentence, but got A policy. Say"),
        ({"__doc__": None}, "test_says_what_it_is_and_when_to_use_it", "a whole sentence, but got Lacking(). Say"),
        ({"start": lambda self, n_rows, n_cols: None}, "test_the_state_is_plain_arrays", "a NamedTuple from start()"),
        (
            {"start": lambda self, n_rows, n_cols: None},
            "test_sizes_that_cannot_be_are_refused",
            "0 x 3 rows and columns to be refused with InputError, but got no error",
        ),
        (
            {"__annotations__": {"sides": list}, "sides": ()},
            "test_the_label_leads_back_to_the_policy",
            "parameters of Lacking(sides=()) that JSON keeps, but got {'sides': ()}",
        ),
    ],
    ids=["use_when", "sentence", "docstring", "state", "sizes", "parameters"],
)
def test_what_is_missing(members, test, said):
    assert said in failure(make("lacking", **members)[0](), test)
