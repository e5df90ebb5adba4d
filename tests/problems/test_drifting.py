"""Problems that change: what every problem must do, schedules, files, regret against the best at each moment."""

import itertools

import numpy as np
import pytest

import rankone
from rankone.errors import InputError
from rankone.kernels.feedback import Scratch
from rankone.kernels.play import play_through
from rankone.numerics.seeds import generator
from rankone.problems import Drift, Drifting, load_problem, save_problem
from rankone.problems.drifting import DRIFT_HALF, DRIFT_SMOOTH
from rankone.testing import ProblemSuite

SPECS = [
    "needle:4x3|changes=3,span=1000",
    "random:3x4|drift=2,span=1000",
    "random:3x4|daily=0.6,weekly=0.2,day=100",
    "random:2x3|wear=50",
    "product:2x3x2|changes=2,span=500",
    "exception:4x4|changes=1,span=100",
]


class TestEveryDriftingProblem(ProblemSuite):
    @pytest.fixture(autouse=True, params=SPECS)
    def _each(self, request):
        self.problem = rankone.as_problem(request.param)


def rate_at(world, decision, shown):
    """How often a combination is clicked at a decision: a slow twin of the kernels."""
    segment = int(np.searchsorted(world.starts, decision, "right")) - 1
    number = int(np.ravel_multi_index(tuple(shown), tuple(world.sizes)))
    rate = world.rates[segment, number]
    if world.clock[DRIFT_SMOOTH] and segment + 1 < len(world.starts):
        start, end = world.starts[segment : segment + 2]
        rate += (world.rates[segment + 1, number] - rate) * (decision - start) / (end - start)
    if world.level[DRIFT_HALF] > 0.0:
        rate *= 0.5 ** (sum(world.shown[world.first + np.array(shown)]) / world.level[DRIFT_HALF])
    for swing, period in world.cycles.tolist():
        rate *= (1.0 + swing * np.sin(2.0 * np.pi * decision / period)) / (1.0 + swing)
    return rate


def regret_of(problem, pair, steps):
    """Regret of a policy that always shows one pair, at each step."""
    policy, checkpoints = rankone.policies.Best(levels=tuple(map(int, pair))), np.arange(1, steps + 1)
    scratch = Scratch.new(problem.layout)
    found, _ = play_through(policy.start(*problem.shape), problem.start(), None, generator(1), checkpoints, scratch)
    return np.diff(np.concatenate([[0.0], found]))


def test_regret_is_against_the_best_at_each_moment():
    problem = rankone.as_problem("random:3x2:seed=4|changes=2,span=300,daily=0.5,day=40")
    tables, step = problem.tables(), np.arange(300)
    site = (1.0 + 0.5 * np.sin(2.0 * np.pi * step / 40.0)) / 1.5
    now = tables[step // 100]
    np.testing.assert_allclose(regret_of(problem, (1, 0), 300), site * (now.max(axis=1) - now[:, 2]), atol=1e-9)


@pytest.mark.parametrize(
    "schedule", ["changes=2,span=90,daily=0.6,weekly=0.2,day=40", "drift=2,span=900", "wear=50,daily=0.3,day=20"]
)
def test_visitors_one_by_one_find_the_rates_of_the_kernels(schedule):
    problem, pair, lost = Drifting(rankone.random_problem(3, 2, seed=4), schedule), (1, 0), []
    world = problem.start()
    for step in range(151):
        rates = {shown: rate_at(world, step, shown) for shown in np.ndindex(problem.shape)}
        lost.append(max(rates.values()) - rates[pair])
        world.shown[[1, 3]] += 1  # what is shown wears
    often = slice(None, None, 50 if "drift" in schedule else 1)  # between these the kernels let rates rest
    np.testing.assert_allclose(np.array(lost)[often], regret_of(problem, pair, 151)[often], atol=1e-9)


def test_rates_glide_on_straight_lines():
    one, other = rankone.RankOne([0.8, 0.2], [0.5]), rankone.RankOne([0.2, 0.8], [0.5])
    problem = Drifting(one, [(1_000, other)], glides=True)
    lost = regret_of(problem, (0, 0), 1_100)
    np.testing.assert_allclose(lost[[0, 500, 750, 1_050]], [0.0, 0.0, 0.15, 0.3], atol=1e-9)


def test_levels_wear_out_as_they_are_shown():
    """Half of a level's attraction after so many times; regret is against what is best by then."""
    problem = rankone.as_problem(rankone.RankOne([0.8, 0.7], [1.0]))
    lost = regret_of(Drifting(problem, "wear=100"), (0, 0), 101)
    rates = 0.5 ** (np.arange(101) / 100.0)  # of the column that both have, and of the row alone
    expected = np.maximum(0.7 * rates - 0.8 * rates * rates, 0.0)
    np.testing.assert_allclose(lost, expected, atol=1e-9)


def test_a_change_moves_the_best_level_of_every_factor():
    for seed in range(20):
        problem = rankone.as_problem(f"needle:3x2|changes=4,seed={seed}")
        best = [divmod(int(table.argmax()), 2) for table in problem.tables()]
        assert all(one[0] != two[0] and one[1] != two[1] for one, two in itertools.pairwise(best))
        assert problem.known() == {"changes": (20_000, 40_000, 60_000, 80_000)}


def test_names_files_and_segments(tmp_path):
    problem = rankone.as_problem("needle:8x8|changes=3,daily=0.6")
    assert rankone.as_problem(problem.name) == problem
    assert problem.title == "needle, 8 x 8; changes = 3, daily = 0.6"
    save_problem(problem, tmp_path / "drifting.json")
    assert load_problem(tmp_path / "drifting.json").digest == problem.digest


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("", "what changes, after"),
        ("day=2000", "what changes, after .*, but got 'day=2000'. Try needle:8x8"),
        ("at=nan", "whole numbers for at, but got nan. Try needle:8x8.at=5000x20000"),
        (
            "changes=3,span=2",
            "fewer changes than decisions to spread them over, 2, but got .* Take fewer, or a longer span",
        ),
        ("changes=3,drift=2", "changes at once or drift, whose schedules would overlap"),
        ("at=500x200", "periods that begin one after the other and do not overlap, but got 200 after 500"),
        ("at=0x200", "periods that begin one after the other"),
        ("changes=3,at=5x9", "as many changes as decisions to change at"),
        ("daily=nan", "daily of at least 0 and below 1, but got nan"),
        ("weekly=1.5", "weekly of at least 0 and below 1"),
        ("wear=nan", "wear of at least 0"),
        ("changes=200000", "fewer changes than decisions"),
        ("changes=-1", "changes as a whole number of at least 0"),
        ("chages=3", "parameters of 'schedule'"),
    ],
)
def test_schedules_that_cannot_be(schedule, message):
    with pytest.raises(InputError, match=message):
        rankone.as_problem(f"needle:4x4|{schedule}")


def test_segments_that_cannot_be():
    one = rankone.needle(3, 3)
    for schedule, message in (
        ([(50, one), (20, one)], "do not overlap, but got 20 after 50"),
        ([(0, one)], "do not overlap, but got 0 after 0"),
        ([(50, rankone.needle(2, 3))], "periods with the same levels"),
        ([], "a schedule as a text, a Drift"),
        (7, "a schedule as a text, a Drift"),
        ([(float("nan"), one)], "the decision at which a period begins as a whole number"),
    ):
        with pytest.raises(InputError, match=message):
            Drifting(one, schedule)
    with pytest.raises(InputError, match="glides with periods that are given"):
        Drifting(one, "changes=2", glides=True)
    with pytest.raises(InputError, match="a problem on pairs or combinations"):
        Drifting(rankone.as_problem("needle:3x3|changes=1"), Drift(changes=1))
