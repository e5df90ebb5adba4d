"""Invariants of Algorithm 1, at every stage end of random runs, with outcomes in any order."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankone
from rankone.numerics.kl import kl_lower, kl_upper
from rankone.numerics.seeds import generator
from rankone.policies.engines.elimination import (
    SWEEP_OPEN,
    SWEEP_STAGE,
    SWEEP_TO_GO,
)

probabilities = st.sampled_from([0.0, 0.05, 0.3, 0.5, 0.5, 0.8, 1.0])
lines = st.lists(probabilities, min_size=1, max_size=5)


def remaining_lines(state):
    spans = zip(state.first, state.left, strict=False)
    return np.concatenate([state.remaining[first : first + left] for first, left in spans])


def stage_ends(agent, rows, cols, rng, stages):
    """Play whole stages, outcomes shuffled within each stage; yield at the moment all outcomes are in."""
    for _ in range(stages):
        waiting = []
        while agent.state.counters[SWEEP_TO_GO] > 0 or not waiting:
            decision = agent.ask()
            if decision.filler:
                return
            waiting.append(decision)
        for place in rng.permutation(len(waiting)):
            decision = waiting[place]
            agent.tell(decision, int(rng.random() < rows[decision.row] * cols[decision.col]))
        assert agent.state.counters[SWEEP_OPEN] == 0
        yield


@pytest.mark.parametrize(("name", "length"), [("rank1elim-kl", 16), ("rank1elim-kl:c=0", 16), ("rank1elim", 4)])
@settings(max_examples=25)
@given(rows=lines, cols=lines, horizon=st.sampled_from([2, 10, 100]), seed=st.integers(0, 1000))
def test_invariants_of_algorithm_1(name, length, rows, cols, horizon, seed):
    agent = rankone.as_policy(name).with_horizon(horizon).agent(len(rows), len(cols), seed=seed)
    state = agent.state
    for stage, _ in enumerate(stage_ends(agent, rows, cols, generator(seed, "rewards"), stages=3)):
        assert state.counters[SWEEP_STAGE] == stage
        h = state.defeated_by
        assert (h[h] == h).all(), "the defeat maps are idempotent"
        assert set(remaining_lines(state)) == set(h), "active set = image of h"
        n_l = math.ceil(length * 4**stage * math.log(horizon))
        assert (state.pulls[remaining_lines(state)] == n_l).all(), "every active line has exactly n_l sweep pulls"
        assert (state.clicks <= state.pulls).all()


@given(clicks=st.integers(0, 50), more=st.integers(0, 50), level=st.floats(0.1, 20), wider=st.floats(1, 5))
def test_bounds_are_nested(clicks, more, level, wider):
    pulls = clicks + more + 1
    mean = clicks / pulls
    inner = kl_lower(mean, level / pulls), kl_upper(mean, level / pulls)
    outer = kl_lower(mean, wider * level / pulls), kl_upper(mean, wider * level / pulls)
    assert 0 <= outer[0] <= inner[0] <= mean <= inner[1] <= outer[1] <= 1


def test_stage_lengths_are_those_of_the_papers():
    expected = {"rank1elim": [59, 233, 929, 3715], "rank1elim-kl": [233, 929, 3715]}
    for name, lengths in expected.items():
        agent = rankone.as_policy(name).with_horizon(2_000_000).agent(2, 1)
        got = []
        for _ in stage_ends(agent, [0.5, 0.5], [0.5], generator(0), stages=len(lengths)):
            got.append(int(agent.state.pulls[0]))
        assert got == lengths


def test_waits_with_the_leading_pair_until_the_stage_is_complete():
    agent = rankone.Rank1ElimKL(horizon=10).agent(2, 2)
    decisions = []
    while not (decision := agent.ask()).filler:
        decisions.append(decision)
    for decision in decisions[:-1]:
        agent.tell(decision, int(decision.row == 1 and decision.col == 0))
    filler = agent.ask()
    assert filler.filler
    assert (filler.row, filler.col) == (1, 0)
    before = [array.copy() for array in agent.state]
    agent.tell(filler, 1)
    assert all((old == new).all() for old, new in zip(before, agent.state, strict=True)), "a filler teaches nothing"
    agent.tell(decisions[-1], 0)
    agent.ask()
    assert agent.state.counters[SWEEP_STAGE] == 1


def test_any_order_of_outcomes_gives_the_same_state():
    final = []
    for order in (1, -1):
        agent = rankone.Rank1ElimKL(horizon=10).agent(3, 2)
        decisions = []
        while not (decision := agent.ask()).filler:
            decisions.append(decision)
        for decision in decisions[::order]:
            agent.tell(decision, (decision.number * 7) % 3 == 0)
        agent.ask()
        final.append(agent.state)
    assert all((one == two).all() for one, two in zip(*final, strict=True))


@pytest.mark.parametrize("name", ["rank1elim-kl", "rank1elim", "ucb1-elim"])
def test_void_decisions_let_the_stage_close(name):
    agent = rankone.as_policy(name).with_horizon(20).agent(2, 2)
    for _ in range(2_000):
        agent.void(agent.ask())
    assert agent.state.counters[0] >= 2, "stages go on"
    assert agent.state.pulls.sum() == 0


def test_all_zero_rewards_never_eliminate():
    for name in ("rank1elim-kl", "rank1elim", "ucb1-elim"):
        agent = rankone.as_policy(name).with_horizon(1_000).agent(3, 4)
        seen = set()
        for _ in range(5_000):
            decision = agent.ask()
            seen.add((decision.row, decision.col))
            agent.tell(decision, 0)
        late = {(decision.row, decision.col) for decision in (agent.ask() for _ in range(12))}
        assert len(seen) == 12
        assert len(late) > 1, "with no clicks nothing is decided"


def test_settles_on_the_best_pair_and_stays():
    agent = rankone.Rank1ElimKL(horizon=2_000, c=0).agent(3, 3)
    for _ in range(20_000):
        decision = agent.ask()
        agent.tell(decision, int(decision.row == 2 and decision.col == 1))
    last = {(d.row, d.col, d.filler) for d in (agent.ask() for _ in range(100))}
    assert last == {(2, 1, True)}
