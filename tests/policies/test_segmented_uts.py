"""Segments learn together while they agree and apart when they do not: against plain formulas, and by their regret."""

import numpy as np
import pytest

import rankone
from rankone.compiling.compiled import compiled
from rankone.errors import InputError
from rankone.kernels.feedback import Scratch
from rankone.kernels.play import play_through
from rankone.numerics.betas.beta import draw_beta
from rankone.numerics.seeds import generator
from rankone.policies.engines.common_factors import top_of
from rankone.policies.engines.segment_tests import differs, differs_in
from rankone.policies.factors.unimodal.segmented_uts import (
    SEG_COMMON,
    SEG_GROUP,
    SEG_LED,
    SEG_MEMBERS,
    SEG_SEEN,
    SEG_SOURCE,
    SEG_USED,
    SegmentedUTS,
    part,
)
from rankone.problems.base import problem_from_dict, problem_to_dict
from rankone.problems.segmented import Segmented
from rankone.testing import ProblemSuite
from tests.oracles.segmented import plain_differs, plain_differs_in, plain_step

ROWS, OTHER, COLS = [0.9, 0.6, 0.4], [0.4, 0.6, 0.9], [0.9, 0.5]
AGREE = [[ROWS, COLS], [[0.5 * rate for rate in ROWS], COLS], [ROWS, COLS]]
DIFFER = [[ROWS, COLS], [ROWS, COLS], [OTHER, COLS]]


def played(policy, world, visitors, seed):
    """Play; return the state and the regret."""
    state, scratch = policy.start(*world.shape), Scratch.new(world.layout)
    regrets, _ = play_through(state, world.start(), None, generator(seed, "segments"), np.array([visitors]), scratch)
    return state, regrets[-1]


def _differs(state, segment, group, member):
    return differs(state, segment, group, member)


def _differs_in(state, factor, segment, group, reference):
    return differs_in(state, factor, segment, group, reference)


def _draw(pulls, clicks, rng):
    return draw_beta(pulls, clicks, rng)


def test_groups_hold_what_their_members_saw_and_doubt_is_that_of_the_plain_twin():
    policy = SegmentedUTS(segments=3)
    ask = compiled(_differs, __name__)
    for seed in range(3):
        state, _ = played(policy, Segmented(DIFFER), 1500, seed)
        group = state.grouping[SEG_GROUP].tolist()
        assert [group.count(number) for number in range(3)] == state.grouping[SEG_MEMBERS].tolist()
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
                assert ask(state, segment, 3 + number, member) == pytest.approx(plain_differs(*counts), rel=1e-9)


@pytest.mark.parametrize("shape", [(3, 2), (3, 2, 2)])
def test_what_differs_in_a_factor_is_that_of_the_plain_twin(shape):
    rng, state = np.random.default_rng(1), SegmentedUTS(segments=1).start(*shape)
    ask = compiled(_differs_in, __name__)
    for _ in range(20):
        state.pulls[:2] = rng.integers(0, 30, state.pulls[:2].shape) * (rng.random(state.pulls[:2].shape) < 0.7)
        state.clicks[:2] = rng.binomial(state.pulls[:2], rng.random((2, 1)))
        counts = [(state.pulls[part].reshape(shape), state.clicks[part].reshape(shape)) for part in range(2)]
        for factor, size in enumerate(shape):
            for reference in range(size):
                found = ask(state, factor, 0, 1, reference)
                assert found == pytest.approx(plain_differs_in(factor, *counts, reference), rel=1e-9)


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


def _top(state, number):
    return top_of(part(state, number))


@pytest.mark.parametrize("coin", [False, True])
def test_with_common_factors_it_decides_as_the_plain_twin(coin):
    """On the same random numbers, decision by decision, in three factors of which one differs."""
    shape, third = (3, 2, 2), [0.9, 0.6]
    worlds = [np.einsum("i,j,k", rows, COLS, third) for rows in (ROWS, ROWS, OTHER)]
    agent = rankone.Agent(SegmentedUTS(segments=3, coin=coin), *shape, seed=3, n_context=1)
    clicks, shared = generator(1, "clicks"), [0, 0]
    draw, top = compiled(_draw, __name__), compiled(_top, __name__)
    for visit in range(2500):
        segment, state = visit % 3, agent.state
        copy = type(state)(*(array.copy() for array in state))
        rng = np.random.Generator(np.random.PCG64())
        rng.bit_generator.state = agent.rng.bit_generator.state
        made = agent.ask([segment])
        source, group = copy.grouping[SEG_SOURCE, segment], copy.grouping[SEG_GROUP, segment]
        members, seen = copy.grouping[SEG_MEMBERS], copy.grouping[SEG_SEEN, segment]
        learns, alone, common = source >= 0 and members[source] > 0, members[group] == 1, []
        used = segment if alone else 3 + group
        if learns or not alone:
            drawn, least = rng.random(), min(0.5, 3.0 / np.sqrt(seen)) if seen else 0.0
            asked, drawn = divmod(drawn * (3.0 / least), 1.0) if drawn < least else (None, drawn)
            if asked is not None or drawn < copy.doubt[segment]:
                used = segment
            if learns or asked is not None:
                common = [factor for factor in range(3) if factor != asked and drawn >= copy.own[segment, factor]]
        assert state.last[SEG_COMMON] == sum(1 << factor for factor in common), visit
        assert state.last[SEG_USED] == used
        if common:
            counts = [getattr(copy, name)[used].reshape(shape) for name in ("pulls", "clicks", "led")]
            parts = used, 3 + (source if learns else group)
            leads = [top(copy, number) for number in parts]
            for number, leader in zip(parts, leads, strict=True):
                pulls = copy.pulls[number]
                means = np.where(pulls > 0, copy.clicks[number] / np.maximum(1, pulls), -1.0)
                assert means[leader] == means.max()
            start, like = (tuple(map(int, np.unravel_index(leader, shape))) for leader in leads)
            shown, led = plain_step(*counts, start, like, common, coin, rng, draw)
            assert (made.shown, state.last[SEG_LED]) == (shown, np.ravel_multi_index(led, shape)), visit
            assert rng.bit_generator.state == agent.rng.bit_generator.state
            shared[int(learns)] += 1
        agent.tell(made, bool(clicks.random() < worlds[segment][made.shown]))
    assert min(shared) > 100  # asked in its group, and after it has left


def test_segments_that_agree_stay_together_and_one_that_differs_leaves():
    together = 0
    for seed in range(6):
        state, _ = played(SegmentedUTS(segments=3), Segmented(AGREE), 4000, seed)
        together += len(set(state.grouping[SEG_GROUP].tolist())) == 1
        state, _ = played(SegmentedUTS(segments=3), Segmented(DIFFER), 4000, seed)
        assert state.grouping[SEG_GROUP, 2] not in state.grouping[SEG_GROUP, :2]
    assert together >= 5


def test_what_is_common_is_learned_together_after_segments_have_parted():
    """As `benchmarks/bench_segments.py` has it: rows differ in two of four segments, columns are common."""
    rows = [0.9, 0.7, 0.6, 0.5, 0.4, 0.3]
    parted = [rows, rows, [0.5, 0.9, 0.6, 0.7, 0.4, 0.3], [0.4, 0.5, 0.9, 0.7, 0.6, 0.3]]

    def regrets(policy, segments, runs=24):
        world = Segmented([[row, rows] for row in segments])
        return np.array([played(policy, world, 50_000, seed)[1] for seed in range(runs)])

    ours, apart = (regrets(SegmentedUTS(segments=4, apart=each), parted) for each in (False, True))
    error = np.sqrt((ours.var() + apart.var()) / len(ours))
    assert ours.mean() < apart.mean() + 2 * error  # on the average of many runs it is below
    assert ours.mean() < regrets(rankone.as_policy("uts"), parted, 4).mean() / 10
    alike = regrets(SegmentedUTS(segments=4), [rows] * 4)
    ignored = regrets(rankone.as_policy("uts"), [rows] * 4)
    error = np.sqrt((alike.var() + 1.3**2 * ignored.var()) / len(alike))
    assert alike.mean() < 1.3 * ignored.mean() + 2 * error


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
