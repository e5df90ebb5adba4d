"""What every policy must do. A new policy is tested here by itself, as soon as its file exists."""

import dataclasses
import json
import sys

import numpy as np
import pytest

import rankone
from rankone.errors import DecisionError, InputError
from rankone.numerics.seeds import generator
from tests.own_policies import own_policies

NAMES = own_policies()


def agent_of(name, n_rows=3, n_cols=4, seed=0, horizon=500):
    return rankone.as_policy(name).with_horizon(horizon).for_problem(0, 0).agent(n_rows, n_cols, seed=seed)


def play(agent, steps, means, rng, delay=0):
    """Ask and tell with up to `delay` decisions open, told in random order; return the pairs."""
    pairs, waiting = [], []
    for _ in range(steps):
        decision = agent.ask()
        pairs.append((decision.row, decision.col))
        waiting.append(decision)
        while len(waiting) > delay:
            told = waiting.pop(int(rng.random() * len(waiting)))
            agent.tell(told, int(rng.random() < means[told.row, told.col]))
    return pairs


@pytest.mark.parametrize("name", NAMES)
def test_label_names_the_policy_again(name):
    policy = rankone.as_policy(name)
    assert policy.label == name
    assert rankone.as_policy(policy.label) == policy
    for field in dataclasses.fields(policy):
        if isinstance(field.default, float):
            changed = dataclasses.replace(policy, **{field.name: field.default + 0.5})
            assert rankone.as_policy(changed.label) == changed
    assert json.loads(json.dumps(dataclasses.asdict(policy))) == dataclasses.asdict(policy)


@pytest.mark.parametrize("name", NAMES)
def test_explains_itself(name):
    kind = rankone.known_policies()[name]
    assert kind.__doc__
    assert kind.__doc__.splitlines()[0].endswith(".")


@pytest.mark.parametrize("name", NAMES)
def test_a_step_keeps_nothing_of_its_generator(name):
    agent = agent_of(name)
    agent.tell(agent.ask(), 1)
    before = sys.getrefcount(agent.rng)
    for _ in range(10):
        agent.tell(agent.ask(), 0)
        agent.void(agent.ask())
    after = sys.getrefcount(agent.rng)  # not within the assertion: pytest holds on to what it looks at
    assert after == before


@pytest.mark.parametrize("name", NAMES)
def test_state_is_plain_arrays(name):
    state = rankone.as_policy(name).with_horizon(100).for_problem(0, 0).start(2, 3)
    for field, array in zip(state._fields, state, strict=True):
        assert isinstance(array, np.ndarray), field
        assert array.dtype.kind in "iufb", field


@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize("name", NAMES)
def test_copied_state_goes_on_the_same(name, delay):
    means = np.outer([0.9, 0.2, 0.4], [0.8, 0.1, 0.3, 0.5])
    agent = agent_of(name)
    play(agent, 150, means, generator(1), delay)
    twin = agent_of(name)
    twin.state = type(agent.state)(*(array.copy() for array in agent.state))
    twin.rng.bit_generator.state = agent.rng.bit_generator.state
    assert play(agent, 150, means, generator(2)) == play(twin, 150, means, generator(2))


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (2, 2)])
@pytest.mark.parametrize("name", NAMES)
def test_small_problems_are_played_within_bounds(name, shape):
    for means in (np.zeros(shape), np.ones(shape), np.full(shape, 0.5)):
        pairs = play(agent_of(name, *shape), 120, means, generator(3), delay=3)
        assert all(0 <= row < shape[0] and 0 <= col < shape[1] for row, col in pairs)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("uniform", "best")])
def test_finds_a_certain_pair(name):
    means = np.outer([0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0])
    pairs = play(agent_of(name, horizon=20_000), 20_000, means, generator(4))
    assert pairs[-2_000:].count((1, 2)) > 1_500


@pytest.mark.parametrize("name", [name for name in NAMES if name != "best"])
def test_first_choice_is_not_always_the_same_pair(name):
    firsts = {(d.row, d.col) for d in (agent_of(name, seed=seed).ask() for seed in range(20))}
    assert len(firsts) > 1, "ties must not be broken by index order"


@pytest.mark.parametrize("name", NAMES)
def test_bad_input_is_answered_in_three_parts(name):
    agent = agent_of(name)
    decision = agent.ask()
    for reward in (2, -1, 0.5, "yes", None, float("nan")):
        with pytest.raises(InputError, match="expected clicked as True or False - got"):
            agent.tell(decision, reward)
    agent.tell(decision, 1)
    with pytest.raises(DecisionError, match="expected a decision still open"):
        agent.tell(decision, 1)
    with pytest.raises(DecisionError, match="expected a decision of this agent"):
        agent.tell(decision._replace(number=99), 1)
    with pytest.raises(DecisionError, match="expected a decision that ask"):
        agent.tell((0, 0), 1)
    for sizes in ((0, 3), (3, -1), (2.5, 2)):
        with pytest.raises(InputError, match="whole number of at least 1"):
            rankone.as_policy(name).with_horizon(10).start(*sizes)


def test_an_agent_takes_a_name_too():
    assert rankone.Agent("kl-ucb:c=3", 2, 2).policy == rankone.policies.KLUCB(c=3.0)
    with pytest.raises(InputError, match="expected a policy or its name - got 3"):
        rankone.Agent(3, 2, 2)


def test_a_policy_without_a_start_is_told_so():
    @dataclasses.dataclass(frozen=True)
    class Unfinished(rankone.Policy):
        """Has no start."""

    with pytest.raises(InputError, match=r"expected a method start\(n_rows, n_cols\) of Unfinished - got none - "):
        Unfinished().start(2, 2)


def test_unknown_names_and_parameters():
    with pytest.raises(InputError, match="expected one of the policies"):
        rankone.as_policy("ucb2")
    with pytest.raises(InputError, match="as parameters of 'kl-ucb'"):
        rankone.as_policy("kl-ucb:d=3")
    with pytest.raises(InputError, match="expected a number for kl-ucb:c"):
        rankone.as_policy("kl-ucb:c=three")
    with pytest.raises(InputError, match="expected a whole number for rank1elim-kl:horizon"):
        rankone.as_policy("rank1elim-kl:horizon=2.5")
    with pytest.raises(InputError, match="expected a horizon for rank1elim-kl"):
        rankone.as_policy("rank1elim-kl").start(2, 2)
    for name in ("rank1elim-kl", "rank1elim-kl-anytime", "kl-ucb", "osub"):
        with pytest.raises(InputError, match="c as a number of at least 0"):
            rankone.as_policy(f"{name}:c=-1")
    for row in (0.5, 2, "a"):
        with pytest.raises(
            InputError, match=r"expected row of the policy 'best' as a whole number .* at most 1 - got .* pass 1"
        ):
            rankone.policies.Best(row=row, col=0).start(2, 2)
    with pytest.raises(InputError, match="expected a row for the policy 'best' - got none"):
        rankone.policies.Best().start(2, 2)
    assert rankone.as_policy("rank1elim-kl:horizon=2e6").horizon == 2_000_000
