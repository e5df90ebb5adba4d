"""Decisions that are no pairs in a rank-1 world: the one loop plays them as a plain loop does, and studies, sweeps,
reports and charts take them without knowing their class."""

import pytest

import rankone
from rankone.errors import DecisionError, InputError
from rankone.numerics.seeds import generator
from rankone.pages.report import report
from rankone.problems.base import problem_from_dict, problem_to_dict
from rankone.simulation.arena import _players
from rankone.simulation.feedback import as_feedback
from tests import kinds
from tests.oracles import kinds as plain

FACTORS = kinds.Factors([[0.9, 0.5], [0.4, 0.8], [0.7, 0.9]])
CASCADE = kinds.Cascade([0.1, 0.5, 0.3, 0.2, 0.05])
DRIFTING = kinds.Drifting([[0.9, 0.2], [0.4, 0.6], [0.1, 0.7]])
VISITORS = kinds.Visitors([[[0.9, 0.1], [0.2, 0.3]], [[0.1, 0.2], [0.8, 0.3]], [[0.5, 0.6], [0.7, 0.1]]])
CASES = {
    "combination": (FACTORS, kinds.FactorsGreedy(), plain.FactorsGreedy, plain.FactorsWorld),
    "list": (CASCADE, kinds.Ranking(), plain.Ranking, plain.CascadeWorld),
    "moving": (DRIFTING, rankone.policies.Uniform(), plain.UniformPair, plain.DriftingWorld),
    "context and silence": (VISITORS, kinds.Segments(), plain.Segments, plain.VisitorsWorld),
}
LATE = ["immediate", "delay:steps=3", "delay:mean=5", "batch:size=16", "delay:mean=5+batch:size=8"]


@pytest.mark.parametrize("feedback", LATE)
@pytest.mark.parametrize("case", CASES)
def test_the_loop_plays_as_a_plain_one(case, feedback):
    problem, policy, player, world = CASES[case]
    late, checkpoints = as_feedback(feedback), [1, 20, 150, 400]
    study = rankone.simulate(problem, policy, 400, runs=2, seed=3, workers=1, checkpoints=checkpoints, feedback=late)
    named = () if late.is_immediate else (late.label,)
    for run in study.runs:
        rng = generator(3, problem.digest, policy.label, run.run, *named)
        expected = plain.plain_regrets(player(problem.shape), world(problem.rates), checkpoints, rng, late)
        assert run.regret == pytest.approx(expected, abs=1e-9)
        assert run.regret[-1] > 0


def test_every_outcome_is_learned_under_its_tag_or_withdrawn():
    agent = kinds.FactorsGreedy().agent(2, 2, 2, seed=1)
    decisions = [agent.ask() for _ in range(20)]
    for decision in reversed(decisions):
        agent.tell(decision, 1)
    assert agent.state.tags.tolist() == [2, 3, 3, 3, 3, 3, 3]
    agent = kinds.Segments().agent(2, 2, n_context=1)
    agent.void(agent.ask([2.0]))
    agent.tell(agent.ask([1.0]), 1)
    assert agent.state.silent.tolist() == [0, 0, 1]
    assert agent.state.pulls.sum(axis=(1, 2)).tolist() == [0, 1, 0]


def test_an_agent_shows_what_the_policy_plays():
    agent = kinds.Ranking().agent(n_items=5, n_positions=3, seed=2)
    decision = agent.ask()
    assert len(set(decision.shown)) == 3
    for wrong in (1, [1, 0], "101", [1, 0, 2]):
        with pytest.raises(InputError, match="Expected clicked as"):
            agent.tell(decision, wrong)
    agent.tell(decision, [0, 1, 0])
    assert agent.state.seen[list(decision.shown)].tolist() == [1, 1, 0]
    with pytest.raises(DecisionError, match="Expected a decision still open"):
        agent.tell(decision, [0, 1, 0])
    with pytest.raises(
        InputError, match=r"Expected the sizes \(n_items, n_positions\) of test-ranking, but got 3 sizes"
    ):
        kinds.Ranking().agent(5, 3, 2)
    with pytest.raises(InputError, match="Expected 1 number of context, but got 0"):
        kinds.Segments().agent(2, 2, n_context=1).ask()


def test_a_pair_is_a_combination_of_two():
    study = rankone.simulate(rankone.needle(4, 4), kinds.FactorsGreedy(), 200, runs=1, workers=1)
    assert study.runs[0].regret[-1] > 0


def test_a_study_is_kept_resumed_drawn_and_reported(tmp_path):
    problems = [FACTORS, kinds.Factors([[0.9, 0.1]] * 3, name="other")]
    settings = {"horizon": 200, "seed": 1, "out": tmp_path, "checkpoints": 10}
    first = rankone.simulate(problems, "test-factors-greedy", runs=2, workers=2, **settings)
    counted = []
    again = rankone.simulate(
        problems, "test-factors-greedy", runs=3, workers=1, progress=lambda done, _: counted.append(done), **settings
    )
    assert counted[0] == 4, "what was finished is kept"
    loaded = rankone.Study.load(tmp_path)
    assert loaded.table.equals(again.table)
    assert [problem.digest for problem in loaded.problems] == [problem.digest for problem in problems]
    assert first.table.height == 40
    loaded.save(tmp_path / "saved")
    page = report(tmp_path, tmp_path / "report.html").read_text()
    assert "2 x 2 x 2" in page
    assert "problem_from_dict" in page


def test_a_problem_comes_back_from_its_values():
    for problem in (FACTORS, CASCADE, DRIFTING, VISITORS, rankone.needle(3, 4)):
        again = problem_from_dict(problem_to_dict(problem))
        assert (type(again), again.name, again.digest) == (type(problem), problem.name, problem.digest)
    assert "kind" not in problem_to_dict(rankone.needle(3, 4)), "as stored studies have it"
    with pytest.raises(InputError, match=r"known here, but got unheard-of. Import the module that defines it"):
        problem_from_dict({"kind": "unheard-of"})


def test_a_sweep_takes_them(tmp_path):
    found = rankone.sweep(
        FACTORS, "test-factors-greedy:epsilon={e}", horizon=300, grid={"e": [0.1, 0.9]}, runs=2, workers=1
    )
    assert found.table["factors"].to_list() == [3, 3]
    assert found.table["cut_off"].to_list() == [False, True]
    found.save(tmp_path)
    assert "problem_from_dict" in report(tmp_path, tmp_path / "report.html").read_text()


SAYS = "Expected a policy that plays {}, as .* asks for, but got {}, which plays {}. Choose another policy"


@pytest.mark.parametrize(
    ("meet", "said"),
    [
        (lambda _: rankone.simulate(FACTORS, "ucb1-elim", 10), ("combinations", "ucb1-elim.*", "pairs")),
        (
            lambda _: rankone.simulate(CASCADE, "test-factors-greedy", 10),
            ("lists", "test-factors-greedy", "combinations"),
        ),
        (lambda _: rankone.sweep(CASCADE, "uts", 10, grid={"a": [1]}), None),
        (
            lambda _: rankone.sweep(CASCADE, "kl-ucb:c={c}", 10, grid={"c": [1]}),
            ("lists", "kl-ucb:c=1", "combinations"),
        ),
        (lambda _: rankone.arena("two-by-two", "test-ranking"), ("pairs", "test-ranking", "lists")),
        (lambda _: rankone.explain("test-ranking", "needle:2x2"), ("pairs", "test-ranking", "lists")),
        (
            lambda folder: rankone.Experiment("x", 2, 2, "test-ranking", folder / "x.db"),
            ("pairs", "test-ranking", "lists"),
        ),
    ],
    ids=[
        "simulate",
        "simulate a list",
        "sweep",
        "sweep of a list",
        "arena",
        "explain",
        "Experiment",
    ],
)
def test_a_mismatch_is_refused_up_front(meet, said, tmp_path):
    with pytest.raises(InputError, match=SAYS.format(*said) if said else "in a problem, policy, horizon or feedback"):
        meet(tmp_path)
    assert not list(tmp_path.glob("*.db")) or said


def test_a_policy_that_looks_at_the_context_is_refused_where_there_is_none(tmp_path):
    """Compiled, it would read beyond an empty array, and choose by whatever stands there."""
    meetings = {
        "the problem needle:2x2": lambda: rankone.simulate("needle:2x2", "test-segments", horizon=10, workers=1),
        "the caller of ask": lambda: rankone.as_policy("test-segments").agent(2, 2),
        "a live experiment": lambda: rankone.Experiment(
            "none", rows=["a"], cols=["b"], policy="test-segments", db=tmp_path / "none.db"
        ),
    }
    for whose, meet in meetings.items():
        said = f"Expected a context from {whose}, but got none, and test-segments looks at it. "
        if whose == "a live experiment":
            said = "Expected attributes of visitors that make features, but got none, and the policy is test-segments. "
        with pytest.raises(InputError, match=said):
            meet()
    assert rankone.as_policy("test-segments").agent(2, 2, n_context=1).ask([1.0]).tag == 1


def test_what_needs_rows_and_columns_says_so():
    for ask in (
        lambda: rankone.hardness(CASCADE),
        lambda: rankone.lower_bound(CASCADE, 9),
    ):
        with pytest.raises(
            InputError,
            match=r"Expected a (rank-1 problem|problem of factors), .*, but got <Cascade test-cascade: 5 x 3>. Try",
        ):
            ask()
    with pytest.raises(InputError, match=r"Expected factors, or visitors .*, but got lists\. See `rankone simulate`"):
        rankone.explain("uts", CASCADE)


def test_an_arena_of_all_policies_leaves_other_kinds_out():
    players = {player.label for player in _players(None, "uts")}
    assert not players & {"test-ranking", "test-segments"}
    assert {"uts", "ucb1"} <= players


def test_a_policy_that_plays_something_unheard_of_is_refused():
    with pytest.raises(
        InputError, match=r"Expected Dancer.decision_kind as one of pair, combination, list, but got tango"
    ):

        class Dancer(rankone.Policy):
            decision_kind = "tango"


def test_an_unfinished_problem_says_what_is_missing():
    class Empty(rankone.problems.Problem):
        name = "empty"

        def __init__(self, rates):
            """What it takes is kept nowhere."""

    for ask in (lambda: Empty([]).shape, Empty([]).start, Empty([]).to_dict):
        with pytest.raises(InputError, match=r"Expected .* of Empty, but got none. Define it"):
            ask()


def test_recommended_policies_play_pairs():
    for settings in (
        {},
        {"feedback": "batch:size=10"},
        {"stages_only": True},
        {"guarantee": True},
        {"rank1": False},
    ):
        assert rankone.recommend(**settings).policy.decision_kind != "list"
