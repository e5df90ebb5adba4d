"""Policies for arriving users against their slow twins, and what must hold exactly."""

import math

import numpy as np
import pytest

import rankone
from rankone.compiling.compiled import compiled
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from rankone.policies.arrivals import pts
from rankone.policies.arrivals.visits import V_DUE, V_PERIOD, V_SHARE
from rankone.problems.arrivals import latent, mixed
from rankone.simulation.work_unit import play_run
from tests.oracles import arrivals as twins

USERS, ITEMS, D = 7, 5, 3
TABLES = {
    "user-ts": lambda rng: twins.UserTS(USERS, ITEMS, rng, 0),
    "mixture-ts:classes=3": lambda rng: twins.Mixture(USERS, ITEMS, rng, 3),
    "lowrank-ts": lambda rng: twins.LowRank(USERS, ITEMS, rng, 3),
    "lowrank-ts:rank=2,noise=0.2,scale=0.4,sweep=20": lambda rng: twins.LowRank(USERS, ITEMS, rng, 2, 0.2, 0.4, 20),
}
NMF = "nmf-bandit:classes=2,anchors=1,theta=0.2"
TABLES[NMF] = lambda rng: twins.NMF(USERS, ITEMS, rng, 2, 1, 0.2)
LINEAR = {
    "club": lambda rng: twins.CLUB(USERS, D, rng, 0.1, 0.5),
    "club:alpha2=0.2,alpha=0.5": lambda rng: twins.CLUB(USERS, D, rng, 0.5, 0.2),
    "club:alpha2=inf": lambda rng: twins.LinUCB(D, rng, 0.1),
    "mixture-linear-ts:clusters=3": lambda rng: twins.MixtureLinear(USERS, D, rng, 3),
}


def with_users(spec, more=""):
    return f"{spec}{',' if ':' in spec else ':'}users={USERS}{more}"


@pytest.mark.parametrize("spec", TABLES)
def test_same_items_as_the_slow_twin(spec):
    agent = rankone.Agent(with_users(spec), ITEMS, n_context=1, seed=3)
    twin, dice = TABLES[spec](generator(3, "agent", agent.policy.label)), generator(4, "table")
    rates = mixed(USERS, ITEMS).rates
    for step in range(400):
        user = int(dice.integers(USERS))
        decision, item = agent.ask([user]), twin.decide(user)
        assert decision.shown == (item,), step
        clicked = bool(dice.random() < rates[user, item])
        agent.tell(decision, clicked)
        twin.tell(user, item, clicked)


@pytest.mark.parametrize("spec", LINEAR)
def test_same_items_as_the_slow_twin_with_features(spec):
    agent = rankone.Agent(with_users(spec, f",features={D}"), ITEMS, n_context=1 + D * ITEMS, seed=3)
    twin, dice = LINEAR[spec](generator(3, "agent", agent.policy.label)), generator(5, "linear")
    weights = np.array([[0.9, 0.2, 0.1], [0.1, 0.1, 0.9]])
    for step in range(400):
        user, x = int(dice.integers(USERS)), dice.random((ITEMS, D)) / 1.5
        decision, item = agent.ask([user, *x.T.ravel().tolist()]), twin.decide(user, x)
        assert decision.shown == (item,), step
        clicked = bool(dice.random() < x[item] @ weights[user % 2])
        agent.tell(decision, clicked)
        twin.tell(user, x[item], float(clicked))
    if spec == "club:alpha2=0.2,alpha=0.5":
        assert len({tuple(twin.component(user)) for user in range(USERS)}) > 1  # the graph fell apart


def shown_by(spec, steps=600, users=USERS):
    agent, dice = rankone.Agent(f"{spec},users={users}", ITEMS, n_context=1, seed=1), generator(6, "same dice")
    agent.rng, rates, result = generator(7, "policy"), mixed(users, ITEMS).rates, []
    for _ in range(steps):
        user = int(dice.integers(users))
        decision = agent.ask([user])
        result.append(decision.shown[0])
        agent.tell(decision, bool(dice.random() < rates[user, result[-1]]))
    return result


def test_one_particle_is_low_rank_without_sweeps():
    assert shown_by("pts:particles=1,rank=2") == shown_by("lowrank-ts:rank=2,noise=0.25,scale=0.5,sweep=0")


def regret_of(spec, problem, horizon, runs, period=0):
    policy = rankone.as_policy(spec).with_known(problem.known())
    steps = np.array([horizon])
    result = []
    for run in range(runs):
        state = policy.start(*problem.shape)
        if period:
            state.counters[V_PERIOD], state.counters[V_SHARE] = period, len(problem.rates) + 1
        result.append(play_run(state, problem, steps, generator(run, "law", spec))[0][0])
    return np.array(result)


def same_law(one, other):
    error = math.sqrt(one.var(ddof=1) / len(one) + other.var(ddof=1) / len(other))
    return abs(one.mean() - other.mean()) < 4.0 * error


def test_one_class_has_the_regret_of_pooled_thompson_sampling():
    problem = mixed(6, ITEMS, seed=2)
    ours = regret_of("mixture-ts:classes=1", problem, 400, 300, period=1)  # everything is drawn anew, each time
    assert same_law(ours, regret_of("thompson", problem, 400, 300))


def test_alone_in_a_class_a_user_has_the_regret_of_thompson_sampling_for_each():
    problem = mixed(1, ITEMS, seed=3)
    ours = regret_of("mixture-ts:classes=1", problem, 300, 300, period=1)
    assert same_law(ours, regret_of("user-ts", problem, 300, 300))


@pytest.mark.parametrize("spec", ["lowrank-ts", "mixture-ts"])
def test_the_order_of_users_and_items_changes_nothing(spec):
    problem = latent(12, ITEMS, classes=3, arrivals="uniform", seed=4)
    turned = type(problem)(problem.rates[::-1, ::-1], name="turned")
    assert same_law(regret_of(spec, problem, 500, 200), regret_of(spec, turned, 500, 200))


def _density(state, work, user, item, clicked):
    return pts.log_density(pts.particle(state, 0), work, user, item, clicked)


def test_a_particle_weighs_its_predictive_density():
    """With vectors of one number, the density is an integral over it, here by a fine sum."""
    state = rankone.as_policy("pts:particles=1,rank=1,users=1").start(3)
    state.of_items[0, :, 0] = [0.8, -0.4, 1.3]
    state.pulls[0], state.clicks[0] = [3, 1, 0], [2, 0, 0]
    u = np.linspace(-12.0, 12.0, 200_001)
    prior = -0.5 * u**2 / 0.5
    for item, clicked in ((0, 3), (1, 0), (2, 1)):
        before = prior.copy()
        for n, s, v in zip(state.pulls[0], state.clicks[0], state.of_items[0, :, 0], strict=True):
            before -= 0.5 * (n * (u * v) ** 2 - 2.0 * s * u * v) / 0.25
        weights = np.exp(before - before.max())
        weights /= weights.sum()
        density = (weights * np.exp(-0.5 * (clicked - u * state.of_items[0, item, 0]) ** 2 / 0.25)).sum()
        got = compiled(_density, pts.__name__)(state, np.zeros(1), 0, item, clicked)
        assert got == pytest.approx(math.log(density) + 0.5 * math.log(1.0 / 0.25), abs=1e-6)


@pytest.mark.parametrize("spec", ["lowrank-ts", "mixture-ts"])
def test_what_was_known_before_helps_at_once(spec):
    """Counts that are recalled are used: the first decision is mostly the user's best item."""
    problem, best = latent(40, ITEMS, classes=3, arrivals="uniform", seed=5), 0
    shown, clicked = problem.sample(20_000)
    for seed in range(40):
        agent = rankone.Agent(f"{spec}:users=40", ITEMS, n_context=1, seed=seed)
        agent.state.pulls[:], agent.state.clicks[:] = shown, clicked
        agent.state.counters[V_DUE] = 20
        best += agent.ask([seed]).shown[0] == problem.rates[seed].argmax()
    assert best >= 30


def test_more_outcomes_wait_than_there_is_room_for():
    for spec in ("user-ts", "mixture-ts", "lowrank-ts", "pts:particles=2"):
        agent = rankone.Agent(with_users(spec), ITEMS, n_context=1)
        asked = [agent.ask([number % USERS]) for number in range(200)]
        for decision in asked:
            agent.tell(decision, decision.shown[0] == 2)
        agent.ask([0])
        assert agent.state.pulls.sum() == len(asked)


def test_a_number_of_users_is_asked_for():
    with pytest.raises(InputError, match="a number of users for lowrank-ts, but got none"):
        rankone.as_policy("lowrank-ts").start(5)
    with pytest.raises(InputError, match="users, and items with features, for club"):
        rankone.as_policy("club").start(5)
    with pytest.raises(InputError, match="learns from clicks"):
        rankone.simulate("clustered-linear:5x3", "thompson", 10, runs=1)


def test_nmf_finds_mixtures_where_it_explores_enough_and_says_how_many_users_it_needs():
    """Without forced exploration nothing is known of what to exploit: twice the regret at least."""
    problem = mixed(40, 6, classes=2, seed=3)
    found = [regret_of(f"nmf-bandit:classes=2,users=40,theta={theta}", problem, 30_000, 2).mean() for theta in (0.3, 0)]
    at_random = 30_000 * problem.loss_at_random()
    assert found[0] < 0.5 * min(at_random, found[1])
    with pytest.raises(InputError, match="at least 120 users"):
        rankone.as_policy("nmf-bandit:anchors=6,users=100").start(30)


def test_an_agent_tells_payoffs_to_a_policy_that_learns_from_them():
    agent = rankone.Agent("club:users=3,features=2,unit=0.5", 2, n_context=5)
    decision = agent.ask([1.0, 1.0, 0.0, 0.0, 1.0])
    agent.tell(decision, -3)
    assert sum(agent.state.moments[1]) == -1.5
    for spec, said in (("club:users=3,features=2", 0.5), ("user-ts:users=3", 2)):
        other = rankone.Agent(spec, 2, n_context=5 if "club" in spec else 1)
        asked = other.ask([1.0, 1.0, 0.0, 0.0, 1.0] if "club" in spec else [1.0])
        with pytest.raises(InputError, match="Expected clicked as True or False"):
            other.tell(asked, said)
