"""Every answer of `recommend` is a policy that can do what was asked for."""

import itertools

import pytest

import rankone
from rankone.errors import InputError
from rankone.simulation.recommend import COMPARED_WITH
from tests.own_policies import own_policies


@pytest.mark.parametrize(
    ("horizon", "feedback", "stages_only", "guarantee", "rank_one"),
    list(itertools.product([None, 1_000], [None, "batch:size=100"], *[[False, True]] * 3)),
)
def test_every_answer_can_start(horizon, feedback, stages_only, guarantee, rank_one):
    advice = rankone.recommend(
        horizon=horizon, feedback=feedback, stages_only=stages_only, guarantee=guarantee, rank_one=rank_one
    )
    advice.policy.agent(3, 4).ask()  # no horizon is missing
    assert str(advice).startswith(f"{advice.policy.label}: ")
    if stages_only and rank_one:
        assert advice.policy.name.startswith("rank1elim-kl"), "the only policies that decide stage by stage"
    if not rank_one:
        assert advice.policy.name in ("thompson", "kl-ucb")
    if feedback:
        assert advice.policy.name != "kl-ucb", "it repeats one pair until an outcome comes"
    missing = guarantee and advice.policy.name in ("uts", "thompson")
    assert ("no policy here has a bound" in advice.why) == missing, (
        "a guarantee that cannot be had is said to be missing"
    )


def test_what_it_recommends():
    assert rankone.recommend().policy == rankone.recommend(horizon=10).policy == rankone.UTS()
    assert rankone.recommend(stages_only=True, horizon=5).policy == rankone.Rank1ElimKL(horizon=5)
    assert rankone.recommend(stages_only=True).policy == rankone.Rank1ElimKLAnytime()
    assert set(COMPARED_WITH) <= set(rankone.known_policies())


def test_bad_horizon():
    with pytest.raises(InputError, match="expected horizon as a whole number"):
        rankone.recommend(horizon=0)


@pytest.mark.parametrize("name", own_policies())
def test_every_policy_says_what_it_suits(name):
    assert rankone.known_policies()[name].suits
