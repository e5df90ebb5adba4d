"""UCB1 and KL-UCB on the engine choose the very pairs of their plain twins, from the same random numbers."""

import numpy as np
import pytest

from rankone import UCB1
from rankone.compiling.compiled import compiled
from rankone.kernels.policy import decide, learn
from rankone.numerics.seeds import generator
from rankone.policies import KLUCB
from rankone.policies.engines.index_groups import RACE_ASKED, RACE_N_GROUPS, RACE_SEARCHED_AT
from tests.oracles.plain_indices import plain_state, plain_twin
from tests.oracles.replay import replay

POLICIES = [UCB1(), KLUCB(), KLUCB(c=3.0)]
SIZES = [(1, 1), (1, 5), (2, 2), (3, 7), (16, 16), (32, 32)]


def needle(n_rows, n_cols, low=0.25, high=0.75):
    rows, cols = np.full(n_rows, low), np.full(n_cols, low)
    rows[-1] = cols[0] = high
    return np.outer(rows, cols)


def random_means(kind, n_rows, n_cols):
    rng = generator(7, kind, n_rows, n_cols)
    rows, cols = rng.random(n_rows), rng.random(n_cols)
    return {
        "random": np.outer(rows, cols),
        "tiny": np.outer(rows * 0.01, cols * 0.1),
        "tied": np.full((n_rows, n_cols), 0.35),
        "certain": np.outer(np.round(rows), np.round(cols)),
        "needle": needle(n_rows, n_cols),
        "extreme needle": needle(n_rows, n_cols, low=0.0, high=0.9),
    }[kind]


KINDS = ["random", "tiny", "tied", "certain", "needle", "extreme needle"]


def assert_same(policy, means, steps, seed, most_waiting=0):
    engine, plain = policy.start(*means.shape), plain_twin(policy).start(*means.shape)
    chosen = replay(engine, means, steps, generator(seed), most_waiting)
    expected = replay(plain, means, steps, generator(seed), most_waiting)
    assert np.array_equal(chosen, expected), f"differs first at step {np.argmax(chosen != expected)}"
    assert np.array_equal(engine.pulls, plain.pulls)
    assert np.array_equal(engine.clicks, plain.clicks)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SIZES, ids=str)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_same_pairs_as_the_plain_twin(policy, shape, kind):
    steps = 3_000_000 // (shape[0] * shape[1]) if max(shape) < 10 else 6_000
    assert_same(policy, random_means(kind, *shape), min(steps, 20_000), seed=1)


@pytest.mark.parametrize("most_waiting", [2, 40])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_same_pairs_when_outcomes_come_late_and_in_any_order(policy, kind, most_waiting):
    for shape in [(1, 1), (2, 3), (12, 9)]:
        assert_same(policy, random_means(kind, *shape), 5_000, seed=2, most_waiting=most_waiting)


@pytest.mark.parametrize("policy", [UCB1(), KLUCB()], ids=str)
def test_same_pairs_on_128x128(policy):
    """From the first decision: the whole first sweep and what follows."""
    assert_same(policy, needle(128, 128), 128 * 128 + 1_000, seed=3)


@pytest.mark.parametrize(
    ("shape", "kind"),
    [((128, 128), kind) for kind in KINDS] + [((10, 871), kind) for kind in ("needle", "random", "tiny")],
    ids=str,
)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_same_pairs_late_in_a_large_run(policy, kind, shape):
    """The engine plays on from where it got in half a million steps, the twin from the same counts."""
    means = random_means(kind, *shape)
    engine = policy.start(*shape)
    replay(engine, means, 500_000, generator(4))
    plain = plain_state(policy, engine)
    assert np.array_equal(replay(engine, means, 400, generator(5)), replay(plain, means, 400, generator(5)))


def _count_looks(state, means, steps, rng, shown, outcome):
    looks = 0
    for _ in range(steps):
        searched_at = state.counters[RACE_SEARCHED_AT]
        tag = decide(state, outcome, rng, shown)
        if state.counters[RACE_SEARCHED_AT] != searched_at:
            looks += state.counters[RACE_N_GROUPS]
        outcome[0] = 1 if rng.random() < means[shown[0], shown[1]] else 0
        learn(state, shown, tag, outcome)
    return looks


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_the_work_of_a_step_does_not_grow_with_the_pairs(policy):
    """Groups looked at a step: about one with 1,024 pairs, and no more with 16,384."""
    looks = []
    for size in (32, 128):
        counter = compiled(_count_looks, __name__)
        shown, outcome = np.zeros(2, np.int64), np.zeros(1, np.int64)
        state, means = policy.start(size, size), needle(size, size)
        looks.append(counter(state, means, 1_000_000, generator(11), shown, outcome) / 1_000_000)
    assert looks[0] < 2.0
    assert looks[1] < 2.0


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_saved_state_plays_on(policy):
    """A state is plain arrays of fixed size: a copy of them continues where the original was."""
    means = random_means("random", 6, 7)
    state = policy.start(6, 7)
    shapes = [array.shape for array in state]
    replay(state, means, 3_000, generator(6), most_waiting=5)
    assert [array.shape for array in state] == shapes
    loaded = type(state)(*(array.copy() for array in state))
    assert np.array_equal(replay(state, means, 3_000, generator(7)), replay(loaded, means, 3_000, generator(7)))


@pytest.mark.parametrize("means", [needle(3, 2), needle(2, 2, 0.0, 1.0), np.ones((2, 2))], ids=["p", "0/1", "1"])
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_very_late_in_time(policy, means):
    """As if 10^12 decisions had gone unanswered: nothing overflows, and the twin agrees."""
    engine = policy.start(*means.shape)
    replay(engine, means, 5_000, generator(8))
    engine.counters[RACE_ASKED] += 10**12
    plain = plain_state(policy, engine)
    assert np.array_equal(replay(engine, means, 20_000, generator(9)), replay(plain, means, 20_000, generator(9)))


@pytest.mark.parametrize(("policy", "known"), [(UCB1(), 59_562), (KLUCB(), 12_905)], ids=str)
def test_regret_on_the_paper_s_needle(policy, known):
    """An earlier implementation found these means of 10 runs at K = L = 32, n = 2,000,000."""
    means = needle(32, 32)
    regrets = []
    for run in range(10):
        state = policy.start(32, 32)
        replay(state, means, 2_000_000, generator(10, run))
        regrets.append(state.pulls @ (means.max() - means.ravel()))
    error = np.std(regrets, ddof=1) / np.sqrt(len(regrets))
    assert np.mean(regrets) == pytest.approx(known, abs=4 * np.sqrt(2) * error)
