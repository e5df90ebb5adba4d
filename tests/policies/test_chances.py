"""Probabilities of decisions: against slow twins, against what the kernels draw, and what is refused."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import rel_entr

import rankone
import rankone.testing
from rankone.compiling.compiled import compiled
from rankone.errors import ConformanceError, InputError
from rankone.kernels.policy import chance, decide, has_chances, learn, relearn
from rankone.numerics.seeds import generator
from rankone.policies import base
from rankone.policies.advance import Stretch, advance
from rankone.policies.chances import check_chances
from rankone.policies.factors.unimodal.insured_uts import INSURED_STEPS
from tests.oracles import chances as slow
from tests.oracles.chances import chance_table

SHAPE = (3, 4)
RATES = {
    "rare clicks": np.outer([0.1, 0.05, 0.02], [0.2, 0.2, 0.1, 0.1]),
    "clear": np.outer([0.9, 0.5, 0.3], [0.9, 0.4, 0.2, 0.1]),
    "close": np.full(SHAPE, 0.3),
}


def ruled_out(pulls, clicks, step):
    """Whether the outcomes of each pair speak against it: `tests.oracles.naive_insured`."""
    means = clicks / np.maximum(pulls, 1)
    best = means.max()
    against = pulls * (rel_entr(means, best) + rel_entr(1.0 - means, 1.0 - best))
    return (pulls >= 3) & (means < best) & (against > 0.5 + 0.2 * np.log(step))


def twin(label, state, last):
    """The slow twin's table for the state before a decision at which `last` led."""
    pulls, clicks = state.pulls.reshape(SHAPE), state.clicks.reshape(SHAPE)
    if label == "thompson":
        return slow.thompson(pulls, clicks)
    led = state.led.reshape(SHAPE).copy()
    led[np.unravel_index(last, SHAPE)] -= 1
    coin = label.endswith("coin=true")
    if label.startswith("insured"):
        step, flat = state.watch[INSURED_STEPS], slow.thompson(pulls, clicks)
        share = min(1.0, 0.5 * np.sqrt(pulls.size / step))
        insured = share * flat * np.where(ruled_out(pulls, clicks, step), 0.05, 1.0)
        return (1.0 - insured.sum()) * slow.uts(pulls, clicks, led, 2, coin) + insured
    if label.startswith("uts"):
        return slow.uts(pulls, clicks, led, 5 if "gamma=5" in label else 2, coin)
    return slow.top_two(pulls, clicks, led, coin)


@pytest.mark.parametrize(
    ("label", "rates"),
    [
        ("uts", "rare clicks"), ("uts:coin=true", "clear"), ("uts:gamma=5", "close"), ("thompson", "clear"),
        ("insured-uts:coin=true", "clear"),
        *[(label, rates) for label in ("top-two", "top-two:coin=true") for rates in RATES],
    ],
)  # fmt: skip
def test_same_as_the_slow_twin(label, rates):
    """Over a run in which outcomes are late, so that decisions are made on the same counts again."""
    agent, rng, waiting = rankone.as_policy(label).agent(*SHAPE, seed=2), generator(3, "chances", rates), []
    for step in range(160):
        led = agent.state.led.copy() if hasattr(agent.state, "led") else None
        waiting.append(agent.ask())
        if step < 5 or step % 40 < 2:
            last = -1 if led is None else int(np.flatnonzero(agent.state.led != led)[0])
            found, expected = chance_table(agent), twin(label, agent.state, last)
            np.testing.assert_allclose(found, expected, rtol=0.01, atol=1e-8)
            usual = expected > 0.01
            np.testing.assert_allclose(found[usual], expected[usual], rtol=2e-4)
        while len(waiting) > 3:
            told = waiting.pop(int(rng.random() * len(waiting)))
            agent.tell(told, bool(rng.random() < RATES[rates][told.shown]))


def known_agent(label, case):
    """An agent that knows random counts of any size."""
    rng = generator(case, "states")
    pulls = np.exp(rng.uniform(0.0, np.log(300.0), SHAPE)).astype(int) - (rng.random(SHAPE) < 0.2)
    clicks = rng.binomial(pulls, rng.choice([0.02, 0.1, 0.5, 0.95]) * rng.uniform(0.7, 1.0, SHAPE))
    agent = rankone.as_policy(label).agent(*SHAPE, seed=case)
    compiled(advance, type(agent.policy).__module__)(agent.state, None, agent.rng, Stretch.known(pulls, clicks))
    return agent


@pytest.mark.parametrize("case", range(3))
@pytest.mark.parametrize(
    "label",
    ["uts", "uts:coin=true", "insured-uts", "thompson", "top-two:coin=true", "osub", "imed-ub", "klucb-ub", "uniform"],
)
def test_as_often_as_the_kernel_decides_so(label, case):
    """From one state again and again; the table is the same whatever is drawn. Bernstein bound of e^-18 a pair."""
    agent, count = known_agent(label, case), 1_500
    before, shown, tables = agent.state, np.zeros(SHAPE), set()
    for step in range(count):
        agent.state = type(before)(*(array.copy() for array in before))
        shown[agent.ask().shown] += 1
        if step < 20:
            table = chance_table(agent)
            tables.add(table.tobytes())
    assert len(tables) == 1
    assert (np.abs(shown - count * table) <= 6.0 * np.sqrt(count * table * (1.0 - table)) + 12.0).all()


@pytest.mark.parametrize("name", ["ucb1", "kl-ucb"])
def test_an_order_drawn_ahead_is_known_as_far_as_it_was_shown(name):
    """The first time round each of the pairs left is as probable; then the turn is known."""
    agent, left = rankone.as_policy(name).agent(*SHAPE), 12
    for step in range(16):
        decision = agent.ask()
        table = chance_table(agent)
        assert table[decision.shown] == (1.0 / left if step < 12 else 1.0)
        assert np.count_nonzero(table) == (left if step < 12 else 1)
        agent.tell(decision, clicked=False)
        left -= 1


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
        with pytest.raises(InputError, match="Expected coin as true or false, but got"):
            kind(coin=coin)


class DiceState(NamedTuple):
    """The sizes, and the probability that the policy says of every pair."""

    sizes: np.ndarray
    says: np.ndarray


@decide.register(DiceState)
def _decide(state, context, rng, shown):
    shown[0], shown[1] = int(rng.random() * state.sizes[0]), int(rng.random() * state.sizes[1])
    return 0


@learn.register(DiceState)
def _learn(state, shown, tag, outcome):
    pass


@relearn.register(DiceState)
def _relearn(state, shown, pulls, clicks):
    pass


@chance.register(DiceState)
def _chance(state, shown):
    return state.says[shown[0], shown[1]]


class ShyState(NamedTuple):
    """Says nothing of its chances."""

    sizes: np.ndarray


decide.register(ShyState)(_decide)
learn.register(ShyState)(_learn)
relearn.register(ShyState)(_relearn)


@pytest.fixture
def dice(monkeypatch):
    """A policy of a user's that draws evenly, and says what it is told to say."""
    monkeypatch.setattr(base._POLICIES, "_things", dict(base._POLICIES.known()))
    monkeypatch.setattr(base._POLICIES, "_origins", dict(base._POLICIES._origins))

    @dataclass(frozen=True)
    class Dice(rankone.Policy):
        """Draws evenly."""

        says: str = "even"
        name = "dice"
        use_when = "a test"

        def start(self, n_rows, n_cols):
            base.check_sizes(n_rows, n_cols)
            sizes, even = np.array([n_rows, n_cols]), np.full((n_rows, n_cols), 1.0 / (n_rows * n_cols))
            if self.says == "nothing":
                return ShyState(sizes)
            tilted = np.arange(1.0, even.size + 1).reshape(even.shape)
            table = {
                "even": even, "double": 2.0 * even, "negative": even.copy(), "tilted": tilted / tilted.sum(),
                "impossible": np.zeros(even.shape),
            }[self.says]  # fmt: skip
            if self.says == "negative":
                table[0, 0], table[-1, -1] = -0.5, table[-1, -1] + 0.5 + table[0, 0]
            if self.says == "impossible":
                table[0, 0] = 1.0
            return DiceState(sizes, table)

    return Dice


def test_a_policy_of_the_users_says_the_probability_of_one_decision(dice):
    """That is enough: the default asks for each level."""
    agent = dice().agent(2, 3)
    agent.ask()
    assert has_chances(DiceState)
    assert not has_chances(ShyState)
    np.testing.assert_allclose(chance_table(agent), 1 / 6)
    check_chances(dice(), 2, 3)


def test_one_that_says_nothing_passes(dice):
    agent = dice("nothing").agent(2, 3)
    agent.ask()
    assert chance_table(agent) is None
    check_chances(dice("nothing"), 2, 3)


@pytest.mark.parametrize(
    ("says", "sentence"),
    [
        (
            "double",
            r"Expected probabilities of 'dice:says=double' of all pairs that sum to 1, but got 2. See `chances`",
        ),
        ("negative", r"Expected probabilities of 'dice:says=negative' of at least 0, but got -0.5. "),
        (
            "impossible",
            r"Expected probabilities of 'dice:says=impossible' above 0 for what it decided, but got 0 for the pair",
        ),
    ],
)
def test_probabilities_that_cannot_be_true(dice, says, sentence):
    with pytest.raises(InputError, match=sentence):
        check_chances(dice(says), 2, 3)


def test_the_suite_finds_probabilities_that_are_not_its_own(dice):
    suite = rankone.testing.PolicySuite()
    suite.policy = dice("tilted")
    with pytest.raises(ConformanceError, match="as often as `chances` says, within chance, but got "):
        suite.test_says_how_probable_its_decisions_are()
    suite.policy = dice()
    suite.test_says_how_probable_its_decisions_are()
