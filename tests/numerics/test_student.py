"""Quantiles of Student's t are those of SciPy, also far out, where many levels are compared."""

import pytest
from scipy import stats

from rankone.numerics.student import student_quantile, student_tail


@pytest.mark.parametrize("freedom", [1, 5, 8, 20, 100, 5000])
@pytest.mark.parametrize("doubt", [0.4, 0.1, 0.025, 1e-3, 1e-6, 1e-9])
def test_quantiles(freedom, doubt):
    assert student_quantile(1.0 - doubt, freedom) == pytest.approx(stats.t.ppf(1.0 - doubt, freedom), rel=1e-6)
    assert student_quantile(doubt, freedom) == pytest.approx(stats.t.ppf(doubt, freedom), rel=1e-6)
    assert student_tail(stats.t.isf(doubt, freedom), freedom) == pytest.approx(doubt, rel=1e-9)
