"""What every family of problems must do. A new file with `@family(...)` is tested by itself."""

import numpy as np
import pytest

from rankone.errors import InputError
from rankone.problems.registry import as_problem, known_families


@pytest.fixture(params=sorted(known_families()))
def family(request):
    return known_families()[request.param]


@pytest.mark.parametrize("sizes", [(1, 1), (1, 5), (5, 1), (3, 4), (40, 2)])
def test_makes_a_problem_of_any_size(family, sizes):
    made = family.make(*sizes)
    assert made.means.shape == sizes
    assert np.all((made.rows >= 0) & (made.rows <= 1))
    assert np.all((made.cols >= 0) & (made.cols <= 1))


def test_is_the_same_every_time(family):
    assert family.make(3, 4).digest == family.make(3, 4).digest


def test_its_name_leads_back_to_it(family):
    made = family.make(3, 4)
    assert made.name.startswith(f"{family.name}:3x4")
    assert as_problem(made.name).to_dict() == made.to_dict()


def test_says_what_it_is(family):
    assert family.explanation.endswith("."), "the docstring begins with one whole sentence"
    assert all(default is not None for default in family.parameters.values()), "every parameter has a default"


@pytest.mark.parametrize("text", ["", "3", "0x3", "3x-1", "3x3:nonsense=1"])
def test_refuses_nonsense_in_one_voice(family, text):
    with pytest.raises(InputError, match=r"expected .* - got .* - "):
        as_problem(f"{family.name}:{text}")
