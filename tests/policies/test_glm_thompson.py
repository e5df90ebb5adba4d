"""Thompson sampling in a logistic regression, beside the regression as written down."""

import numpy as np
import pytest

import rankone
from rankone.compiling.compiled import compiled
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from rankone.policies.advance import Stretch, advance
from rankone.policies.combination_policy import allowed_mask
from rankone.policies.factors import glm_thompson
from tests.oracles.logistic import Logistic

SIZES = (3, 2, 4)
RULES = [(0, 1, -1), (2, -1, 3), (-1, 1, 2)]


@pytest.mark.parametrize("rules", [(), RULES], ids=["all", "some forbidden"])
def test_the_posterior_and_the_choice_are_those_of_the_slow_twin(rules):
    """The choice is the best of all that may be shown, given the drawn weights."""
    twin, rng = Logistic(SIZES, 0.2), generator(1)
    agent = rankone.policies.GLMThompson(base=0.2).agent(*SIZES, seed=4, forbidden=rules)
    allowed = allowed_mask(np.array(SIZES), np.array(rules, np.int64).reshape(-1, 3)).reshape(SIZES)
    for _ in range(200):
        decision = agent.ask()
        worth = {shown: each for shown, each in twin.worth(agent.state.drawn).items() if allowed[shown]}
        assert worth[decision.shown] == pytest.approx(max(worth.values()), abs=1e-9)
        clicked = rng.random() < 0.1 + 0.2 * decision.shown[0]
        agent.tell(decision, bool(clicked))
        twin.learn(decision.shown, 1, int(clicked))
        np.testing.assert_allclose(agent.state.mean, twin.mean, atol=1e-8)
        np.testing.assert_allclose(agent.state.root @ agent.state.root.T, twin.covariance, atol=1e-8)


def test_weights_are_drawn_from_the_posterior():
    agent, times = rankone.as_policy("glm-thompson:base=0.2").agent(2, 3), 4_000
    for reward in (True, False, False, True, False):
        agent.tell(agent.ask(), reward)
    draws = []
    for _ in range(times):
        agent.ask()
        draws.append(agent.state.drawn.copy())
    covariance = agent.state.root @ agent.state.root.T
    off = np.mean(draws, axis=0) - agent.state.mean
    assert (np.abs(off) < 5 * np.sqrt(np.diag(covariance) / times)).all()
    found, spread = np.cov(np.transpose(draws)), np.sqrt(np.diag(covariance))
    error = np.outer(spread, spread) * np.sqrt(2 / times)  # of a sample covariance, at the most
    assert (np.abs(found - covariance) < 5 * error).all()


def test_outcomes_known_from_before_are_taken_in_at_once():
    """Counts of each combination, as a live experiment gives them when levels come and go."""
    pulls = np.arange(24).reshape(SIZES) * 50
    clicks = pulls // np.arange(2, 26).reshape(SIZES)
    agent, twin = rankone.as_policy("glm-thompson").agent(*SIZES), Logistic(SIZES, 0.05)
    compiled(advance, glm_thompson.__name__)(agent.state, None, agent.rng, Stretch.known(pulls, clicks))
    for shown in np.ndindex(*SIZES):
        if pulls[shown]:
            twin.learn(shown, pulls[shown], clicks[shown])
    np.testing.assert_allclose(agent.state.mean, twin.mean, atol=1e-7)
    np.testing.assert_allclose(agent.state.root @ agent.state.root.T, twin.covariance, atol=1e-9)


def test_finds_the_best_also_where_its_model_is_wrong():
    """A logit cannot say that row 2 is nearly as good as row 1 with every column; what counts is the best column."""
    trap = rankone.RankOne([0.9, 0.8, 0.1, 0.1, 0.1, 0.1], [0.9, 0.05, 0.05, 0.05, 0.05, 0.05])
    study = rankone.simulate(trap, "glm-thompson", horizon=20_000, runs=10, workers=1, seed=3, checkpoints=2)
    late = [run.regret[1] - run.regret[0] for run in study.runs]
    assert np.mean(late) < 0.005 * 10_000, "always showing row 2 instead would lose 0.09 a decision"


def test_rules_that_would_take_ages_at_every_decision_are_refused():
    sizes, rule = (10,) * 5, [(0, 0, 0, 0, 0)]
    with pytest.raises(InputError, match=r"at most 10,000 combinations together for glm-thompson, but got 100,000. "):
        rankone.as_policy("glm-thompson").agent(*sizes, forbidden=rule)
    assert rankone.as_policy("glm-thompson").agent(*sizes, forbidden=[(0, 0, 0, 0, -1)]).state.named.sum() == 4


def test_bad_input():
    with pytest.raises(InputError, match="Expected base between 0 and 1"):
        rankone.as_policy("glm-thompson:base=0")
    with pytest.raises(InputError, match="choose 'uts'"):
        rankone.policies.GLMThompson().start(3_000, 5)
