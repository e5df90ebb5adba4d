"""Bernoulli KL and its inverses: against 80-digit arithmetic, by their properties, and the paper's Lemma 1."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mpmath import mpf

from rankone.numerics.kl import bernoulli_kl, kl_lower, kl_upper
from tests.oracles import kl as oracle

PRECISION = 1e-9
MEANS = [0.0, 1e-8, 3e-7, 1e-4, 0.01, 0.2, 0.5, 0.8, 0.99, 1 - 1e-5, 1 - 1e-8, 1 - 2**-53, 1.0]
RADII = [1e-12, 1e-9, 1e-6, 1e-3, 0.05, 0.3, 1.0, 7.0, 50.0]
probabilities = st.floats(0.0, 1.0)
means = st.one_of(st.sampled_from(MEANS), st.floats(1e-8, 1.0))
radii = st.one_of(st.sampled_from(RADII), st.floats(1e-12, 50.0), st.floats(-12, 1.69).map(lambda power: 10.0**power))


def relative_error(value: float, truth: mpf) -> float:
    if truth < 1e-300:  # below the range of normal numbers there is no relative precision to ask for
        return 0.0 if value < 2e-300 else math.inf
    return float(abs(mpf(value) - truth) / truth)


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("p", MEANS)
def test_bounds_have_nine_digits_on_a_grid(p: float, radius: float) -> None:
    assert relative_error(kl_upper(p, radius), oracle.kl_upper(p, radius)) < PRECISION
    assert relative_error(kl_lower(p, radius), oracle.kl_lower(p, radius)) < PRECISION


def test_bounds_have_nine_digits_at_random_points() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        near_zero = 10.0 ** rng.uniform(-8, 0)
        p = float(rng.choice([near_zero, 1.0 - near_zero, rng.random()]))
        radius = 10.0 ** rng.uniform(-12, 1.7)
        assert relative_error(kl_upper(p, radius), oracle.kl_upper(p, radius)) < PRECISION, (p, radius)
        assert relative_error(kl_lower(p, radius), oracle.kl_lower(p, radius)) < PRECISION, (p, radius)


@pytest.mark.parametrize("p", MEANS)
def test_divergence_has_nine_digits_far_from_and_next_to_p(p: float) -> None:
    near = [p * (1 + sign * 10.0**-power) for power in range(1, 16) for sign in (-1, 1)]
    for q in [*MEANS, *near, 1e-60]:
        if q > 1.0 or p == q:
            continue
        truth = oracle.bernoulli_kl(p, q)
        value = bernoulli_kl(p, q)
        assert value == math.inf if truth == mpf("inf") else relative_error(value, truth) < PRECISION, q


def test_limits_of_the_divergence() -> None:
    assert bernoulli_kl(0.0, 0.0) == bernoulli_kl(1.0, 1.0) == bernoulli_kl(0.3, 0.3) == 0.0
    assert (
        bernoulli_kl(0.3, 0.0) == bernoulli_kl(0.3, 1.0) == bernoulli_kl(0.0, 1.0) == bernoulli_kl(1.0, 0.0) == math.inf
    )
    assert bernoulli_kl(0.0, 0.25) == pytest.approx(-math.log(0.75), rel=1e-15)
    assert bernoulli_kl(1.0, 0.25) == pytest.approx(math.log(4), rel=1e-15)


def test_limits_of_the_bounds() -> None:
    for p in MEANS:
        assert kl_upper(p, 0.0) == kl_lower(p, 0.0) == p
        assert kl_lower(p, math.inf) == 0.0
        assert kl_upper(p, math.inf) == 1.0
    assert kl_lower(0.0, 3.0) == 0.0
    assert kl_upper(1.0, 3.0) == 1.0
    assert kl_upper(0.5, 100.0) == 1.0  # 1 - 3e-88: rounds to 1, where the divergence is infinite


@given(probabilities, probabilities)
@example(5e-324, 0.5)
@example(0.5, 5e-324)
@example(5e-324, 1e-310)
def test_divergence_is_a_divergence(p: float, q: float) -> None:
    value = bernoulli_kl(p, q)
    assert value >= 2.0 * (p - q) ** 2 * (1.0 - 1e-12)  # Pinsker; and so never negative, never NaN
    assert bernoulli_kl(p, p) == 0.0


@given(means, radii)
def test_bounds_invert_the_divergence(p: float, radius: float) -> None:
    upper, lower = kl_upper(p, radius), kl_lower(p, radius)
    assert 0.0 <= lower <= p <= upper <= 1.0
    # A bound in floating point is off by a rounding of itself, and the divergence there by its slope times that.
    if p < upper < 1.0:
        slack = (upper - p) / (upper * (1.0 - upper)) * 4e-16 * upper + 1e-11 * radius
        assert bernoulli_kl(p, upper) == pytest.approx(radius, rel=0, abs=slack)
    if 1e-300 < lower < p:
        slack = (p - lower) / (1.0 - lower) * 4e-16 * (2.0 - math.log(lower)) + 1e-11 * radius
        assert bernoulli_kl(p, lower) == pytest.approx(radius, rel=0, abs=slack)


@given(means, radii, st.floats(1.0, 100.0))
def test_wider_radius_gives_wider_nested_bounds(p: float, radius: float, factor: float) -> None:
    assert kl_upper(p, factor * radius) >= kl_upper(p, radius) * (1.0 - 1e-12)
    assert kl_lower(p, factor * radius) <= kl_lower(p, radius) * (1.0 + 1e-12)


@given(means, means, radii)
def test_bounds_grow_with_the_mean(p: float, other: float, radius: float) -> None:
    low, high = sorted((p, other))
    assert kl_upper(low, radius) <= kl_upper(high, radius) * (1.0 + 1e-12)
    assert kl_lower(low, radius) <= kl_lower(high, radius) * (1.0 + 1e-12)


@given(st.integers(0, 2**30).map(lambda whole: whole / 2**30), radii)
def test_swapping_successes_and_failures_swaps_the_bounds(p: float, radius: float) -> None:
    assert kl_upper(1.0 - p, radius) == pytest.approx(1.0 - kl_lower(p, radius), rel=1e-12)


@st.composite
def dyadic(draw: st.DrawFn) -> float:
    """Draw a number of [0, 1] with few binary digits: the product of two of them is exact."""
    digits = draw(st.integers(0, 24))
    return draw(st.integers(0, 2**digits)) / 2**digits * draw(st.sampled_from([1.0, 1.0, 2.0**-20, 2.0**-100]))


@given(dyadic(), dyadic(), dyadic())
@example(1.0, 0.5, 1.0)
@example(1.0, 1.0, 0.0)
@example(0.0, 0.0, 1.0)
@example(0.5, 1.0, 0.0)
@example(0.5, 0.0, 1.0)
def test_lemma_1(c: float, p: float, q: float) -> None:
    """c (1 - max(p, q)) d(p, q) <= d(cp, cq) <= c d(p, q), and 2 c max(c, 1 - max(p, q)) (p - q)^2 <= d(cp, cq)."""
    scaled = bernoulli_kl(c * p, c * q)
    room = 1.0 - max(p, q)

    def times(factor: float, divergence: float) -> float:
        return factor * divergence if factor > 0.0 else 0.0  # 0 times infinity is 0 here

    rounding = 1.0 + 1e-11
    assert times(c * room, bernoulli_kl(p, q)) <= scaled * rounding
    assert scaled <= times(c, bernoulli_kl(p, q)) * rounding
    assert 2.0 * c * max(c, room) * (p - q) ** 2 <= scaled * rounding
