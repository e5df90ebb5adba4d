"""What every policy must do (`rankone.testing`). A new policy is tested here by itself, as soon as its file exists."""

import dataclasses

import pytest

import rankone
from rankone.errors import DecisionError, InputError
from rankone.testing import PolicySuite
from tests.own_policies import BESIDE_ANOTHER, own_policies

#: Policies on lists whose studies are played with late outcomes too: one of each engine, and all that go by tags.
LATE_LISTS = ("cascade-kl-ucb", "cascade-ts", "gibbs-ts", "grab", "unirank", "toprank", "batchrank")
#: Policies that have found nothing for certain by 4,000 decisions.
SLOW = ("rank1elim",)


@pytest.fixture(scope="module", params=[*own_policies("all"), "segmented-uts"])
def name(request):
    """All tests of one policy before those of the next: a process then compiles its kernels once for all of them."""
    return request.param


class TestEveryPolicy(PolicySuite):
    @pytest.fixture(autouse=True)
    def _each(self, name):
        self.policy = rankone.as_policy(name)
        # m-ucb explores all pairs in turn, a third of the time at these horizons: it finds nothing here in time
        yardsticks = ("best", "swap-neighbours")
        self.learns = name not in (*yardsticks, "uniform", "random-list", "m-ucb")
        self.horizon = 20_000 if name in SLOW else 4_000
        self.studied_late = self.policy.decision_kind != "list" or name in LATE_LISTS
        self.studied_late &= name not in BESIDE_ANOTHER
        # the papers of these two let exploration begin with the first pair
        self.draws_ties = name not in (*yardsticks, "glr-kl-ucb", "m-ucb")


def test_bad_input_is_answered_in_three_parts():
    agent = rankone.UCB1().agent(3, 4)
    decision = agent.ask()
    for reward in (2, -1, 0.5, "yes", None, float("nan")):
        with pytest.raises(InputError, match="Expected clicked as True or False, but got"):
            agent.tell(decision, reward)
    agent.tell(decision, 1)
    with pytest.raises(DecisionError, match="Expected a decision still open"):
        agent.tell(decision, 1)
    with pytest.raises(DecisionError, match="Expected a decision of this agent"):
        agent.tell(decision._replace(number=99), 1)
    with pytest.raises(DecisionError, match="Expected a decision that ask"):
        agent.tell((0, 0), 1)


def test_an_agent_takes_a_name_too():
    assert rankone.Agent("kl-ucb:c=3", 2, 2).policy == rankone.policies.KLUCB(c=3.0)
    with pytest.raises(InputError, match="Expected a policy or its name, but got 3"):
        rankone.Agent(3, 2, 2)


def test_a_policy_without_a_start_is_told_so():
    @dataclasses.dataclass(frozen=True)
    class Unfinished(rankone.Policy):
        """Has no start."""

    with pytest.raises(InputError, match=r"Expected a method start\(n_rows, n_cols\) of Unfinished, but got none. "):
        Unfinished().start(2, 2)


def test_unknown_names_and_parameters():
    with pytest.raises(InputError, match="No such policy:"):
        rankone.as_policy("ucb2")
    with pytest.raises(InputError, match="as parameters of 'kl-ucb'"):
        rankone.as_policy("kl-ucb:d=3")
    with pytest.raises(InputError, match="Expected a number for kl-ucb:c"):
        rankone.as_policy("kl-ucb:c=three")
    with pytest.raises(InputError, match="Expected a whole number for rank1elim-kl:horizon"):
        rankone.as_policy("rank1elim-kl:horizon=2.5")
    with pytest.raises(InputError, match="Expected a horizon for rank1elim-kl"):
        rankone.as_policy("rank1elim-kl").start(2, 2)
    for name in ("rank1elim-kl", "kl-ucb", "osub"):
        with pytest.raises(InputError, match="c of at least 0"):
            rankone.as_policy(f"{name}:c=-1")
    for row in (0.5, 2, "a"):
        with pytest.raises(
            InputError, match=r"Expected a level of the policy 'best' as a whole number .* at most 1, but got .* Try 1"
        ):
            rankone.policies.Best(levels=(row, 0)).start(2, 2)
    with pytest.raises(InputError, match="Expected 2 levels for the policy 'best', but got none"):
        rankone.policies.Best().start(2, 2)
    assert rankone.as_policy("rank1elim-kl:horizon=2e6").horizon == 2_000_000
