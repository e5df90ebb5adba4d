"""Visitors who come by themselves, explained: what is told is what the world and the policy say."""

import itertools

import numpy as np
import pytest
from typer.testing import CliRunner

import rankone
from rankone.cli import build_app
from rankone.errors import InputError
from rankone.kernels.world import loss, observe, respond
from rankone.numerics.seeds import generator
from rankone.simulation.work_unit import ready_for

CASES = [
    ("mixture-ts", "latent:20x5:classes=2"),
    ("mts", "latent:20x5:classes=2"),
    ("latent-ucb", "latent:20x5:classes=2"),
    ("lowrank-ts", "mixed:20x5"),
    ("pts:particles=2", "mixed:20x5"),
    ("nmf-bandit", "mixed:60x4"),
    ("user-ts", "latent:20x5:arrivals=cold"),
    ("thompson", "latent:20x5"),
    ("club", "clustered-linear:12x4:d=3"),
    ("mixture-linear-ts", "clustered-linear:12x4:d=3"),
    ("logit-ts", "visitors:3x2:d=2"),
    ("uts", "visitors:3x2:d=2"),
]


def moments(told):
    return [frame for frame in told.frames if frame.kind in ("visitor", "decision", "stretch")]


def played_again(policy, problem, horizon, seed):
    """The run once more, by hand: the regret after each decision, by what the world says that it loses."""
    ready = ready_for(rankone.as_policy(policy), problem, horizon)
    agent = ready.agent(*problem.shape, seed=seed, n_context=problem.n_context)
    rng, world = generator(seed, "explain", problem.digest, ready.label), problem.start()
    context, outcome, regret = np.zeros(problem.n_context), np.zeros(1, np.int64), 0.0
    for step in range(horizon):
        observe(world, step, rng, context)
        decision = agent.ask(context.tolist())
        regret += loss(world, decision.shown)
        respond(world, decision.shown, outcome, rng)
        agent.tell(decision, int(outcome[0]))
        yield decision.shown, regret


@pytest.mark.parametrize(("policy", "spec"), CASES)
def test_frames_are_moments_of_the_real_run(policy, spec):
    problem = rankone.as_problem(spec)
    told = rankone.explain(policy, problem, horizon=150, seed=2)
    again = [((), 0.0), *played_again(policy, problem, 150, 2)]
    assert told.frames[-1].step == 150
    for before, after in itertools.pairwise(told.frames):
        assert sum(after.fresh.values()) == after.step - before.step
    for frame in moments(told):
        shown, regret = again[frame.step]
        assert frame.decision == shown
        assert frame.regret == pytest.approx(regret, abs=1e-9)
        best = max(line.truth for own in frame.levels for line in own)
        assert all(own[level].truth <= best for own, level in zip(frame.levels, shown, strict=True))
    assert len(moments(told)) > 30
    assert told.frames[-1].text.startswith("The end, after 150 decisions: ")


@pytest.mark.parametrize(("policy", "spec"), CASES[:4] + CASES[8:11])
def test_the_scores_are_those_of_the_visitor_and_the_largest_is_shown(policy, spec):
    for frame in moments(rankone.explain(policy, spec, horizon=150, seed=2)):
        for own, shown in zip(frame.levels, frame.decision, strict=True):
            scores = [line.score for line in own]
            assert scores[shown] == max(scores)


def test_one_visitor_is_followed_and_what_is_presumed_of_them_is_said():
    told = rankone.explain("mixture-ts", "latent:20x5:classes=2", horizon=3_000, seed=1)
    followed = [frame for frame in told.frames if frame.kind == "visitor"]
    names = {frame.who.partition(", visit")[0] for frame in followed}
    visits = [int(frame.who.rpartition(" ")[2]) for frame in followed]
    assert len(names) == 1
    assert visits == [2**power for power in range(len(visits))]
    assert len(visits) > 5
    assert "mixture-ts counts them in its class " in followed[-1].text
    assert ", truly of class " in followed[-1].who
    own = followed[-1].levels[0]
    assert sum(line.pulls for line in own) == visits[-1], "times are of this visitor alone"
    alike = rankone.explain("thompson", "latent:20x5", horizon=20)
    assert "in the same way for all of them" in alike.frames[0].text
    assert all(line.score is None for frame in alike.frames for line in frame.levels[0])


def test_payoffs_are_no_clicks():
    told = rankone.explain("club", "clustered-linear:12x4:d=3", horizon=200, seed=2)
    assert "Outcome: a payoff of " in moments(told)[0].text
    assert " of payoff, compared with" in told.frames[-1].text
    assert abs(told.frames[-1].clicks.sum()) <= 220, "in payoffs, not in millionths"
    assert all(line.pulls == 0 for frame in told.frames for line in frame.levels[0]), "items are new each time"
    data = told._data()
    assert data["payoffs"]
    assert data["strips"] == [["best for the visitor"], ["another"]]
    assert data["frames"][-1]["strips"][0] + data["frames"][-1]["strips"][1] == 200


def test_items_of_a_file_keep_their_names(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("user,<b>news</b>,sport\nann,0.9,0.1\nbob,0.2,0.7\n")
    told = rankone.explain("user-ts", f"table:{path}", horizon=300, seed=1)
    assert "'sport'" in moments(told)[-1].text
    assert "<b>news" not in told.html()
    assert "user-ts --problem" in told.html()


@pytest.mark.parametrize(
    ("problem", "policy"),
    [
        ("latent:20x5", "mixture-ts"),
        ("clustered-linear:12x4:d=3", "mixture-linear-ts"),
        ("visitors:3x2:d=2", "logit-ts"),
        ("needle:2x2", "rank1elim-kl"),
    ],
)
def test_a_policy_that_suits_is_taken_where_none_is_named(problem, policy, tmp_path):
    words = ["explain", "--problem", problem, "--horizon", "30", "--out", str(tmp_path)]
    result = CliRunner().invoke(build_app(), words)
    assert result.exit_code == 0, result.output
    assert f"--policy {policy} --problem {problem}" in (tmp_path / "explain.html").read_text()


@pytest.mark.parametrize(
    ("policy", "problem", "said"),
    [
        ("cascade-kl-ucb", "cascade:8x3", "but got lists"),
        (None, "vial:20x4:d=3", "but got lists"),
        ("uts", "needle:3x3|changes=2", "which is neither"),
        ("ucb1-elim", "latent:20x5", "Expected a policy that plays combinations"),
        ("thompson", "clustered-linear:12x4:d=3", "Expected a policy that learns from payoffs"),
    ],
)
def test_what_cannot_be_explained_is_said_plainly(policy, problem, said):
    with pytest.raises(InputError, match=said):
        rankone.explain(policy, problem, horizon=20)
