"""Plans of goals, against experiments that are played otherwise."""

import numpy as np
import pytest
from benchmarks import bench_goals

import rankone
from rankone.errors import InputError
from tests.oracles.amounts import evidence_of


def test_revenue_takes_as_long_as_it_does_in_a_benchmark():
    """The benchmark draws each visitor; 40 of its runs, whose median is off by 25% at most."""
    found = rankone.plan_goal(
        factors={"price": 2}, rate=0.02, lift=0.3, average=np.exp(0.32), spread=np.sqrt(np.exp(0.64) - 1), cap=10.0
    )
    played = np.array([bench_goals._verdict(seed, 0.02, 0.8, 10.0, 1.3, 1.0)[0] for seed in range(40)])
    assert found.median == pytest.approx(np.median(played), rel=0.25)
    assert found.late > found.median


def test_a_guardrail_takes_as_long_as_its_slow_twin():
    found = rankone.plan_goal(factors={"price": 2}, rate=0.2, worse_by=0.3)
    rng, ends = np.random.default_rng(1), []
    for _ in range(20):
        orders = [(int(level), 1.0, [0.5, 0.5]) for level in rng.integers(0, 2, 2000)]
        low, high = 1, len(orders)
        while low < high:  # about: evidence mostly rises
            middle = (low + high) // 2
            reached = evidence_of(orders[:middle], 0, 1, 1 / 1.3) >= np.log(2 / 0.025)
            low, high = (low, middle) if reached else (middle + 1, high)
        ends.append(low / 0.2)
    assert found.median == pytest.approx(np.median(ends), rel=0.35)


@pytest.mark.parametrize(
    "wrong", [{"lift": 0.0}, {"worse_by": 1.5}, {"lift": 0.1, "spread": -1.0}, {"lift": 0.1, "cap": -1.0}]
)
def test_wishes_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InputError):
        rankone.plan_goal(factors={"price": 2}, rate=0.02, average=50.0, **wrong)
