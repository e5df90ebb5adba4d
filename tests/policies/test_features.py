"""Policies that look at features: the engine against fresh linear algebra, and what must hold exactly."""

import math

import numpy as np
import pytest

import rankone
from rankone.compiling.compiled import compiled
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from rankone.policies.engines.logistic import fit_again, most_probable, record_clicks
from rankone.policies.engines.regression import REG_NEXT_FIT, add_to_root, find_mean
from rankone.simulation.work_unit import play_run, ready_for
from tests.oracles.features import TWINS, LogitCombinations, gibbs_mean

POLICIES = ("cascade-lin-ts", "cascade-lin-ucb", "lin-ts-cascade", "c3-ucb", "cascade-woful", "vac2-ucb",
            "cascade-logit-ts", "cascade-logit-ucb")  # fmt: skip


def _add_all(root, rows, weights):
    for index in range(len(rows)):
        add_to_root(root, rows[index], weights[index])


def test_a_root_changed_ten_thousand_times_is_the_root_of_the_sum():
    rng = generator(0, "root")
    rows, weights = rng.standard_normal((10_000, 10)), rng.uniform(0.1, 20.0, 10_000)
    fresh = np.linalg.cholesky(np.eye(10) + (rows * weights[:, None]).T @ rows).T
    root = np.eye(10)
    compiled(_add_all, add_to_root.__module__)(root, rows.copy(), weights)
    assert np.abs(root - fresh).max() < 1e-10 * np.abs(fresh).max()


def test_one_feature_an_item_counts_clicks():
    state = rankone.as_policy("cascade-lin-ts:sigma=1,features=3").start(3, 1)
    agent = rankone.Agent("cascade-lin-ts:sigma=1,features=3", 3, 1, n_context=9)
    looks, clicks, rng = np.zeros(3), np.zeros(3), generator(1, "clicks")
    for _ in range(200):
        decision = agent.ask(np.eye(3).ravel().tolist())
        clicked = bool(rng.random() < 0.4)
        agent.tell(decision, clicked)
        looks[decision.shown[0]] += 1
        clicks[decision.shown[0]] += clicked
    assert type(agent.state) is type(state)
    find_mean(agent.state, 0)
    assert np.allclose(agent.state.mean[0], clicks / (looks + 1.0))


def test_a_certain_score_moves_by_the_slope_alone():
    assert most_probable(0.3, 1e-12, 1, 1) == pytest.approx(0.3 + 1e-12 * (1.0 - 1.0 / (1.0 + math.exp(-0.3))))


def test_fitted_again_it_is_the_highest_point_of_the_posterior():
    state = rankone.as_policy("cascade-logit-ts:features=4").start(20, 2)
    rng = generator(2, "fit")
    state.cells[:, :4], state.cells[:, 4], state.cells[:, 5] = rng.standard_normal((20, 4)), 1.0, 500.0
    truth = np.array([0.5, -0.3, 0.2, 0.0, -2.0])
    state.cells[:, 6] = rng.binomial(500, 1.0 / (1.0 + np.exp(-state.cells[:, :5] @ truth)))
    fit_again(state)
    x, mean = state.cells[:, :5], state.mean[0]
    rates = 1.0 / (1.0 + np.exp(-x @ mean))
    slope = state.prior[1] * (state.prior[0] - mean) + x.T @ (state.cells[:, 6] - 500.0 * rates)
    precision = np.diag(state.prior[1]) + (x * (500.0 * rates * (1.0 - rates))[:, None]).T @ x
    assert np.abs(slope).max() < 1e-3
    assert np.allclose(np.triu(state.root[0]).T @ np.triu(state.root[0]), precision, rtol=1e-4)


def test_clicks_learned_one_by_one_or_together_are_near():
    one, many = (rankone.as_policy("cascade-logit-ts:features=1").start(2, 1) for _ in range(2))
    x = np.array([0.7, 1.0])
    for clicked in [1] + [0] * 9:
        record_clicks(one, x, 1, clicked)
    record_clicks(many, x, 10, 1)
    sd = 1.0 / np.linalg.norm(many.root[0] @ x / (x @ x))
    assert abs((one.mean[0] - many.mean[0]) @ x) < sd


def test_frozen_c3_shows_what_linucb_shows():
    """With discount 1, ridge 1 and nearly no noise, its radius is sqrt(ridge) = 1: the rule of cascade-lin-ucb, c = 1."""
    shown = []
    for name in ("c3-ucb:ridge=1,noise=1e-12,horizon=10,features=4", "cascade-lin-ucb:c=1,features=4"):
        agent, rng = rankone.Agent(name, 12, 3, n_context=48), generator(4, "clicks")
        lists = []
        for _ in range(60):  # fresh features: no ties, whatever each has drawn for them
            decision = agent.ask((rng.standard_normal(48) / 8.0).tolist())
            lists.append(decision.shown)
            agent.tell(decision, (rng.random(3) < 0.3).tolist())
        shown.append(lists)
    assert shown[0] == shown[1]


@pytest.mark.parametrize("how", ["until=first", "until=last", "until=all", "examination=0.6x1x0.3"])
@pytest.mark.parametrize("fresh", [False, True], ids=["same items", "new items"])
@pytest.mark.parametrize("name", TWINS)
def test_same_lists_as_the_slow_twin(name, fresh, how):
    n_items, n_positions, d, given = 50, 3, 4, how.partition("=")[2]
    spec = f"{name}{',' if ':' in name else ':'}{how},features={d}"
    agent = rankone.Agent(spec, n_items, n_positions, n_context=n_items * d, seed=7)
    slow_rng = generator(7, "agent", agent.policy.label)
    seen = [0.6, 1.0, 0.3] if "examination" in how else None
    twin, dice = TWINS[name](d, n_positions, slow_rng, "all" if seen else given, seen), generator(8, name)
    weights, x = np.array([0.5, -0.3, 0.2, 0.1]), dice.uniform(0.0, 0.6, (n_items, d))
    agent.state.counters[REG_NEXT_FIT] = twin.next_fit = 10  # as if 1,000 lists had been learned: they are fitted soon
    for step in range(80):
        x = dice.uniform(0.0, 0.6, (n_items, d)) if fresh else x
        decision, shown = agent.ask(x.T.ravel().tolist()), twin.show(x)
        assert decision.shown == tuple(shown.tolist()), step
        clicks = dice.random(n_positions) < np.clip(x[shown] @ weights + 0.1, 0.0, 1.0)
        agent.tell(decision, clicks.tolist())
        twin.tell(clicks.astype(int))


@pytest.mark.parametrize("forbidden", [(), [(0, 1, -1), (-1, -1, 1)]], ids=["all allowed", "some forbidden"])
def test_same_combinations_as_the_slow_twin(forbidden):
    sizes, d, dice = (3, 4, 2), 2, generator(11)
    agent = rankone.Agent(f"logit-ts:features={d}", *sizes, n_context=d, seed=7, forbidden=forbidden)
    twin = LogitCombinations(sizes, d, generator(7, "agent", agent.policy.label), forbidden)
    agent.state.counters[REG_NEXT_FIT] = twin.next_fit = 10
    for step in range(150):
        visitor = (dice.random(d) < 0.5).astype(float)
        decision, shown = agent.ask(visitor.tolist()), twin.show_to(visitor)
        assert decision.shown == shown, step
        clicked = bool(dice.random() < (0.3 if shown[0] == int(visitor[0]) else 0.1))
        agent.tell(decision, clicked)
        twin.tell(np.array([clicked], int))


def test_the_posterior_is_that_of_gibbs_sampling():
    """Laplace's method after a fit, on 500 observations: every mean within a tenth of a standard deviation."""
    rng = generator(12)
    state = rankone.as_policy("cascade-logit-ts:features=3,sd=2").start(25, 1)
    items, truth = np.column_stack([rng.standard_normal((25, 3)), np.ones(25)]), np.array([0.8, -0.5, 0.3, -1.0])
    state.cells[:, :4] = items
    shown = rng.integers(25, size=500)
    clicks = (rng.random(500) < 1.0 / (1.0 + np.exp(-items[shown] @ truth))).astype(float)
    np.add.at(state.cells[:, 4], shown, 1.0)
    np.add.at(state.cells[:, 5], shown, clicks)
    fit_again(state)
    mean, sd = gibbs_mean(items[shown], clicks, state.prior[0], state.prior[1], rng, 1_500)
    assert np.abs((state.mean[0] - mean) / sd).max() < 0.1 + 4.0 / math.sqrt(1_500)
    assert np.allclose(np.sqrt(np.diag(np.linalg.inv(state.root[0].T @ state.root[0]))), sd, rtol=0.15)


@pytest.mark.parametrize("policy", POLICIES)
def test_items_without_features_are_refused(policy):
    with pytest.raises(InputError, match=f"Expected items with features for {policy}, but got none"):
        rankone.simulate("cascade:6x2", policy, 10, runs=1, workers=1)


def test_visitors_without_features_are_refused():
    with pytest.raises(InputError, match="Expected visitors with features for logit-ts, but got none"):
        rankone.simulate("needle:3x3", "logit-ts", 10, runs=1, workers=1)


@pytest.mark.parametrize("reading", ["cascade", "dcm", "pbm"])
def test_features_help(reading):
    problem = rankone.as_problem(f"vial:40x4:d=6,reading={reading}")
    regret = {}
    for name in ("vac2-ucb", "cascade-ts"):
        policy = rankone.as_policy(f"{name}:until={'all' if reading == 'pbm' else 'last'}")
        ready = ready_for(policy, problem, 5_000)
        regret[name] = play_run(ready.start(*problem.shape), problem, np.array([5_000]), generator(5))[0][-1]
    assert regret["vac2-ucb"] < 0.6 * regret["cascade-ts"]
