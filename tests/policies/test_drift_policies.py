"""Policies for worlds that change: against slow twins, what they find, what they refuse, and how much they keep."""

import numpy as np
import pytest

import rankone
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from rankone.policies.factors.changing.glr_uts import GLR_CENTRE, GLR_ERA, GLR_LAST, GLR_STEPS, GLR_TRIAL
from rankone.policies.factors.changing.restarting import RESTART_COUNT
from tests.oracles import drift as slow
from tests.oracles.drift_alarms import Alarms

SHAPE, HORIZON = (3, 2), 900
BEFORE = np.array([[0.9, 0.3], [0.2, 0.1], [0.3, 0.2]])
AFTER = np.array([[0.1, 0.2], [0.2, 0.9], [0.1, 0.4]])

TWINS = {
    "discounted-uts:gamma=0.98": lambda rng: slow.forgetting(SHAPE, rng, gamma=0.98, unimodal=True),
    "sliding-uts:window=90": lambda rng: slow.forgetting(SHAPE, rng, window=90, unimodal=True),
    "d-ts:gamma=0.98": lambda rng: slow.forgetting(SHAPE, rng, gamma=0.98),
    "sw-ts:window=90": lambda rng: slow.forgetting(SHAPE, rng, window=90),
    "glr-kl-ucb": lambda rng: slow.glr_kl_ucb(6, HORIZON, 3, rng),
    "m-ucb:window=80": lambda rng: slow.m_ucb(6, HORIZON, 80, 3, rng),
    "cusum-ucb:first=10": lambda rng: slow.cusum_ucb(6, HORIZON, 0.1, 10, 3, rng),
}


@pytest.mark.parametrize("label", TWINS)
def test_same_pairs_as_the_slow_twin(label):
    """Over a change in the middle, from the same random numbers."""
    steps = 300 if "ts" in label else HORIZON  # these twins add up all outcomes for every draw
    agent = rankone.as_policy(label).with_horizon(HORIZON).agent(*SHAPE, seed=3)
    twin, rewards = TWINS[label](generator(3, "agent", agent.policy.label)), generator(4, "drift")
    expected = next(twin)
    for step in range(steps):
        decision = agent.ask()
        assert decision.row * 2 + decision.col == expected, f"step {step}"
        reward = int(rewards.random() < (BEFORE if step < steps // 2 else AFTER)[decision.row, decision.col])
        agent.tell(decision, reward)
        expected = twin.send(reward)
    if "ucb" in label:
        assert agent.state.counters[RESTART_COUNT] > 0


@pytest.mark.parametrize("seed", range(2))
def test_alarms_of_the_slow_twin(seed):
    """Suspicion, trials and eras of glr-uts, worked out again from lists of all outcomes."""
    rates = np.outer([0.9, 0.6, 0.5, 0.3], [0.9, 0.7, 0.4])
    agent, rng, twin = rankone.as_policy("glr-uts").agent(4, 3, seed=seed), generator(seed, "alarms"), Alarms((4, 3))
    alarm = agent.state.alarm
    for step in range(3_000):
        site = 0.4 if step >= 2_000 else 1.0  # first the world changes, and then the level of the site
        decision = agent.ask()
        led = int(agent.state.counters[1])
        twin.decide(led)
        assert (twin.centre, twin.trial > 0, twin.steps) == (alarm[GLR_CENTRE], alarm[GLR_TRIAL] > 0, alarm[GLR_STEPS])
        assert twin.last == alarm[GLR_LAST]
        reward = int(rng.random() < site * (rates if step < 1_000 else rates[::-1, ::-1])[decision.row, decision.col])
        twin.learn(decision.row * 3 + decision.col, reward)
        agent.tell(decision, reward)
        assert twin.era == alarm[GLR_ERA], f"step {step}"
        assert twin.spent == pytest.approx(agent.state.spent[0])
    assert twin.era >= 1
    assert twin.all_trials > twin.era  # the site alone was no reason


def regrets(spec, policy, horizon, runs=8):
    """Regret of each run."""
    study = rankone.simulate(spec, policy, horizon=horizon, runs=runs, workers=1)
    return np.array([run.regret[-1] for run in study.runs])


def test_changes_are_noticed_and_a_moving_site_is_no_change():
    """Far less regret than UTS over changes; and hardly more where only the level of the site moves."""
    changing = "random:4x4:low=0.3,seed=5|changes=2,span=15000"
    assert regrets(changing, "glr-uts", 15_000).mean() < 0.5 * regrets(changing, "uts", 15_000).mean()
    eras = []
    for seed in range(12):
        agent, rng = rankone.as_policy("glr-uts").agent(4, 4, seed=seed), generator(seed, "site")
        rates = np.outer([0.9, 0.7, 0.5, 0.3], [0.9, 0.8, 0.5, 0.4])
        for step in range(3_000):
            decision = agent.ask()
            site = (1.0 + 0.6 * np.sin(step / 200.0)) / 1.6
            agent.tell(decision, bool(rng.random() < site * rates[decision.row, decision.col]))
        eras.append(int(agent.state.alarm[GLR_ERA]))
    assert sum(era > 0 for era in eras) <= 2  # 5% may err: three of twelve or more in 2% of cases


def test_memory_is_bounded():
    """Nothing of a state grows with the decisions."""
    for name in ("glr-uts", "discounted-uts", "sliding-uts", "glr-kl-ucb", "m-ucb", "cusum-ucb", "d-ts", "sw-ts"):
        agent = rankone.as_policy(name).with_horizon(5_000).agent(2, 2)
        before = [array.nbytes for array in agent.state]
        for step in range(500):
            agent.tell(agent.ask(), step % 3 == 0)
        assert [array.nbytes for array in agent.state] == before


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("discounted-uts:gamma=1", "gamma between 0 and 1, but got 1"),
        ("d-ts:gamma=nan", "gamma between 0 and 1, but got nan"),
        ("sw-ts:window=0", "window as a whole number of at least 1"),
        ("m-ucb:window=5", "an even window as a whole number"),
        ("cusum-ucb:eps=2", "eps between 0 and 1"),
    ],
)
def test_what_is_refused(spec, message):
    with pytest.raises(InputError, match=f"Expected {message}"):
        rankone.as_policy(spec)


def test_breaks_that_are_none_are_refused():
    for name in ("glr-kl-ucb", "m-ucb", "cusum-ucb"):
        with pytest.raises(InputError, match="Expected breaks as a whole number"):
            rankone.as_policy(f"{name}:breaks=0,horizon=100").start(2, 2)
