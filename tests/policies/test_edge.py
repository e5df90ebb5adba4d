"""The published lottery against the rule as it is written, and the length of its versions."""

import numpy as np
import pytest

import rankone
from rankone.numerics.seeds import generator
from rankone.policies.factors.edge import EDGE_DECISIONS, EDGE_NEXT, EDGE_VERSION, renew
from tests.oracles.level_lottery import lottery, posterior


def _filled(decide, seed, rows=6, sizes=(4, 1, 3)):
    """A state with clicks of several versions, and its random generator."""
    rng = generator(seed, "edge")
    state = rankone.policies.Edge(every=10, decide=decide).start(*sizes)
    for row in range(rows):
        total = 5 * row
        for first, size in zip(state.first, state.sizes, strict=True):
            part = slice(first, first + size)
            state.chances[row, part] = rng.dirichlet(np.ones(size))
            state.clicks[row, part] = rng.multinomial(total, state.chances[row, part])
    state.counters[EDGE_VERSION], state.counters[3] = rows - 1, state.clicks[:, 0].sum() + state.clicks[:, 1:4].sum()
    return state


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("decide", [0.0, 0.5])
def test_a_version_is_the_rule_as_it_is_written(seed, decide):
    state = _filled(decide, seed)
    renew(state, np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    for first, size in zip(state.first, state.sizes, strict=True):
        part = slice(first, first + size)
        clicks, chances = state.clicks[:6, part], state.chances[:6, part]
        scores, _ = posterior(clicks, chances)
        assert state.scores[part] == pytest.approx(scores, abs=2e-3)
        wanted = lottery(clicks, chances, decide, rng) if size > 1 else np.ones(1)
        if size == 1:
            rng.standard_normal(1_000)
        # The peak is found to 0.001, so a draw in a thousand may fall on another level.
        assert state.chances[6, part] == pytest.approx(wanted, abs=0.005)
        assert state.chances[6, part].sum() == pytest.approx(1.0)


def test_versions_are_as_long_as_said():
    agent = rankone.as_policy("edge:every=50").agent(2, 2, seed=1)
    starts = []
    for number in range(6_000):
        version = agent.state.counters[EDGE_VERSION]
        decision = agent.ask()
        if agent.state.counters[EDGE_VERSION] != version:
            starts.append(number)
        agent.tell(decision, decision.shown == (0, 0))
    lengths = np.diff([0, *starts])
    assert [int(max(50, 0.05 * start)) for start in [0, *starts[:-1]]] == lengths.tolist()
    assert agent.state.counters[EDGE_DECISIONS] == 6_000 < agent.state.counters[EDGE_NEXT]
    assert agent.state.chances[agent.state.counters[EDGE_VERSION], 0] > 0.99


def test_the_last_version_that_there_is_room_for_goes_on():
    agent = rankone.as_policy("edge:every=1").agent(2, 2, seed=1)
    agent.state.counters[EDGE_VERSION] = len(agent.state.chances) - 1
    agent.state.chances[-1] = 0.5
    for _ in range(10):
        agent.tell(agent.ask(), True)
    assert agent.state.clicks[-1].sum() == 20.0
