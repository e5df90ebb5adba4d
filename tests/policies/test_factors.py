"""More than two factors: numbers, crosses and rules by definition, and slow twins from the same random numbers."""

import itertools

import numpy as np
import pytest

import rankone
from rankone.compiling.compiled import compiled
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from rankone.policies.combination_policy import allowed_mask
from rankone.policies.engines.combinations import gather_reach, number_of, on_cross, position_on_cross, room_to_reach
from tests.oracles.chances import chance_table
from tests.oracles.policies import (
    kl,
    rank1elim_factors,
    rank1elim_hoeffding_bounds,
    rank1elim_kl_bounds,
    ucb1_index,
    upper,
)

SIZES = np.array([3, 2, 4])
RULES = np.array([[0, 1, -1], [2, -1, 3], [-1, 1, 2]])


def _number(sizes, shown):
    return number_of(sizes, shown)


def _on_cross(sizes, centre, place):
    return on_cross(sizes, centre, place)


def _place(sizes, centre, number):
    return position_on_cross(sizes, centre, number)


def _reach(sizes, rules, centre, reach):
    return gather_reach(sizes, rules, centre, reach)


def run(kernel, *arguments):
    return compiled(kernel, __name__)(*arguments)


def changes(one, other):
    return [place for place in range(len(one)) if one[place] != other[place]]


def test_a_cross_is_every_single_change_the_last_factor_first():
    for centre, levels in enumerate(itertools.product(*map(range, SIZES))):
        assert run(_number, SIZES, np.array(levels)) == centre
        wanted = [
            [*levels[:place], level, *levels[place + 1 :]]
            for place in (2, 1, 0)
            for level in range(SIZES[place])
            if level != levels[place]
        ]
        cross = [run(_on_cross, SIZES, centre, place) for place in range(6)]
        assert cross == [run(_number, SIZES, np.array(each)) for each in wanted]
        for number in range(24):
            assert run(_place, SIZES, centre, number) == (cross.index(number) if number in cross else -1)


def test_what_is_reached_is_allowed_and_goes_round_what_is_forbidden():
    allowed = allowed_mask(SIZES, RULES)
    combinations = list(itertools.product(*map(range, SIZES)))
    numbers = {levels: place for place, levels in enumerate(combinations)}
    for centre in np.flatnonzero(allowed):
        wanted = set()
        for other in np.flatnonzero(allowed):
            changed = changes(combinations[centre], combinations[other])
            between = [
                numbers[tuple(combinations[other if place == kept else centre][place] for place in range(3))]
                for kept in changed
            ]
            if len(changed) == 1 or (len(changed) == 2 and not allowed[between].any()):
                wanted.add(int(other))
        reach = np.zeros(room_to_reach(SIZES, RULES), np.int64)
        found = reach[: run(_reach, SIZES, RULES, centre, reach)].tolist()
        assert sorted(found) == sorted(wanted)


def cross_of(leader):
    """Another level of the last factor, then of the one before, then of the first."""
    for place in (2, 1, 0):
        for level in range(SIZES[place]):
            if level != leader[place]:
                yield (*leader[:place], level, *leader[place + 1 :])


def slow_score(name, pulls, clicks, leader, each, led):
    if pulls[each] == 0:
        return np.inf
    mean, best = clicks[each] / pulls[each], clicks[leader] / pulls[leader]
    if name == "imed-ub":
        return -pulls[each] * kl(mean, best) - np.log(pulls[each])
    level = np.log(led[leader]) if name == "osub" else np.log(pulls[leader] / pulls[each])
    return upper(mean, max(0.0, level) / pulls[each])


@pytest.mark.parametrize("name", ["imed-ub", "klucb-ub", "osub"])
def test_follows_its_rule_with_three_factors(name):
    """Who led is read off; given that, the choice has the highest score of the leader and its single changes."""
    rates = np.multiply.outer(np.outer([0.9, 0.5, 0.3], [0.8, 0.4]), [0.2, 0.9, 0.6, 0.5])
    pulls, clicks = np.zeros((2, *rates.shape), int)
    agent, rng = rankone.as_policy(name).agent(*SIZES.tolist(), seed=5), generator(6, name)
    for _ in range(300):
        before = agent.state.led.copy()
        decision = agent.ask()
        led = agent.state.led.reshape(rates.shape)
        leader = tuple(np.argwhere(led != before.reshape(rates.shape))[0].tolist())
        means = np.where(pulls > 0, clicks / np.maximum(pulls, 1), -1.0)
        assert means[leader] == means.max()
        if name == "osub" and (led[leader] - 1) % 7 == 0:
            assert decision.shown == leader
        else:
            scores = {each: slow_score(name, pulls, clicks, leader, each, led) for each in (leader, *cross_of(leader))}
            best = max(scores.values())
            assert scores[decision.shown] == best or scores[decision.shown] == pytest.approx(best, abs=1e-7)
        reward = int(rng.random() < rates[decision.shown])
        agent.tell(decision, reward)
        pulls[decision.shown] += 1
        clicks[decision.shown] += reward


def test_an_index_policy_chooses_as_its_slow_twin_with_three_factors():
    """From the same random numbers: the order in which combinations are tried first is shuffled."""
    rates = np.multiply.outer(np.outer([0.9, 0.5, 0.3], [0.8, 0.4]), [0.2, 0.9, 0.6, 0.5]).ravel()
    agent = rankone.as_policy("ucb1").agent(*SIZES.tolist(), seed=5)
    twin = generator(5, "agent", "ucb1")
    chosen = [0] * 24
    for pair in range(24):
        other = int(twin.random() * (pair + 1))
        chosen[pair], chosen[other] = chosen[other], pair - 24
    pulls, clicks, rng = [0] * 24, [0] * 24, generator(1)
    for t in range(500):
        index = [ucb1_index(clicks[each], pulls[each], t) if pulls[each] else np.inf for each in range(24)]
        wanted = max(range(24), key=lambda each: (index[each], -chosen[each]))
        decision = agent.ask()
        assert np.ravel_multi_index(decision.shown, SIZES) == wanted
        reward = int(rng.random() < rates[wanted])
        agent.tell(decision, reward)
        chosen[wanted], pulls[wanted], clicks[wanted] = t, pulls[wanted] + 1, clicks[wanted] + reward


@pytest.mark.parametrize(("name", "length"), [("rank1elim-kl:c=0", 16), ("rank1elim", 4)])
@pytest.mark.parametrize("sizes", [[3, 2, 4], [2, 1, 3, 2], [4]], ids=str)
def test_elimination_chooses_as_its_slow_twin(name, length, sizes):
    """From the same random numbers, until one combination is left and beyond the horizon."""
    horizon = 2_000
    bounds = rank1elim_kl_bounds(horizon, 0.0) if length == 16 else rank1elim_hoeffding_bounds(horizon)
    agent = rankone.as_policy(name).with_horizon(horizon).agent(*sizes, seed=3)
    twin = rank1elim_factors(sizes, horizon, generator(3, "agent", agent.policy.label), length, bounds)
    levels = [np.linspace(0.95, 0.1, size) for size in sizes]
    wanted, rng, stages = next(twin), generator(4, name), set()
    for _ in range(6_000):
        decision = agent.ask()
        assert decision.shown == wanted
        stages.add(agent.state.counters[0])
        reward = int(rng.random() < np.prod([levels[place][level] for place, level in enumerate(wanted)]))
        agent.tell(decision, reward)
        wanted = twin.send(reward)
    assert len(stages) > 1, "levels were eliminated"


def test_elimination_shows_every_level_with_the_same_partners():
    """So it cannot leave combinations out, and says so in studies, to an agent and at its start."""
    rules, said = [(0, 1, -1)], "a policy that can leave .*, but got rank1elim.*. Choose 'uts'"
    page = rankone.Product({"a": [0.5, 0.4], "b": [0.5, 0.4]}, forbidden=[{"a": "a 1", "b": "b 2"}])
    for call in (
        lambda: rankone.as_policy("rank1elim:horizon=9").start(2, 2, 2, forbidden=rules),
        lambda: rankone.Agent("rank1elim-kl:horizon=9", 2, 2, 2, forbidden=rules),
        lambda: rankone.simulate(page, "rank1elim-kl", horizon=9, runs=1, workers=1),
    ):
        with pytest.raises(InputError, match=said):
            call()


@pytest.mark.parametrize("name", ["uts:coin=true", "thompson", "top-two:coin=true", "uniform"])
@pytest.mark.parametrize("rules", [(), RULES], ids=["all", "some forbidden"])
def test_as_often_as_it_says(name, rules):
    """From one state again and again; Bernstein bound of e^-18 a combination."""
    agent, rng = rankone.as_policy(name).agent(*SIZES.tolist(), seed=1, forbidden=rules), generator(2)
    for _ in range(60):
        agent.tell(agent.ask(), bool(rng.random() < 0.4))
    saved, found, times = [array.copy() for array in agent.state], np.zeros(SIZES), 3_000
    table = None
    for _ in range(times):
        found[agent.ask().shown] += 1
        table = chance_table(agent) if table is None else table
        for array, old in zip(agent.state, saved, strict=True):
            array[...] = old
    assert table.sum() == pytest.approx(1.0)
    assert not len(rules) or found[~allowed_mask(SIZES, RULES).reshape(SIZES)].sum() == 0
    assert (np.abs(found - times * table) <= 6.0 * np.sqrt(times * table * (1 - table)) + 12.0).all()


def test_beyond_a_million_combinations_only_what_was_shown_is_kept():
    """The state grows as outcomes come, and finds the best of 10^8 where single changes lead there."""
    problem = rankone.as_problem("needle:100x100x100x100:p=0.5,gap=0.5")
    study = rankone.simulate(problem, "uts", horizon=30_000, runs=1, workers=1, checkpoints=[20_000, 30_000])
    regret = study.runs[0].regret
    assert regret[1] - regret[0] < 0.02 * 10_000
    agent = rankone.as_policy("uts").agent(100, 100, 100, 100)
    slots = len(agent.state.pulls)
    for _ in range(3 * slots):
        agent.tell(agent.ask(), False)
    assert slots < len(agent.state.pulls) < 8 * slots
    assert agent.state.pulls.sum() == 3 * slots
    for name in ("thompson", "kl-ucb", "ucb1"):
        with pytest.raises(InputError, match=r"Expected at most 1,000,000 combinations for .* Choose 'uts'"):
            rankone.as_policy(name).agent(100, 100, 100, 100)


def test_kept_or_not_the_choices_have_the_same_law(monkeypatch):
    """The state that keeps only what was shown, on a small problem: regret as that of the other, within chance."""
    from rankone.policies import combination_policy

    problem, means = rankone.as_problem("needle:4x4x4"), []
    for kept in (10**6, 10):
        monkeypatch.setattr(combination_policy, "_MOST_KEPT", kept)
        study = rankone.simulate(problem, "uts", horizon=3_000, runs=100, workers=1, seed=kept)
        summary = study.summary()
        means.append((summary["regret_mean"][0], summary["regret_se"][0]))
    (one, its), (other, others) = means
    assert abs(one - other) < 4.5 * np.hypot(its, others)


def test_sizes_and_rules_that_cannot_be():
    uts = rankone.as_policy("uts")
    for sizes, said in (
        ([], "Expected from 1 to 20 factors, but got 0"),
        ([2] * 21, "Expected from 1 to 20 factors, but got 21"),
        ([10**5] * 3, "Expected at most 1,000,000,000,000 combinations"),
        ([2, 0, 2], "Expected levels of factor 1 as a whole number of at least 1"),
    ):
        with pytest.raises(InputError, match=said):
            uts.start(*sizes)
    for rules, said in (
        ([(0, -1), (1, -1)], "Expected rules that leave something to show"),
        ([(-1, -1)], "Name at least one level"),
        ([(0, 5)], "Name at least one level, within the sizes"),
    ):
        with pytest.raises(InputError, match=said):
            uts.start(2, 3, forbidden=rules)
    with pytest.raises(InputError, match="Expected a policy that can leave combinations out, but got ucb1-elim"):
        rankone.Agent("ucb1-elim", 2, 2, forbidden=[(0, 0)])
    assert uts.start(n_rows=2, n_cols=3).sizes.tolist() == [2, 3]
    with pytest.raises(InputError, match="or n_rows and n_cols"):
        uts.start(2, n_rows=3)
