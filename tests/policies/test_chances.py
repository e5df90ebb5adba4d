"""Probabilities of decisions: against slow twins, against what the kernels draw, and what is refused."""

import numpy as np
import pytest

import rankone
from rankone.compiling.compiled import compiled
from rankone.kernels.advance import Stretch, advance
from rankone.numerics.seeds import generator
from rankone.policies.chances import chance_table
from tests.oracles import chances as slow

SHAPE = (3, 4)
RATES = {
    "rare clicks": np.outer([0.1, 0.05, 0.02], [0.2, 0.2, 0.1, 0.1]),
    "clear": np.outer([0.9, 0.5, 0.3], [0.9, 0.4, 0.2, 0.1]),
    "close": np.full(SHAPE, 0.3),
}


def twin(label, state, last):
    """The slow twin's table for the state before a decision at which `last` led."""
    pulls, clicks = state.pulls.reshape(SHAPE), state.clicks.reshape(SHAPE)
    if label == "thompson":
        return slow.thompson(pulls, clicks)
    led = state.led.reshape(SHAPE).copy()
    led[np.unravel_index(last, SHAPE)] -= 1
    coin = label.endswith("coin=true")
    if label.startswith("uts"):
        return slow.uts(pulls, clicks, led, 5 if "gamma=5" in label else 2, coin)
    return slow.top_two(pulls, clicks, led, coin)


@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("label", ["uts", "uts:coin=true", "uts:gamma=5", "top-two", "top-two:coin=true"])
def test_same_as_the_slow_twin(label, rates):
    """Over a run in which outcomes are late, so that decisions are made on the same counts again."""
    agent, rng, waiting = rankone.as_policy(label).agent(*SHAPE, seed=2), generator(3, "chances", rates), []
    for step in range(160):
        led = agent.state.led.copy() if hasattr(agent.state, "led") else None
        waiting.append(agent.ask())
        if step < 8 or step % 20 < 2:
            last = -1 if led is None else int(np.flatnonzero(agent.state.led != led)[0])
            np.testing.assert_allclose(chance_table(agent), twin(label, agent.state, last), rtol=0.01, atol=1e-8)
        while len(waiting) > 3:
            told = waiting.pop(int(rng.random() * len(waiting)))
            agent.tell(told, bool(rng.random() < RATES[rates][told.shown]))


@pytest.mark.parametrize("label", ["uts:coin=true", "top-two:coin=true"])
def test_no_decision_of_the_live_form_is_certain_while_pairs_are_close(label):
    assert rankone.as_policy(label.partition(":")[0]).live().label == label
    agent, rng = rankone.as_policy(label).agent(*SHAPE, seed=5), generator(6, "live")
    for _ in range(300):
        decision = agent.ask()
        assert chance_table(agent).max() < 1.0
        agent.tell(decision, bool(rng.random() < 0.3))


def test_policies_without_a_live_form_stay_as_they_are():
    assert rankone.as_policy("kl-ucb:c=3").live() == rankone.as_policy("kl-ucb:c=3")


def test_the_same_bits_after_a_copy_and_from_counts_alone():
    """A restart loads the state from plain arrays; nothing else may count."""
    agent, rng = rankone.as_policy("uts:coin=true").agent(*SHAPE, seed=7), generator(8, "bits")
    for _ in range(500):
        decision = agent.ask()
        agent.tell(decision, bool(rng.random() < RATES["clear"][decision.shown]))
    agent.ask()
    again = rankone.as_policy("uts:coin=true").agent(*SHAPE, seed=9)
    counts = agent.state.pulls.reshape(SHAPE), agent.state.clicks.reshape(SHAPE)
    compiled(advance, type(again.policy).__module__)(again.state, None, again.rng, Stretch.known(*counts))
    again.ask()
    assert chance_table(agent).tobytes() == chance_table(again).tobytes()


@pytest.mark.parametrize("coin", ["yes", 1, None])
def test_a_coin_that_is_none(coin):
    for kind in (rankone.UTS, rankone.policies.TopTwo):
        with pytest.raises(rankone.errors.InputError, match="expected coin as true or false - got"):
            kind(coin=coin)
