"""Every answer of `recommend` is a policy that can do what was asked for."""

import itertools
import re

import pytest
from benchmarks.which_list_policy import PAGE as LISTS
from benchmarks.which_policy import FEEDBACK, PAGES, POLICIES

import rankone
from rankone.errors import InputError
from rankone.simulation.recommend import _FOR_LISTS, BATCHES_SHARE, COMPARED_WITH, LATE_SHARE, THOMPSON_LATE
from tests.own_policies import own_policies


@pytest.mark.parametrize(
    ("horizon", "feedback", "stages_only", "guarantee", "rank_one"),
    list(itertools.product([None, 1_000], [None, "batch:size=100"], *[[False, True]] * 3)),
)
def test_every_answer_can_start(horizon, feedback, stages_only, guarantee, rank_one):
    advice = rankone.recommend(
        horizon=horizon, feedback=feedback, stages_only=stages_only, guarantee=guarantee, rank1=rank_one
    )
    advice.policy.start(3, 4)  # no horizon is missing
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
    assert rankone.recommend(stages_only=True).policy == rankone.policies.Rank1ElimKL(horizon=1_000_000)
    assert set(COMPARED_WITH) <= set(rankone.known_policies())


def test_where_the_best_changes_nothing_is_said_of_bounds_that_need_it_to_stay():
    for more in ({}, {"guarantee": True}, {"guarantee": True, "horizon": 1000}, {"rank1": None}):
        found = rankone.recommend(changes=True, **more)
        assert found.policy.label == "glr-uts"
        assert "no policy here has a bound" in found.why
    found = rankone.recommend(changes=True, rank1=False, horizon=1000)
    assert (found.policy.name, found.policy.horizon) == ("glr-kl-ucb", 1000)
    rankone.Agent(found.policy, 3, 4, seed=1).ask()
    with pytest.raises(InputError, match="a fixed plan cannot follow a change"):
        rankone.recommend(changes=True, stages_only=True)


def test_bad_horizon():
    with pytest.raises(InputError, match="Expected horizon as a whole number"):
        rankone.recommend(horizon=0)


@pytest.mark.parametrize("name", own_policies("all"))
def test_every_policy_says_when_to_use_it(name):
    assert rankone.known_policies()[name].use_when


def measured():
    """The first table "Policies for pairs" of docs/measured.md: numbers by policy and column, without their standard errors."""
    lines = (PAGES / "policies.md").read_text().partition("\n\n")[0].splitlines()
    header, _, *rows = ([cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines)
    return {
        row[0]: {
            title: float(cell.partition("±")[0].strip(" %").replace(",", ""))
            for title, cell in zip(header[1:], row[1:], strict=True)
        }
        for row in rows
    }


def test_every_figure_it_names_is_in_the_table():
    table = measured()
    late, batches = "late, by 1,000 on average", "batches of 10,000"
    uts, elimination, thompson = table["uts"], table["rank1elim-kl"], table["thompson"]
    assert round(uts[late] / elimination[late], 2) == LATE_SHARE
    assert round(uts[batches] / elimination[batches], 2) == BATCHES_SHARE
    assert round(thompson[late] / thompson["at once"] - 1, 2) == THOMPSON_LATE
    every = itertools.product([None, 1_000], [None, "delay:mean=10", "batch:size=100"], *[[False, True]] * 3)
    said = {
        rankone.recommend(horizon=h, feedback=f, stages_only=s, guarantee=g, rank1=r).why for h, f, s, g, r in every
    }
    figures = {figure for why in said for figure in re.findall(r"(?<!\w)\d[\d,.]*\d|(?<!\w)\d", why)}
    assert figures == {f"{LATE_SHARE}", f"{BATCHES_SHARE}", f"{100 * THOMPSON_LATE:.0f}", "1,000", "10,000"}


def test_what_it_recommends_is_what_was_measured():
    table = measured()
    assert set(table) == set(POLICIES), "run python -m benchmarks.which_policy"
    best = rankone.recommend().policy.label
    assert best == min(table, key=lambda name: table[name]["at once"])
    assert rankone.recommend(feedback="delay:mean=1000").policy.label == best
    for title in FEEDBACK:
        assert table[best][title] <= 1.1 * min(row[title] for row in table.values()), title
    staged = rankone.recommend(stages_only=True, horizon=10).policy.name
    assert max(row["synchronisation points"] for name, row in table.items() if name.startswith(staged)) < 100
    worlds = [title for title in table[best] if title.startswith("lost")]
    worst = {name: max(row[world] for world in worlds) for name, row in table.items()}
    assert rankone.recommend(rank1=False).policy.label == min(worst, key=worst.__getitem__)
    assert worst[rankone.recommend(rank1=False, guarantee=True).policy.label] < worst[best]


def measured_lists():
    """The first table "Lists" of docs/measured.md: multiples of gibbs-ts's regret, by policy and world or size."""
    lines = [line for line in LISTS.read_text().splitlines() if line.startswith("|")]
    header, _, *rows = ([cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines)
    rows = rows[: next(place for place, row in enumerate(rows) if row[0] == "policy")]
    return {row[0]: dict(zip(header[1:7], map(float, row[1:7]), strict=True)) for row in rows}


@pytest.mark.parametrize("model", _FOR_LISTS)
@pytest.mark.parametrize("guarantee", [False, True])
def test_every_answer_for_lists_can_start(model, guarantee):
    advice = rankone.recommend(feedback_model=model, guarantee=guarantee, horizon=1_000)
    advice.policy.start(4, 2)
    assert rankone.recommend(feedback_model=model, guarantee=guarantee).policy.name == advice.policy.name
    assert ("no bound" in advice.why) == (advice.policy.name == "gibbs-ts")


def test_what_it_recommends_for_lists_is_what_was_measured():
    table = measured_lists()
    played = set(own_policies("list")) - {"comb-cascade", "swap-neighbours"}
    assert set(table) == played, "run python -m benchmarks.which_list_policy"
    many = {name: row.pop("1,000 items") for name, row in table.items()}
    told = {"bc-ts", "pbm-ts", "pbm-pie", "pbm-ucb"}  # they know the examination
    free = {name: row for name, row in table.items() if name not in told}
    for model in ("cascade", "dcm", "pbm"):
        chosen = rankone.recommend(feedback_model=model).policy.name
        worlds = [world for world in free[chosen] if world == model or world.startswith(f"{model},")]
        for world in worlds:
            assert free[chosen][world] <= 1.25 * min(row[world] for row in free.values()), world
        assert many[chosen] > 1.5 * many["pie-l"], "which is why it says how often items have to be shown"
        assert "where every item can be shown 600 times or more" in rankone.recommend(feedback_model=model).why
    anywhere = {name: max(row.values()) for name, row in free.items()}
    assert anywhere[rankone.recommend(feedback_model="unknown").policy.name] <= 1.25 * min(anywhere.values())


def test_bad_feedback_model():
    with pytest.raises(InputError, match=r"feedback_model as one of cascade, dcm, pbm, unknown, but got cascad. "):
        rankone.recommend(feedback_model="cascad")


@pytest.mark.parametrize(
    ("settings", "label"),
    [
        ({"features": "items"}, "cascade-logit-ts"),
        ({"features": "items", "feedback_model": "dcm"}, "cascade-logit-ts:until=last"),
        ({"features": "items", "feedback_model": "pbm"}, "cascade-logit-ts:until=all"),
        ({"features": "items", "guarantee": True, "horizon": 1_000}, "c3-ucb:horizon=1000"),
        ({"features": "visitors"}, "logit-ts"),
    ],
)
def test_features_have_policies_of_their_own(settings, label):
    assert rankone.recommend(**settings).policy.label == label


@pytest.mark.parametrize(
    "settings",
    [
        {"features": "weather"},
        {"features": "visitors", "feedback_model": "cascade"},
        {"features": "items", "changes": True},
    ],
)
def test_features_that_no_policy_is_for_are_refused(settings):
    with pytest.raises(InputError):
        rankone.recommend(**settings)
