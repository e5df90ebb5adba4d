"""The change-point test: against its slow twin, its errors, how soon it sees a change, and its memory.

That ratios are tested as they should be, `tests/policies/test_drift_policies.py` asks of the policy that tests them.
"""

import numpy as np
import pytest

from rankone.compiling.compiled import compiled
from rankone.numerics.change_point import MOST_BUCKETS, changed_rate, note_outcome, rate_evidence, start_history
from rankone.numerics.seeds import generator
from tests.oracles import change_point as slow


def _watch(clicked, history, kept, delta):
    """Enter outcomes one by one; return when the first test says that something has changed."""
    for step in range(len(clicked)):
        if note_outcome(history, kept, 0, clicked[step]) and changed_rate(history, kept, 0, delta) >= 0:
            return step
    return -1


def _evidence(parts):
    return rate_evidence(parts[0, 0], parts[0, 1], parts[1, 0], parts[1, 1])


def watch(clicked, delta=0.05):
    history, kept = start_history(1)
    found = compiled(_watch, __name__)(np.asarray(clicked, np.int64), history, kept, delta)
    return found, history[0, : kept[0]]


@pytest.mark.parametrize("case", range(12))
def test_evidence_of_the_slow_twin(case):
    rng = generator(case, "evidence")
    pulls = np.exp(rng.uniform(2.0, 7.0, 2))
    parts = np.column_stack([pulls, pulls * rng.uniform(0.001, 0.95, 2)])
    assert compiled(_evidence, __name__)(parts) == pytest.approx(slow.rate_evidence(*parts), rel=1e-9)


def test_buckets_of_the_slow_twin_and_little_memory():
    clicked = generator(1, "buckets").random(5_003) < 0.3
    found, kept = watch(clicked, delta=1e-300)
    expected = slow.buckets(np.column_stack([np.ones(5_003), clicked]))
    assert found == -1
    np.testing.assert_allclose(kept, [total for _, total in expected])
    _, kept = watch(np.zeros(300_000), delta=1e-300)
    assert len(kept) < 60 < MOST_BUCKETS


def test_a_steady_rate_is_seldom_said_to_change():
    """At most 5% of runs, and one that changes is noticed soon: 0.6 to 0.3 after 5,000 outcomes."""
    rng = generator(2, "steady")
    rung = [watch(rng.random(4_000) < 0.3)[0] >= 0 for _ in range(200)]
    assert np.mean(rung) <= 0.05
    late = [watch(np.concatenate([rng.random(5_000) < 0.6, rng.random(400) < 0.3]))[0] - 5_000 for _ in range(20)]
    assert min(late) >= 0
    assert max(late) < 200
