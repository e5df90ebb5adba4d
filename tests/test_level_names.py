"""Levels that nobody named are called the same everywhere: 'row 2' and 'col 3', counted from 1."""

import re

import numpy as np
import pytest

import rankone
from rankone.errors import InputError

NAMES = (("row 1", "row 2"), ("col 1", "col 2", "col 3"))


def test_problems_experiments_and_counts_number_alike():
    problem = rankone.RankOne([0.5, 0.4], [0.6, 0.5, 0.3])
    assert (tuple(problem.row_names), tuple(problem.col_names)) == NAMES
    with rankone.Experiment("page", 2, 3, db=":memory:") as page:
        report = page.report()
    assert tuple(tuple(level.name for level in factor.levels) for factor in report.factors) == NAMES
    cells = rankone.check_rank1((np.full((2, 3), 100), np.full((2, 3), 10)), simulations=20).checks[0].cells
    assert tuple(tuple(sorted(set(cells[side]))) for side in ("row", "col")) == NAMES


def test_what_is_wrong_is_named_as_results_name_it():
    for wrong in (
        lambda: rankone.Means([[0.1, 0.2, 0.3], [0.1, 0.2, 1.3]]),
        lambda: rankone.check_rank1((np.full((2, 3), 9), [[1, 1, 1], [1, 1, 10]])),
    ):
        with pytest.raises(InputError, match="'row 2' with 'col 3'"):
            wrong()


def test_no_text_says_column_and_a_number_for_a_level():
    with rankone.Experiment("page", 2, 3, db=":memory:", seed=1) as page:
        page.tell(page.ask(), True)
        text = str(page.report())
    assert "col 3" in text
    assert not re.search(r"column \d", text)
