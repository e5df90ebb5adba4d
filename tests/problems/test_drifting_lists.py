"""Lists that change while they are played."""

import numpy as np
import pytest

import rankone
from rankone.errors import InputError
from rankone.kernels.world import loss, move
from rankone.lists import DCM, PBM, SDBN, UBM, Cascade, DriftingLists
from rankone.testing import ProblemSuite

SCHEDULE = "changes=2,at=50x120,daily=0.5,day=40"
MADE = [
    PBM([0.5, 0.4, 0.2, 0.1], examination=[0.4, 1.0]),
    Cascade([0.5, 0.4, 0.2, 0.1], 2),
    DCM([0.5, 0.4, 0.2, 0.1], termination=[0.3, 0.9]),
]


class TestDriftingCascade(ProblemSuite):
    problem = DriftingLists(MADE[1], SCHEDULE)
    policy = "random-list"


class TestDriftingPBM(ProblemSuite):
    problem = DriftingLists(MADE[0], SCHEDULE)
    policy = "random-list"


@pytest.mark.parametrize("still", MADE, ids=lambda problem: problem.kind)
def test_a_list_loses_what_it_would_in_a_world_that_stands_still_there(still):
    changing = DriftingLists(still, SCHEDULE)
    world, tables = changing.start(), changing.drift.tables(still.attraction)
    for step, period in ((0, 0), (30, 0), (50, 1), (119, 1), (121, 2), (10, 0)):
        move(world, step, None)
        level = (1 + 0.5 * np.sin(2 * np.pi * step / 40)) / 1.5
        there = type(still)(level * tables[period], getattr(still, getattr(still, "parameter", "n_positions")))
        for shown in ([0, 1], [3, 2], [1, 3]):
            assert loss(world, np.array(shown)) == pytest.approx(there.best_value - there.value(shown), abs=1e-12)
    assert (still.start().attraction == still.attraction).all()


def test_a_study_plays_them_and_a_change_costs_a_policy_that_forgets_nothing():
    still, changing = (
        rankone.simulate(f"cascade:6x2{schedule}", ["cascade-ts"], horizon=2_000, runs=8, workers=1)
        for schedule in ("", "|changes=1,span=2000")
    )
    ends = [study.table.filter(step=2_000)["regret"].mean() for study in (still, changing)]
    assert ends[1] > 2 * ends[0]


def test_what_cannot_change_so_is_refused():
    with pytest.raises(InputError, match="at once"):
        DriftingLists(MADE[0], "drift=3")
    with pytest.raises(InputError, match="PBM, a Cascade or a DCM"):
        DriftingLists(UBM([0.5, 0.4, 0.1], [[1.0, 0.0, 0.0], [0.3, 0.9, 0.0]]), "changes=3")
    with pytest.raises(InputError, match="DriftingLists"):
        rankone.Drifting(MADE[0], "changes=3")


class TestSatisfactionOfItems(ProblemSuite):
    """What a click is worth depends on the item that was shown."""

    problem = SDBN([0.5, 0.4, 0.3, 0.6], [0.1, 0.9, 0.7, 0.3], positions=2)
    policy = "random-list"
