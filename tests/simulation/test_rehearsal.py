"""Rehearsals: they are what an experiment does, and they try to break what verdicts promise."""

from __future__ import annotations

import math

import pytest
from benchmarks.site_movements import MOVEMENTS, movement

import rankone
from rankone.errors import InputError
from rankone.evidence.steering import EXPLORE
from rankone.numerics.seeds import generator
from rankone.simulation.plans.rehearsal import simulate_experiment
from tests.levels import numbers

HALVED = rankone.RankOne([0.35, 0.2, 0.15], [0.8, 0.4])  # room for a site whose rate doubles
PROBLEM = rankone.RankOne([0.7, 0.4, 0.3], [0.8, 0.4])


@pytest.mark.parametrize(("aim", "decided"), [("decide", True), ("both", True), ("earn", False)])
def test_a_rehearsal_is_what_an_experiment_does(aim: str, decided: bool) -> None:
    visitors, seed, site = 1_000, 5, movement("cycle", 1_000)
    (found,) = simulate_experiment(PROBLEM, aim=aim, site=site, visitors=visitors, checkpoints=[300], seed=seed, runs=1)
    luck, lost, losses, verdict = generator(seed, "visitors"), 0.0, [], None
    with rankone.Experiment("rehearsed", rows=3, cols=2, db=":memory:", aim=aim, seed=seed) as experiment:
        for number in range(visitors):
            decision = experiment.ask()
            rate = PROBLEM.means[tuple(numbers(experiment, decision))]
            experiment.tell(decision, clicked=luck.random() < site[number] * rate)
            lost += site[number] * (PROBLEM.best_mean - rate)
            losses.append(lost)
            if verdict is None and experiment.look(lambda fold: fold.evidence.steering.shares[EXPLORE]) == 0.0:
                verdict = number + 1
    assert found.verdict == verdict
    assert (verdict is not None) == decided
    assert found.losses.tolist() == pytest.approx([losses[299], losses[-1]])
    assert found.lost == pytest.approx(losses[(verdict or visitors) - 1])


def test_after_the_verdict_it_stops_plays_on_or_weighs_on() -> None:
    runs = {
        after: simulate_experiment(PROBLEM, aim="decide", visitors=3_000, after=after, runs=2)
        for after in ("stop", "play", "weigh")
    }
    assert [run.verdict for run in runs["stop"]] == [run.verdict for run in runs["weigh"]]
    assert all(run.losses[-1] != run.losses[-1] for run in runs["stop"])  # not a number: it was not played
    assert all(run.losses[-1] >= run.lost for run in runs["play"])


def test_no_verdict_says_what_was_lost() -> None:
    (found,) = simulate_experiment(PROBLEM, aim="decide", visitors=40, runs=1)
    assert (found.verdict, found.pair, found.wrong) == (None, None, False)
    assert found.lost == found.losses[-1] > 0.0


def test_bad_input() -> None:
    with pytest.raises(InputError, match="click rates from 0 to 1 at all times"):
        simulate_experiment(PROBLEM, site=movement("doubled", 100), runs=1)


@pytest.mark.parametrize("name", MOVEMENTS)
def test_movements_are_never_negative_and_move_but_for_one(name: str) -> None:
    factors = movement(name, 4_000)
    assert len(factors) == 4_000
    assert factors.min() > 0.0
    assert (factors.std() > 0.1) == (name != "steady")


@pytest.mark.parametrize(("policy", "aim"), [("uts", "both"), ("uts", "decide"), ("top-two", "earn")])
def test_equal_levels_are_hardly_ever_told_apart_while_the_site_moves(policy: str, aim: str) -> None:
    """The promise is 5% of experiments; `python -m benchmarks verdicts` has 400 runs of each movement."""
    equal, found = rankone.RankOne([0.5, 0.5], [0.4, 0.4]), []
    for site in MOVEMENTS:
        moves = movement(site, 1_500)
        found += simulate_experiment(equal, policy=policy, aim=aim, site=moves, visitors=1_500, after="weigh", runs=15)
    most = len(found) * 0.05 + 3.0 * math.sqrt(len(found) * 0.05 * 0.95)  # more in one experiment of 740
    assert sum(each.verdict is not None for each in found) <= most
    assert sum(each.beaten_wrongly > 0 for each in found) <= most


def test_unequal_levels_are_told_apart_while_the_site_moves() -> None:
    for site in MOVEMENTS:
        found = simulate_experiment(
            HALVED, aim="both", site=movement(site, 8_000), visitors=8_000, after="stop", runs=5
        )
        assert [(each.pair, each.wrong) for each in found] == [((0, 0), False)] * 5
