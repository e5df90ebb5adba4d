"""Segments learn together while they agree and apart when they do not: against plain formulas, and by their regret."""

import numpy as np
import pytest

import rankone
from rankone.compiling.compiled import compiled
from rankone.errors import InputError
from rankone.kernels.feedback import Scratch
from rankone.kernels.play import play_through
from rankone.numerics.seeds import generator
from rankone.policies.pairs.segmented_uts import SEG_GROUP, SEG_MEMBERS, SegmentedUTS, differs
from rankone.problems.base import problem_from_dict, problem_to_dict
from rankone.problems.segmented import Segmented
from rankone.testing import ProblemSuite
from tests.oracles.segmented import plain_differs

ROWS, OTHER, COLS = [0.9, 0.6, 0.4], [0.4, 0.6, 0.9], [0.9, 0.5]
AGREE = [[ROWS, COLS], [[0.5 * rate for rate in ROWS], COLS], [ROWS, COLS]]
DIFFER = [[ROWS, COLS], [ROWS, COLS], [OTHER, COLS]]


def played(policy, world, visitors, seed):
    """Play; return the state and the regret."""
    state, scratch = policy.start(*world.shape), Scratch.new(world.layout)
    regrets, _ = play_through(state, world.start(), None, generator(seed, "segments"), np.array([visitors]), scratch)
    return state, regrets[-1]


def _differs(state, segment, group):
    return differs(state, segment, group)


def test_groups_hold_what_their_members_saw_and_doubt_is_that_of_the_plain_twin():
    policy = SegmentedUTS(segments=3)
    ask = compiled(_differs, __name__)
    for seed in range(3):
        state, _ = played(policy, Segmented(DIFFER), 1500, seed)
        group = state.place[SEG_GROUP].tolist()
        assert [group.count(number) for number in range(3)] == state.place[SEG_MEMBERS].tolist()
        for number in set(group):
            members = [segment for segment in range(3) if group[segment] == number]
            assert (state.pulls[3 + number] == state.pulls[members].sum(axis=0)).all()
            assert (state.clicks[3 + number] == state.clicks[members].sum(axis=0)).all()
        for segment in range(3):
            for number in set(group):
                member = group[segment] == number
                ours, clicks = state.pulls[segment], state.clicks[segment]
                others = state.pulls[3 + number] - member * ours
                theirs = state.clicks[3 + number] - member * clicks
                counts = [each.reshape(3, 2).astype(float) for each in (ours, clicks, others, theirs)]
                assert ask(state, segment, number) == pytest.approx(plain_differs(*counts), rel=1e-9)


def test_apart_it_is_a_uts_for_each_segment():
    """On the same random numbers, decision by decision."""
    agent = rankone.Agent("segmented-uts:segments=2,apart=true", 3, 2, seed=5, n_context=1)
    twins = [rankone.Agent("uts", 3, 2, seed=5) for _ in range(2)]
    for twin in twins:
        twin.rng = agent.rng
    clicks, state = generator(1, "clicks"), agent.rng.bit_generator
    for visit in range(300):
        segment, before = visit % 2, state.state
        made = agent.ask([segment])
        after, state.state = state.state, before
        same = twins[segment].ask()
        assert (made.row, made.col) == (same.row, same.col), visit
        assert state.state == after
        clicked = bool(clicks.random() < 0.3 + 0.1 * made.row)
        agent.tell(made, clicked)
        twins[segment].tell(same, clicked)


def test_segments_that_agree_stay_together_and_one_that_differs_leaves():
    together, regret, ignored, apart = 0, 0.0, 0.0, 0.0
    for seed in range(6):
        state, _ = played(SegmentedUTS(segments=3), Segmented(AGREE), 4000, seed)
        together += len(set(state.place[SEG_GROUP].tolist())) == 1
        state, lost = played(SegmentedUTS(segments=3), Segmented(DIFFER), 4000, seed)
        assert state.place[SEG_GROUP, 2] not in state.place[SEG_GROUP, :2]
        regret += lost
        apart += played(SegmentedUTS(segments=3, apart=True), Segmented(DIFFER), 4000, seed)[1]
        ignored += played(rankone.as_policy("uts"), Segmented(DIFFER), 4000, seed)[1]
    assert together >= 5
    assert regret < ignored / 3
    assert regret < 2 * apart


def test_the_world_is_read_back_and_refuses_what_is_none():
    world = Segmented(DIFFER, shares=[1, 2, 3], name="mine")
    assert problem_from_dict(problem_to_dict(world)) == world
    for segments, shares in (
        ([], None),
        ([[ROWS, COLS], [COLS, ROWS]], None),
        ([[[1.5], [1]]], None),
        (DIFFER, [1, 2]),
    ):
        with pytest.raises(InputError):
            Segmented(segments, shares)
    with pytest.raises(InputError, match="a context from"):
        rankone.simulate("needle:2x2", "segmented-uts", 10, runs=1, workers=1)
    with pytest.raises(InputError, match="combinations of all segments"):
        SegmentedUTS(segments=200).start(200, 200)


class TestSegmentedWorld(ProblemSuite):
    problem = Segmented(DIFFER)
