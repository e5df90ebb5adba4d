"""Families of problems: the needle, random problems, and texts that name them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankone import RankOne, as_problem, needle, random_problem
from rankone.errors import InputError
from rankone.numerics.arrays import Floats
from rankone.problems import family, known_families, registry

sizes = st.integers(1, 9)


def test_the_papers_needle() -> None:
    found = needle(32, 64)
    assert found.rows.tolist() == [0.75] + [0.25] * 31
    assert found.cols.tolist() == [0.75] + [0.25] * 63
    assert found.best_pairs == [(0, 0)]
    assert found.name == "needle:32x64"


def test_rows_and_columns_may_differ() -> None:
    found = needle(2, 3, p=(0.1, 0.2), gap=[0.5, 0.75])  # type: ignore[arg-type]
    np.testing.assert_allclose(found.rows, [0.6, 0.1])
    np.testing.assert_allclose(found.cols, [0.95, 0.2, 0.2])
    assert found.name == "needle:2x3:p=0.1x0.2,gap=0.5x0.75"
    assert needle(2, 3, p=(0.25, 0.25)).name == "needle:2x3"


def test_the_extreme_needle() -> None:
    found = needle(4, 4, p=0, gap=0.5)
    assert np.count_nonzero(found.means) == 1
    assert found.mu == 0.5 / 4  # the introduction's mu = Delta / K
    assert found.name == "needle:4x4:p=0"


def test_a_needle_may_reach_one_whatever_the_rounding() -> None:
    for p in np.linspace(0, 0.99, 100):
        assert needle(2, 2, p=float(p), gap=1.0 - float(p)).p_max == 1.0
    assert needle(2, 1, p=0.95, gap=0.05).p_max == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"p": -0.1}, r"Expected p from 0 to 1, but got -0.1. "),
        ({"p": math.nan}, r"Expected p from 0 to 1, but got nan. "),
        ({"gap": 0.0}, r"Expected a gap in \(0, 0.75\], as p is 0.25, but got 0.0. "),
        ({"gap": 0.8}, r"Expected a gap in \(0, 0.75\]"),
        ({"gap": math.nan}, r"Expected a gap in"),
        ({"p": (0.1, 0.9)}, r"Expected a gap in \(0, 0.1\], as p is 0.9"),
        ({"p": (0.1, 0.2, 0.3)}, r"Expected p and gap as a number, or 2, one a factor"),
        ({"gap": "wide"}, r"Expected p and gap as a number"),
        ({"n_rows": 0}, r"Expected n_rows as a whole number of at least 1, but got 0. "),
        ({"n_cols": 2.0}, r"Expected n_cols as a whole number of at least 1, but got 2.0. "),
        ({"n_cols": True}, r"Expected n_cols as a whole number"),
        ({"n_cols": "2"}, r"Expected n_cols as a whole number"),
    ],
)
def test_needle_refuses_bad_input(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        needle(**({"n_rows": 3, "n_cols": 3} | values))


def test_random_problems_follow_their_seed() -> None:
    one, same, other = random_problem(5, 6, seed=1), random_problem(5, 6, seed=1), random_problem(5, 6, seed=2)
    assert one.digest == same.digest != other.digest
    assert one.name == "random:5x6:seed=1"
    assert not np.array_equal(one.rows, one.cols[:5])


def test_random_probabilities_are_uniform_between_the_ends() -> None:
    values = random_problem(4000, 1, low=0.2, high=0.6).rows
    assert 0.2 <= values.min() <= values.max() <= 0.6
    standard_error = 0.4 / math.sqrt(12 * 4000)
    assert values.mean() == pytest.approx(0.4, abs=4 * standard_error)
    assert random_problem(2, 2, low=0.3, high=0.3).best_mean == pytest.approx(0.09)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"low": 0.6, "high": 0.5}, "Expected 0 <= low <= high <= 1, but got low=0.6, high=0.5. "),
        ({"high": 1.5}, "Expected 0 <= low <= high <= 1"),
        ({"low": math.nan}, "Expected 0 <= low <= high <= 1"),
        ({"low": "a"}, "Expected 0 <= low <= high <= 1"),
        ({"seed": -1}, "Expected seed as a whole number of at least 0, but got -1. "),
        ({"seed": 0.5}, "Expected seed as a whole number"),
        ({"n_rows": -3}, "Expected n_rows as a whole number of at least 1, but got -3. "),
    ],
)
def test_random_problem_refuses_bad_input(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        random_problem(**({"n_rows": 3, "n_cols": 3} | values))


@given(sizes, sizes, st.floats(0, 0.5), st.floats(1e-9, 0.5), st.floats(1e-9, 0.5))
def test_a_needles_name_leads_back_to_it(rows: int, cols: int, p: float, gap: float, other: float) -> None:
    for found in (needle(rows, cols, p=p, gap=gap), needle(rows, cols, p=(p, other), gap=(other, gap))):
        again = as_problem(found.name)
        assert again.to_dict() == found.to_dict()


@given(sizes, sizes, st.integers(0, 2**63), st.floats(0, 0.5), st.floats(0.5, 1.0))
def test_a_random_problems_name_leads_back_to_it(rows: int, cols: int, seed: int, low: float, high: float) -> None:
    found = random_problem(rows, cols, seed=seed, low=low, high=high)
    assert as_problem(found.name).to_dict() == found.to_dict()


def test_texts_are_brought_to_their_canonical_form() -> None:
    assert as_problem("needle:3x4:gap=0.50,p=.250").name == "needle:3x4"
    assert as_problem("needle:1e1x4:p=1e-1").name == "needle:10x4:p=0.1"
    assert as_problem("random:3x4:seed=1e3").name == "random:3x4:seed=1000"


def test_a_problem_stays_as_it_is() -> None:
    found = RankOne([0.5], [0.5])
    assert as_problem(found) is found


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "neddle:3x3",
            r"No such problem: neddle:3x3. Did you mean needle",
        ),
        ("needle", r"Expected sizes, rows x columns, after 'needle', but got needle. Try needle:32x32"),
        ("random:32", r"Expected sizes, rows x columns"),
        ("needle:3x0", r"Expected n_cols as a whole number of at least 1, but got 0. "),
        ("needle:3x2.5", r"Expected n_cols as a whole number of at least 1, but got 2.5. "),
        ("needle:ax3", r"Expected n_rows as a whole number of at least 1, but got a. "),
        ("needle:infx3", r"Expected n_rows as a whole number"),
        ("needle:3x3:q=1", r"Expected p, gap as parameters of 'needle:3x3', but got q=1. "),
        ("needle:3x3:p", r"Expected p, gap as parameters of 'needle:3x3', but got p. "),
        ("needle:3x3:p=0.1,p=0.2", r"Expected p of 'needle:3x3' once, but got p=0.1,p=0.2. "),
        ("needle:3x3:p=much", r"Expected a number for needle:3x3:p, but got much. "),
        ("needle:3x3:p=0.1x0.2x0.3", r"Expected a number for needle:3x3:p"),
        ("needle:3x3:p=nan", r"Expected p from 0 to 1, but got nan. "),
        ("random:3x3:seed=0.5", r"Expected a whole number for random:3x3:seed, but got 0.5. "),
        ("", r"No such problem: an empty name. See `rankone problems`"),
        (7, r"Expected a problem, its name or its file, but got 7. "),
    ],
)
def test_bad_texts_are_refused_in_three_parts(spec: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_problem(spec)


@pytest.fixture
def steps_family() -> Iterator[Any]:
    @family("steps")
    def steps(n_rows: int, n_cols: int, drop: float = 0.1) -> tuple[Floats, Floats]:
        """Probabilities fall by `drop` from one line to the next."""
        return 1.0 - drop * np.arange(n_rows), 1.0 - drop * np.arange(n_cols)

    yield steps
    for known in (registry._FAMILIES._things, registry._FAMILIES._origins):
        known.pop("steps")


def test_a_users_family_is_known_by_its_name(steps_family: Any) -> None:
    assert steps_family(2, 3, drop=0.25).rows.tolist() == [1.0, 0.75]
    assert as_problem("steps:2x3:drop=0.25").name == "steps:2x3:drop=0.25"
    assert known_families()["steps"].explanation == "Probabilities fall by `drop` from one line to the next."
    assert dict(known_families()["steps"].parameters) == {"drop": 0.1}
    with pytest.raises(InputError, match=r"Expected a new family name, but got steps. "):
        family("steps")(lambda n_rows, n_cols: (np.ones(n_rows), np.ones(n_cols)))


def test_a_path_object_is_a_file_too(tmp_path: Path) -> None:
    needle(2, 2).save(tmp_path / "n.json")
    assert as_problem(tmp_path / "n.json").name == "needle:2x2"


@pytest.mark.parametrize("wrong", ["needle:8x8:foo=1", "needle:8x8:p=a", "random:3x3:foo=1", "random:2x4:seed=x"])
def test_what_an_error_proposes_may_be_written(wrong):
    with pytest.raises(InputError) as caught:
        as_problem(wrong)
    proposed = caught.value.do.removeprefix("try ").strip("'")
    assert as_problem(proposed).shape == as_problem(wrong.rpartition(":")[0]).shape
