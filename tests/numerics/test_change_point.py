"""The change-point test: against its slow twin, its errors, how soon it sees a change, and its memory."""

import numpy as np
import pytest

from rankone.compiling.compiled import compiled
from rankone.numerics.change_point import (
    MOST_BUCKETS,
    changed_rate,
    changed_ratio,
    note_outcome,
    rate_evidence,
    ratio_evidence,
    start_history,
)
from rankone.numerics.seeds import generator
from tests.oracles import change_point as slow


def _watch(clicked, levels, supports, history, kept, delta, ratios):
    """Enter outcomes one by one; return when the first test says that something has changed, and at which split."""
    for step in range(len(clicked)):
        if note_outcome(history, kept, 0, clicked[step], levels[step], supports[step]):
            split = changed_ratio(history, kept, 0, delta) if ratios else changed_rate(history, kept, 0, delta)
            if split >= 0:
                return step, split
    return -1, -1


def _evidence(parts):
    one, other = parts[0], parts[1]
    both = ratio_evidence(one[0], one[1], one[2], one[3], other[0], other[1], other[2], other[3])
    return rate_evidence(one[0], one[1], other[0], other[1]), both


def watch(clicked, levels=None, supports=None, delta=0.05):
    history, kept = start_history(1)
    ratios, plain = levels is not None, np.ones(len(clicked))
    given = (plain, plain) if levels is None else (levels, supports)
    found = compiled(_watch, __name__)(np.asarray(clicked, np.int64), *given, history, kept, delta, ratios)
    return found, history[0, : kept[0]]


@pytest.mark.parametrize("case", range(12))
def test_evidence_of_the_slow_twin(case):
    rng = generator(case, "evidence")
    pulls, support = np.exp(rng.uniform(2.0, 7.0, (2, 2)))
    level = rng.uniform(0.02, 0.95, 2)
    clicks = pulls * level * rng.uniform(0.05, 1.0, 2)
    parts = np.column_stack([pulls, clicks, level, support])
    rate, ratio = compiled(_evidence, __name__)(parts)
    assert rate == pytest.approx(slow.rate_evidence(*parts[:, :2]), rel=1e-9)
    assert ratio == pytest.approx(slow.ratio_evidence(*parts), rel=0.03, abs=0.1)


def test_buckets_of_the_slow_twin_and_little_memory():
    rng = generator(1, "buckets")
    clicked, levels = rng.random(5_003) < 0.3, rng.random(5_003)
    (found, _), kept = watch(clicked, levels, np.ones(5_003), delta=1e-300)
    expected = slow.buckets(np.column_stack([np.ones(5_003), clicked, levels, np.ones(5_003)]))
    assert found == -1
    np.testing.assert_allclose(kept, [total for _, total in expected])
    _, kept = watch(np.zeros(300_000), delta=1e-300)
    assert len(kept) < 60 < MOST_BUCKETS


def test_a_steady_rate_is_seldom_said_to_change():
    """At most 5 % of runs, and one that changes is noticed soon: 0.6 to 0.3 after 5,000 outcomes."""
    rng = generator(2, "steady")
    rung = [watch(rng.random(4_000) < 0.3)[0][0] >= 0 for _ in range(200)]
    assert np.mean(rung) <= 0.05
    late = [watch(np.concatenate([rng.random(5_000) < 0.6, rng.random(400) < 0.3]))[0][0] - 5_000 for _ in range(20)]
    assert min(late) >= 0
    assert max(late) < 200


def observed(ratio, site, rng, every=2, window=32):
    """Outcomes of a thing and of its reference by turns, where the level of the site moves: what `watch` takes."""
    reference, level, clicked, levels = rng.random(len(site)) < 0.8 * site, 0.0, [], []
    for step in range(len(site)):
        level += (reference[step] - level) / min(step + 1, window)
        if step % every == every - 1:
            clicked.append(rng.random() < 0.8 * ratio[step] * site[step])
            levels.append(level)
    return np.array(clicked), np.array(levels), np.full(len(levels), float(every - 1))


def test_a_moving_level_of_the_whole_site_does_not_ring():
    """Ratios stay: a cycle of +-60 %, and a site that doubles. Rates ring at once."""
    rng, steps = generator(3, "site"), np.arange(6_000)
    for site in (0.6 + 0.36 * np.sin(steps / 300.0), np.where(steps < 3_000, 0.45, 0.9)):
        rung = [watch(*observed(np.full(6_000, 0.7), site, rng))[0][0] >= 0 for _ in range(60)]
        assert np.mean(rung) <= 0.05
        clicked, _, _ = observed(np.full(6_000, 0.7), site, rng)
        assert watch(clicked)[0][0] >= 0


def test_a_ratio_that_changes_rings_while_the_level_moves():
    rng, steps = generator(4, "ratio"), np.arange(6_000)
    site = 0.6 + 0.36 * np.sin(steps / 300.0)
    ratio = np.where(steps < 4_000, 0.4, 1.0)
    late = [watch(*observed(ratio, site, rng))[0][0] - 2_000 for _ in range(20)]
    assert min(late) >= 0
    assert max(late) < 300
