"""Thompson sampling for lists shows lists with the law of drawing every Beta."""

import numpy as np
import pytest

import rankone
from rankone.numerics.seeds import generator
from tests.oracles.plain_lists import plain_lists

STATES = {  # looks and clicks of each item, positions
    "nothing known": (np.zeros(30, int), np.zeros(30, int), 3),
    "few items": (np.array([3, 0, 9, 4]), np.array([1, 0, 5, 4]), 2),
    "two leaders": (np.r_[400, 380, np.full(38, 20)], np.r_[200, 185, np.arange(38) % 5], 2),
    "one of the list is open": (np.r_[900, 800, np.full(40, 60)], np.r_[450, 390, np.full(40, 14)], 3),
    "always and never clicked": (np.r_[50, 50, np.full(30, 7)], np.r_[50, 0, np.arange(30) % 8], 4),
}
LISTS = 6_000


@pytest.mark.parametrize("name", STATES)
def test_lists_have_the_law_of_drawing_every_beta(name):
    looks, clicks, n_positions = STATES[name]
    agent = rankone.as_policy("cascade-ts:until=all").agent(len(looks), n_positions, seed=1)
    agent.state.pulls[:], agent.state.clicks[:] = looks, clicks
    shown = np.array([agent.ask().shown for _ in range(LISTS)])
    draws = generator(2, "law").beta(clicks + 1, looks - clicks + 1, size=(LISTS, len(looks)))
    expected = np.argsort(-draws, axis=1)[:, :n_positions]
    for first, second in ((shown, expected), (shown[:, ::-1], expected[:, ::-1])):
        for place in range(n_positions):
            close(first[:, place], second[:, place], len(looks))
    close(shown[:, 0] * len(looks) + shown[:, -1], expected[:, 0] * len(looks) + expected[:, -1], len(looks) ** 2)


def close(found, expected, size):
    """Two samples of one law: no count differs by more than chance allows, nor do all of them together."""
    one, other = (np.bincount(sample, minlength=size).astype(float) for sample in (found, expected))
    both = one + other
    many = both >= 20
    z = (one - other)[many] / np.sqrt(both[many])
    assert np.abs(z).max(initial=0.0) < 4.9
    if many.sum() > 1:
        assert (z**2).sum() < many.sum() + 5.0 * np.sqrt(2.0 * many.sum())


def test_learning_with_the_bar_is_learning_without():
    """The recurrences keep up with counts: after thousands of looks the chances are those of the counts."""
    problem = rankone.as_problem("cascade:60x3")
    agent = rankone.as_policy("cascade-ts").agent(*problem.shape, seed=5)
    rng = generator(6, "bar")
    for _ in range(3_000):
        decision = agent.ask()
        clicked = [int(rng.random() < problem.attraction[item]) for item in decision.shown]
        agent.tell(decision, clicked)
    state = agent.state
    above = 1.0 - beta_cdf(state.pulls, state.clicks, state.bar[0])
    np.testing.assert_allclose(state.chances[:, 0], above, atol=1e-10)
    assert state.bar[1] == pytest.approx(above.sum(), abs=1e-8)
    cold = state.hot[1] < 0
    leaves = len(state.shares) // 2
    expected = -np.log1p(-np.where(cold, state.chances[:, 0], 0.0))
    np.testing.assert_allclose(state.shares[leaves : leaves + 60], expected, atol=1e-9)
    assert state.shares[1] == pytest.approx(state.shares[leaves:].sum(), abs=1e-8)


def beta_cdf(looks, clicks, x):
    from scipy.stats import beta

    return beta.cdf(x, clicks + 1, looks - clicks + 1)


def test_the_plain_twin_has_the_same_regret():
    problem, runs = rankone.as_problem("cascade:40x4"), 12
    fast = rankone.simulate(problem, "cascade-ts", 4_000, runs=runs, workers=1)
    plain = rankone.simulate(problem, plain_lists("cascade-ts"), 4_000, runs=runs, seed=1, workers=1)
    (one,), (other,) = (study.summary().to_dicts() for study in (fast, plain))
    spread = np.hypot(one["regret_se"], other["regret_se"])
    assert abs(one["regret_mean"] - other["regret_mean"]) < 4.0 * spread
