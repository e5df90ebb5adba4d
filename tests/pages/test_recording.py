"""What an explanation tells is what the policy did and believed: the same agent, played again, says the same."""

import itertools
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

import rankone
from rankone.cli import build_app
from rankone.kernels.policy import race, view
from rankone.numerics.seeds import generator
from rankone.pages.recording import Recorder
from rankone.policies.engines.elimination import bounds

from ..own_policies import own_policies

SHARP = rankone.RankOne([0.95, 0.5, 0.05], [0.95, 0.1], name="sharp")
NAMES = own_policies()


def ready(name, horizon, problem=SHARP):
    return rankone.as_policy(name).with_horizon(horizon).for_problem(*problem.best_pairs[0])


def played_again(policy, problem, horizon, seed):
    """The run once more, by hand: after each decision its pair, its outcome and the state."""
    agent = policy.agent(problem.n_rows, problem.n_cols, seed=seed)
    rng = generator(seed, "explain", problem.digest, policy.label)
    for _ in range(horizon):
        decision = agent.ask()
        clicked = rng.random() < problem.means[decision.row, decision.col]
        agent.tell(decision, clicked)
        yield (decision.row, decision.col), clicked, agent.state


def lines(frame):
    return [line for own in frame.levels for line in own]


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_is_told_from_start_to_end(name):
    frames = rankone.explain(name, SHARP, horizon=300, seed=3).frames
    assert frames[0].kind == "start"
    assert frames[-1].step == 300
    assert all(frame.text for frame in frames)
    for before, after in itertools.pairwise(frames):
        assert after.step >= before.step
        assert after.regret >= before.regret
        assert (after.shown >= before.shown).all()
        assert sum(after.fresh.values()) == after.step - before.step
    for frame in frames:
        assert [int(own.sum()) for own in np.split(frame.shown, [3])] == [frame.step] * 2, "each factor has a level"
        assert (frame.pairs.shown.sum(axis=1) == frame.shown[:3]).all()
        assert (frame.pairs.shown.sum(axis=0) == frame.shown[3:]).all()
        assert (frame.pairs.clicks <= frame.pairs.shown).all()
        for line in lines(frame):
            assert line.low is None or line.high is None or line.low <= line.high


@pytest.mark.parametrize("name", ["rank1elim-kl:c=0", "uts", "ucb1"])
def test_frames_are_moments_of_the_real_run(name):
    horizon, seed = 400, 5
    policy = ready(name, horizon)
    told = Recorder(policy, SHARP, horizon, seed).play()
    at = {frame.step: frame for frame in told if frame.kind in ("decision", "stretch", "leader")}
    shown, compared = np.zeros((3, 2), int), 0
    for step, (pair, clicked, state) in enumerate(played_again(policy, SHARP, horizon, seed), start=1):
        shown[pair] += 1
        if step in at:
            frame, seen = at[step], view(state)
            compared += 1
            assert (frame.decision, frame.clicked) == (pair, clicked)
            assert (frame.pairs.shown == shown).all()
            if seen.about == "levels":
                compared_bounds = [bounds(state, line) for line in range(5)]
                assert [(line.low, line.high) for line in lines(frame)] == compared_bounds
    assert compared > 20


def test_stages_end_with_the_bounds_that_eliminate():
    told = rankone.explain("rank1elim-kl:c=0", SHARP, horizon=5_000, seed=1)
    ends = [place for place, frame in enumerate(told.frames) if frame.kind == "stage ends"]
    assert ends
    gone = 0
    for place in ends:
        before, after = told.frames[place], told.frames[place + 1]
        assert (after.kind, after.step) in (("eliminates", before.step), ("settled", before.step))
        for own, then in zip(before.levels, after.levels, strict=True):
            best = max(line.low for line in own if line.left)
            for line, later in zip(own, then, strict=True):
                if line.left:  # the rule of the paper, on what the page shows
                    assert later.left == (line.high > best)
                    gone += not later.left
    assert gone == 3
    assert told.frames[-1].kind == "end"
    assert "'row 1' with 'col 1', the best pair" in told.frames[-2].text
    assert told.frames[-1].pairs.shown[0, 0] > told.frames[-2].pairs.shown[0, 0]


def test_pairs_that_leave_are_told_although_their_lines_stay():
    close = rankone.RankOne([0.95, 0.9, 0.5], [0.95, 0.9, 0.5])
    frames = rankone.explain("ucb1-elim", close, horizon=20_000).frames
    end = next(place for place, frame in enumerate(frames) if frame.kind == "stage ends" and frame.stage == 1)
    before, after = frames[end], frames[end + 1]
    assert (before.pairs.left.sum(), after.pairs.left.sum()) == (9, 8)
    assert before.text.endswith("1 pair cannot reach that.")
    assert after.text.startswith("1 pair is eliminated: 3 of 3 rows and 3 of 3 columns remain, and 8 of 9 pairs.")


@pytest.mark.parametrize(
    ("policy", "horizon", "said"),
    [
        ("rank1elim-kl", 7, "3 of 3 rows and 2 of 2 columns remain: not one stage was over; try a longer horizon."),
        ("rank1elim-kl", 700, "remain: the race is not decided."),
        ("uts", 2_000, "'row 1' with 'col 1', the best pair. Learning that cost"),
        ("uniform", 1, "Shown most, 100% of the time: 'row 3' with 'col 2', not 'row 1' with 'col 1', the best."),
    ],
)
def test_every_run_ends_with_what_came_of_it(policy, horizon, said):
    end = rankone.explain(policy, SHARP, horizon=horizon, seed=1).frames[-1]
    assert (end.kind, end.step) == ("end", horizon)
    assert said in end.text


@pytest.mark.parametrize("policy", ["uts", "rank1elim-kl", "ucb1"])
def test_nobody_leads_before_anything_is_known(policy):
    frames = rankone.explain(policy, SHARP, horizon=20).frames
    assert frames[0].leader is None
    assert all(frame.leader is None for frame in frames if not frame.step)
    assert frames[-1].leader is not None


def test_truth_is_what_the_estimates_estimate():
    """Of a row: its mean over the columns it was shown with; of a pair: its click probability."""
    frame = rankone.explain("rank1elim-kl", SHARP, horizon=2_000, seed=2).frames[-1]
    for line in lines(frame):
        error = (line.truth * (1 - line.truth) / line.pulls) ** 0.5
        assert abs(line.clicks / line.pulls - line.truth) < 4.5 * error
    last = rankone.explain("uts", SHARP, horizon=50).frames[-1]
    assert [line.truth for line in last.levels[0]] == SHARP.means[:, last.leader[1]].tolist()


@pytest.mark.parametrize("name", ["osub", "klucb-ub", "imed-ub", "top-two"])
def test_scores_are_those_of_the_leaders_cross(name):
    agent = ready(name, 100).agent(3, 2)
    for _ in range(60):
        decision = agent.ask()
        agent.tell(decision, decision.row == 0)
    seen = view(agent.state)
    score = seen.high if seen.score is None else seen.score
    cross = {(seen.leader // 2) * 2 + col for col in range(2)} | {row * 2 + seen.leader % 2 for row in range(3)}
    assert {pair for pair in range(6) if not np.isnan(score[pair])} == cross
    if seen.score is None:  # an index is never below the mean
        assert all(score[pair] >= seen.clicks[pair] / seen.pulls[pair] for pair in cross)


def test_pair_elimination_shows_the_pairs_that_are_left():
    policy = ready("ucb1-elim", 3_000)
    agent = policy.agent(3, 2)
    for _ in range(2_000):
        decision = agent.ask()
        agent.tell(decision, decision.row == 0)
    seen, standing = view(agent.state), race(agent.state)
    assert seen.left.sum() < 6
    assert (seen.left.reshape(3, 2).any(axis=1) == standing.left[0]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"horizon": 0}, "horizon"),
        ({"horizon": 2_000_000}, "at most 1,000,000"),
        ({"seed": -1}, "seed"),
        ({"policy": "nobody"}, "Expected one of the policies"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(rankone.errors.InputError, match=message):
        rankone.explain(**arguments)


def test_one_pair_is_settled_at_once():
    frames = rankone.explain("rank1elim-kl", rankone.RankOne([0.5], [0.5]), horizon=10).frames
    assert [frame.kind for frame in frames] == ["start", "settled", "end"]


@pytest.mark.parametrize(
    "problem",
    [SHARP, "needle:2x2", rankone.as_problem("latent:4x3"), rankone.as_problem("clustered-linear:4x3:d=2")],
    ids=["values", "name", "users", "clusters"],
)
def test_the_page_says_how_to_make_it_again(problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = rankone.explain(None if "users" in repr(problem) else "uts", problem, horizon=40, seed=4)
    if told.again.startswith("rankone"):
        done = CliRunner().invoke(build_app(), shlex.split(told.again)[1:])
        assert done.exit_code == 0, done.output
    else:
        exec(compile(told.again, "again", "exec"), {})
    again = (tmp_path / "explain" / "explain.html").read_text()
    assert again == told.html()


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(rankone.errors.StorageError, match="Expected to write"):
        rankone.explain("uniform", horizon=5).save(tmp_path / "file")
