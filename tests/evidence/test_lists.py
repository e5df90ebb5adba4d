"""Evidence about the items of lists: what it is, that it is not wrong more often than it says, what is said of it."""

import math

import numpy as np
import polars as pl
import pytest

from rankone import as_policy, evaluate_lists
from rankone.compiling.compiled import compiled
from rankone.evidence.levels import RATIOS, resized, start_evidence, weigh, weigh_click, with_late
from rankone.evidence.list_chances import CONTROL_LIST, EXPLORE, OWN, chances_at
from rankone.evidence.list_lottery import draw_list, list_shares, renewal_due, start_lottery
from rankone.evidence.lists import (
    ListClaims,
    compare_lists,
    list_standing,
    start_comparison,
    start_list_evidence,
    weigh_list,
)
from rankone.kernels.policy import believe, learn
from rankone.kernels.world import respond
from rankone.lists import PBM, Cascade
from rankone.numerics.seeds import generator
from tests.oracles.evidence import log_evidence

ERROR = 0.05
draw, learn_from = compiled(draw_list, draw_list.__module__), compiled(weigh_list, weigh_list.__module__)


def lists_of(problem, count, seed, shares, spec="cascade-ts", evidence=None, pinned=None):
    """Play a ranking; yield the lottery, what was shown, of which kind, its probabilities and clicks."""
    n_items, n_positions = problem.shape
    state, world, rng = as_policy(spec).start(*problem.shape), problem.start(), generator(seed, "lists", problem.kind)
    pinned = np.full(n_positions, -1) if pinned is None else pinned
    allowed = ~np.isin(np.arange(n_items), pinned)
    made, lottery = -1, None
    for at in range(count):
        if lottery is None or renewal_due(made, at):
            made, lottery = at, start_lottery(believe(state, rng), np.arange(n_items), shares, n_positions)
        shown, clicked = np.zeros((2, n_positions), np.int64)
        chances = np.zeros(n_positions)
        kind = draw(lottery, shown, allowed, pinned, rng, shown, chances)
        respond(world, shown, clicked, rng)
        if evidence is not None:
            learn_from(evidence, lottery, allowed, pinned, shown, kind, clicked, np.zeros(n_items))
        learn(state, np.where(pinned < 0, shown, -1), lottery.tag[0], clicked)
        yield lottery, shown, kind, chances, clicked


def shares_of(explore, control=0.0, items=6):
    return list_shares("both", explore, control, proven=False, lists=0, n_items=items)


@pytest.mark.parametrize("pinned", [None, [-1, 5, -1]])
def test_it_is_the_likelihood_ratio_of_its_definition_at_each_clicked_position(pinned):
    pinned = None if pinned is None else np.array(pinned)
    problem = PBM([0.5, 0.4, 0.3, 0.2, 0.2, 0.1], examination=[0.9, 0.6, 0.8])
    evidence, clicks, cross = start_list_evidence(6, 3, margin=0.0), [], np.zeros(6)
    for lottery, shown, kind, _, clicked in lists_of(problem, 400, 1, shares_of(0.4), evidence=evidence, pinned=pinned):
        held = np.full(3, -1) if pinned is None else pinned
        for position in range(3):
            if clicked[position] and held[position] < 0:
                assert chances_at(lottery, ~np.isin(np.arange(6), held), held, shown, kind, position, cross)
                clicks.append(((shown[position],), cross.copy()))
    for x, y in ((0, 4), (4, 0), (2, 3)):
        wanted = log_evidence(clicks, x, y, RATIOS)
        assert evidence.now[x, y] == pytest.approx(wanted[-1], abs=1e-8)
        assert evidence.proof[x, y] == pytest.approx(max(0.0, wanted.max()), abs=1e-8)
    if pinned is not None:
        assert not evidence.logs[5].any()
        assert not evidence.logs[:, 5].any()


def test_a_page_of_one_position_has_the_evidence_of_an_experiment_with_one_factor():
    problem = PBM([0.6, 0.5, 0.3], examination=[1.0])
    evidence, cross, rows = start_list_evidence(3, 1), np.zeros(3), []
    for lottery, shown, kind, _, clicked in lists_of(problem, 600, 2, shares_of(0.5), evidence=evidence):
        assert chances_at(lottery, np.ones(3, bool), np.array([-1]), shown, kind, 0, cross)
        rows.append((shown.copy(), clicked[0], cross.copy()))
    wanted, traffic = start_evidence((3,)), start_evidence((3,))
    shown, clicked, crosses = (np.array([row[part] for row in rows]) for part in range(3))
    compiled(weigh, weigh.__module__)(wanted, traffic, shown, clicked, crosses)
    assert wanted.silent.any()
    for ours, theirs in zip(evidence, wanted, strict=True):
        assert (ours == theirs).all()


@pytest.mark.parametrize("make", [lambda: Cascade([0.3] * 5, 3), lambda: PBM([0.3] * 5, examination=[1.0, 0.5, 0.2])])
def test_equal_items_are_not_told_apart_more_often_than_said(make):
    wrong, runs, claims = 0, 30, ListClaims(ERROR, 5, 3)
    for seed in range(runs):
        evidence = start_list_evidence(5, 3)
        for _ in lists_of(make(), 500, seed, shares_of(0.3, items=5), evidence=evidence):
            pass
        wrong += (evidence.proof >= claims.of_pairs).any()
    assert wrong <= ERROR * runs + 3 * math.sqrt(ERROR * runs)


def test_the_best_are_found_and_what_is_proven_is_said():
    evidence, claims = start_list_evidence(6, 2, margin=0.1), ListClaims(ERROR, 6, 2)
    for _ in lists_of(Cascade([0.5, 0.45, 0.1, 0.1, 0.1, 0.1], 2), 3_000, 5, shares_of(0.5), evidence=evidence):
        pass
    known = list_standing(evidence, claims)
    assert sorted(known.best.tolist()) == [0, 1]
    assert known.doubt <= ERROR
    assert known.enough_doubt <= ERROR
    assert known.inside[:2].all()
    assert not known.inside[2:].any()
    assert known.outside[2:].all()
    assert known.order_doubt > ERROR  # 0.5 and 0.45: not told apart by so few


def test_a_statement_spends_all_of_its_error():
    claims = ListClaims(ERROR, 10, 3)
    assert claims.of_set == pytest.approx(math.log(21 / ERROR))
    assert claims.of_pairs == pytest.approx(math.log(90 / ERROR))
    assert claims.of_order == pytest.approx(math.log(45 / ERROR))
    assert claims.of_order > claims.of_set


def test_the_order_takes_that_each_beats_the_next_and_all_others():
    known, claims = start_list_evidence(4, 2), ListClaims(ERROR, 4, 2)
    known.proof[:2, 2:] = known.now[:2, 2:] = claims.of_set
    found = list_standing(known, claims)
    assert (found.doubt, found.proven) == (pytest.approx(ERROR), 1.0)
    assert (found.order_doubt, found.order_proven) == (1.0, 0.0)
    known.proof[0, 1] = known.now[0, 1] = claims.of_order
    found = list_standing(known, claims)
    assert found.order_doubt > ERROR, "the set has not the evidence that both statements at once take"
    assert found.order_proven == pytest.approx(0.2)
    known.proof[:2, 2:] = claims.of_order
    found = list_standing(known, claims)
    assert (found.order_doubt, found.order_proven) == (pytest.approx(ERROR), 1.0)


def test_where_all_items_fit_only_their_order_can_be_proven():
    known, claims = start_list_evidence(3, 3), ListClaims(ERROR, 3, 3)
    found = list_standing(known, claims)
    assert (found.order_doubt, found.order_proven) == (1.0, 0.0)
    known.proof[2, 1] = known.now[2, 1] = known.proof[1, 0] = known.now[1, 0] = claims.of_order + 1
    known.now[[1, 0], [2, 1]] = -1.0
    found = list_standing(known, claims)
    assert found.best.tolist() == [2, 1, 0]
    assert (found.order_doubt < ERROR, found.order_proven) == (True, 1.0)


def test_the_present_list_is_compared_with_the_start_list_by_clicks_of_either():
    shares, evidence, rng = np.array([0.6, 0.3, 0.0, 0.1]), start_comparison(), generator(3, "control")
    for kind in rng.choice(4, 4_000, p=shares):
        compare_lists(
            evidence, shares, int(kind), bool(rng.random() < {OWN: 0.4, EXPLORE: 0.9, CONTROL_LIST: 0.1}[kind])
        )
    bar = ListClaims(ERROR, 6, 3).of_lists
    assert evidence.proof[0, 1] > bar > evidence.proof[1, 0]


def test_other_lists_are_estimated_from_a_log_with_its_own_probabilities():
    problem, rows, clicks = Cascade([0.4, 0.3, 0.2, 0.1], 2), [], []
    for number, each in enumerate(lists_of(problem, 6_000, 7, shares_of(0.5, control=0.1), spec="cascade-ts")):
        _, shown, _, chances, clicked = each
        clicks.append(clicked.sum())
        rows += [(number, at + 1, str(shown[at]), int(clicked[at]), chances[at]) for at in range(2)]
    log = pl.DataFrame(rows, schema=["list", "position", "item", "clicked", "chance"], orient="row")
    found = evaluate_lists(log, ["2", "1"])
    row = found.table.filter(pl.col("estimator") == "rips").to_dicts()[0]
    error = (row["high"] - row["low"]) / 2 / 1.96
    assert abs(row["value"] - problem.value((2, 1))) < 4 * error
    assert found.logged == pytest.approx(np.mean(clicks))


def test_items_that_are_added_begin_at_nothing_and_late_clicks_only_take():
    problem = Cascade([0.5, 0.3, 0.1, 0.1], 2)
    evidence = start_list_evidence(4, 2, margin=0.1)
    for _ in lists_of(problem, 300, 9, shares_of(0.5), evidence=evidence):
        pass
    grown = resized(evidence, (5,))
    assert (grown.proof[:4, :4] == evidence.proof).all()
    assert not grown.logs[4].any()
    assert not grown.logs[:, 4].any()
    assert grown.silent.shape == (5, 5, 0)
    late = start_list_evidence(4, 2, margin=0.1)
    weigh_click(late, np.array([2]), np.full(4, 0.25))
    assert (with_late(evidence, late).proof <= evidence.proof).all()
    assert with_late(evidence, late).proof[0, 2] < evidence.proof[0, 2]
