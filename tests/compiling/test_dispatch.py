"""Kernels by class of state: inheritance, defaults, what is said when one is missing, and the trip to a worker."""

import pickle
import re
from typing import NamedTuple

import numba
import numpy as np
import pytest

from rankone.compiling.dispatch import dispatched, optional
from rankone.errors import InputError


class Counter(NamedTuple):
    count: np.ndarray


class DoubleCounter(Counter):
    pass


class Stranger(NamedTuple):
    count: np.ndarray


@dispatched
def step(state):
    """Count."""


@optional
def is_done(state, limit):
    """Tell whether to stop; by default never."""
    return False


@step.register(Counter)
def _step(state):
    state.count[0] += 1


@step.register(DoubleCounter)
def _double_step(state):
    state.count[0] += 2


@is_done.register(Counter)
def _is_done(state, limit):
    return state.count[0] >= limit


@numba.njit
def run(state, limit, most):
    for taken in range(most):
        if is_done(state, limit):
            return taken
        step(state)
    return most


@pytest.mark.parametrize("run", [run, run.py_func], ids=["compiled", "Python"])
def test_the_class_of_the_state_says_what_is_run(run):
    assert run(Counter(np.zeros(1)), 6, 20) == 6
    assert run(DoubleCounter(np.zeros(1)), 6, 20) == 3, "steps are its own, stopping is inherited"


def test_what_is_optional_has_a_default_and_the_rest_is_asked_for():
    stranger = Stranger(np.zeros(1))
    assert not is_done(stranger, 0)
    said = re.escape(
        "Expected a kernel 'step' for the state Stranger, but got none. Register one: @step.register(Stranger)"
    )
    for way in (run, run.py_func):
        with pytest.raises(InputError, match=said):
            way(stranger, 6, 20)


def test_a_kernel_is_the_same_one_after_a_trip():
    assert pickle.loads(pickle.dumps(step)) is step
