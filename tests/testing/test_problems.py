"""The suites of problems and families find what is wrong, and say so."""

from typing import NamedTuple

import numpy as np
import pytest

from rankone.errors import ConformanceError, InputError
from rankone.kernels.world import loss, respond
from rankone.problems import Problem, base, family, registry
from rankone.testing import FamilySuite, ProblemSuite


@pytest.fixture(autouse=True)
def _forget(monkeypatch):
    """Names that are registered here are unknown elsewhere."""
    for known in (base._KINDS, registry._FAMILIES):
        known.known()
        monkeypatch.setattr(known, "_things", dict(known._things))
        monkeypatch.setattr(known, "_origins", dict(known._origins))


def answer(world, shown, outcome, rng):
    outcome[0] = 1 if rng.random() < world.rates[shown[0], shown[1]] else 0
    return True


def gap(world, shown):
    return 0.8 - world.rates[shown[0], shown[1]]


def make(name, responding=answer, losing=gap, **members):
    """A problem of six rates that is right but for what is given."""
    world_class = NamedTuple(f"{name.title()}World", [("rates", np.ndarray)])  # noqa: UP014 - its name varies
    respond.register(world_class)(responding)
    loss.register(world_class)(losing)
    rates = np.array([[0.8, 0.3, 0.5], [0.1, 0.6, 0.2]])
    body = {
        "kind": name,
        "name": name,
        "shape": (2, 3),
        "start": lambda self: world_class(rates.copy()),
        "to_dict": lambda self: {},
        "__module__": __name__,
    }
    return type(name.title(), (Problem,), body | members)(), world_class


def failure(test=None, suite=ProblemSuite, **tested):
    made = suite()
    for attribute, value in tested.items():
        setattr(made, attribute, value)
    with pytest.raises(ConformanceError, match=r"^Expected .*, but got .*. ") as found:
        suite.check(**tested) if test is None else getattr(made, test)()
    return str(found.value)


def test_a_problem_that_is_right_passes():
    ProblemSuite.check(problem=make("sound")[0])


def test_a_loss_below_zero():
    problem, _ = make("generous", losing=lambda world, shown: 0.5 - world.rates[shown[0], shown[1]])
    assert "no loss below 0, but got -0.3 for (0, 0). Return the expected reward of the best decision minus" in failure(
        problem=problem
    )


def test_a_best_decision_that_loses():
    problem, _ = make("strict", losing=lambda world, shown: 0.9 - world.rates[shown[0], shown[1]])
    assert "a loss of 0 for the best decision, but got 0.1" in failure(problem=problem)


def test_visitors_who_click_otherwise():
    def less(world, shown, outcome, rng):
        outcome[0] = 1 if rng.random() < 0.5 * world.rates[shown[0], shown[1]] else 0
        return True

    said = failure(problem=make("shy", responding=less)[0])
    assert "clicks, as `loss` says, but got" in said
    assert "Let both go by the same probabilities" in said


def test_a_world_that_moves_without_saying_so():
    def moving(world, shown, outcome, rng):
        world.rates[1, 2] *= 0.99
        outcome[0] = 0
        return True

    said = failure("test_what_does_not_move_stays", problem=make("sly", responding=moving)[0])
    assert "losses that stay in a world that does not move" in said


def test_randomness_of_its_own():
    def own(world, shown, outcome, rng):
        outcome[0] = 1 if np.random.random() < world.rates[shown[0], shown[1]] else 0  # noqa: NPY002
        return True

    said = failure("test_a_seed_repeats_the_visitors", problem=make("dicey", responding=own)[0])
    assert "the same clicks from the same seed, but got others. Draw from rng only" in said


def test_what_is_shown_changes():
    def swapping(world, shown, outcome, rng):
        shown[0] = 0
        return True

    said = failure("test_a_seed_repeats_the_visitors", problem=make("swapping", responding=swapping)[0])
    assert "what is shown to stay as it is in `respond`, but got it changed" in said


def test_a_world_that_runs_share():
    rates = np.zeros((2, 3))
    problem, world_class = make("common")
    type(problem).start = lambda self: world_class(rates)
    said = failure("test_the_world_is_plain_arrays", problem=problem)
    assert "a new array rates at every start(), or one that is read-only, but got one that two runs share" in said


def test_values_that_lead_nowhere():
    said = failure("test_plain_values_lead_back_to_it", problem=make("odd", to_dict=lambda self: {"rates": (1, 2)})[0])
    assert "plain values of <Odd odd: 2 x 3>, but got {'kind': 'odd', 'rates': (1, 2)}" in said


def test_a_policy_of_another_kind():
    suite = ProblemSuite()
    suite.problem = make("listed", decision_kind="list")[0]
    with pytest.raises(InputError, match="a policy that plays lists, as listed asks for, but got uniform"):
        suite.test_a_policy_plays_in_it()


def test_families():
    @family("test-drawn")
    def drawn(n_rows, n_cols, p=None):
        return np.random.default_rng().random(n_rows), np.random.default_rng().random(3)

    def said(test):
        return failure(test, FamilySuite, family="test-drawn")

    assert "a sentence about 'test-drawn', but got none. Begin the docstring" in said(
        "test_is_known_and_says_what_it_is"
    )
    assert "one problem 'test-drawn:4x3', but got two different ones" in said("test_is_the_same_every_time")
    assert "a problem of 1 x 1, but got (1, 3). Go by the two sizes" in said("test_makes_problems_of_any_size")
    assert "a family 'test-none', but got none. Write @family" in failure(suite=FamilySuite, family="test-none")
