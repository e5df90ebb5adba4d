"""Outcomes left out by the level they belong to: the others are not compared with it where it cannot answer."""

import pytest

from rankone.live import Experiment

from .helpers import Clock, at, generator, saved


def open_one(db, clock=None, **settings):
    return at(clock)("homepage", ["A", "B"], ["1", "2"], db=db, aim="decide", seed=3, durability="off", **settings)


def visit(experiment, count, seed=0, rate=0.4):
    rng = generator(seed, "visits")
    for _ in range(count):
        experiment.tell(experiment.ask(), bool(rng.random() < rate))


@pytest.mark.parametrize("side", ["row", "col"])
def test_a_level_that_came_later_can_be_left_out(sqlite_db, side):
    with open_one(sqlite_db) as experiment:
        visit(experiment, 60)
        before = experiment.look(lambda fold: fold.evidence.in_time.logs[2:4, 2:4].copy())
        experiment.add_level(side, "new")
        visit(experiment, 40)
        experiment.exclude(levels={side: "new"})
        visit(experiment, 10)
        first = 3 if side == "row" else 2
        after = experiment.look(lambda fold: fold.evidence.in_time.logs[first : first + 2, first : first + 2].copy())
        assert (abs(after) >= 0).all()
        assert after.any() == before.any()  # what was known of the columns is not lost
        told = saved(experiment)
    with Experiment("homepage", db=sqlite_db) as again:
        assert saved(again) == told


def test_windows_that_were_open_are_not_held_against_the_level(sqlite_db):
    clock = Clock()
    with open_one(sqlite_db, outcomes={"window": 600}, clock=clock) as experiment:
        rng = generator(1, "visits")
        for decision in experiment.ask(400):
            if rng.random() < 0.4:
                experiment.tell(decision, True)
        experiment.exclude(levels={"row": "A"})
        clock.pass_seconds(700)
        experiment.settle()
        report = experiment.report()
        assert [level.in_race for level in report.factors[0].levels] == [True, True]
        assert report.factors[0].levels[0].outcomes == 0  # its open decisions are void, told or not
        compared = experiment.look(lambda fold: fold.evidence.in_time.logs[:2, :2].any())
        assert not compared
        told = saved(experiment)
    with at(clock)("homepage", db=sqlite_db) as again:
        assert saved(again) == told


def test_voids_of_explored_decisions_do_not_reach_the_policy(sqlite_db):
    settings = {"policy": "rank1elim-kl:horizon=100000", "aim": "both", "seed": 3, "durability": "off"}
    with Experiment("homepage", 3, 3, db=sqlite_db, **settings) as experiment:
        rng = generator(2, "visits")
        for number in range(600):
            decision = experiment.ask()
            if number % 5 == 0:
                experiment.void(decision)
            else:
                experiment.tell(decision, bool(rng.random() < 0.4))
        assert experiment.look(lambda fold: fold.fillers) == 0
