"""Worlds of arriving users: who comes, what they click, and files."""

import numpy as np
import polars as pl
import pytest

import rankone
from rankone.compiling.compiled import compiled
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from rankone.problems.arrivals import Arrivals, ClusteredLinear, arriving, latent, mixed
from rankone.problems.contextual import Coverage
from rankone.testing import ProblemSuite

RATES = [[0.5, 0.2, 0.9], [0.1, 0.4, 0.3], [0.7, 0.6, 0.1]]


class TestWorlds(ProblemSuite):
    @pytest.fixture(autouse=True, params=["users", "shares", "cold", "linear"])
    def _each(self, request):
        self.problem = {
            "users": Arrivals(RATES),
            "shares": Arrivals(RATES, [0.5, 3.0, 1.0]),
            "cold": Arrivals(RATES * 5, visits=7, name="come and go"),
            "linear": ClusteredLinear([[1.0, 0.0], [0.0, 1.0]], [0, 1, 1], 4),
        }[request.param]


def _arrive(upto, visits, window, rng, counts):
    for step in range(60_000):
        counts[arriving.arriving(upto, visits, window, step, rng)] += 1


@pytest.mark.parametrize("law", arriving.LAWS)
def test_users_come_as_often_as_their_shares_say(law):
    users, counts = 40, np.zeros(40)
    shares = arriving.shares_of(law, users, 1)
    compiled(_arrive, arriving.__name__)(np.cumsum(shares), 30 if law == "cold" else 0, 4, generator(1), counts)
    errors = np.sqrt(60_000 * shares * (1.0 - shares))
    assert (np.abs(counts - 60_000 * shares) < 4.5 * errors).all()


def test_printed_tables():
    assert latent(50, 3, figure=2).rates[:4].T.tolist()[0] == [0.527, 0.209, 0.713, 0.762]
    assert (latent(8, 3, figure=3).rates.argmax(axis=1) == 2).all()  # one item is best for all
    with pytest.raises(InputError, match="figure=2, 3 or 5 with 3 items"):
        rankone.as_problem("latent:50x4:figure=2")


def test_of_rank_one_the_best_item_is_the_same_for_all():
    problem = mixed(30, 8, classes=1)
    assert np.linalg.matrix_rank(problem.rates) == 1
    assert len(set(problem.rates.argmax(axis=1))) == 1
    assert problem.facts()["lost by one item for all"] == pytest.approx(0.0)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_in_a_file(tmp_path, suffix):
    frame = pl.DataFrame({"user": ["a", "b"], "x": [-10.0, 5.0], "y": [10.0, 0.0]})
    path = tmp_path / f"ratings{suffix}"
    (frame.write_csv if suffix == ".csv" else frame.write_parquet)(path)
    problem = rankone.as_problem(f"table:{path}:low=-10,high=10")
    assert problem.rates.tolist() == [[0.0, 1.0], [0.75, 0.5]]
    assert rankone.as_problem(problem.name).digest == problem.digest
    with pytest.raises(InputError, match="low and high with all values"):
        rankone.as_problem(f"table:{path}")
    with pytest.raises(InputError, match="no such file"):
        rankone.as_problem("table:nofile.csv")


class TestCoverage(ProblemSuite):
    problem = Coverage([[1.0, 0.9, 0.0], [0.8, 0.9, 0.0], [0.0, 0.2, 0.7]], [[1.0], [0.9], [0.2]], positions=2)
    policy = "random-list"


def test_a_list_covers_those_whom_an_item_of_it_pleases():
    """Two items that please the same half of the people are together worth no more than one."""
    alike = Coverage([[1, 1, 0]] * 5 + [[0, 0, 1]] * 5, np.eye(3), positions=2)
    assert alike.value((0, 1)) == 0.5  # independent attractions would give 0.75
    assert alike.best_decision() == (0, 2)
    assert alike.best_value == 1.0


def test_lists_for_the_users_of_a_table(tmp_path):
    stars = generator(3, "stars").integers(1, 6, (40, 12))
    path = tmp_path / "stars.csv"
    pl.DataFrame(stars, schema=[f"film {index}" for index in range(12)], orient="row").write_csv(path)
    problem = rankone.as_problem(f"table:{path}:low=1,high=5,positions=3,d=4,seed=2")
    assert (problem.shape, problem.rates.shape, problem.features.shape) == ((12, 3), (20, 12), (12, 4))
    assert problem.item_names[11] == "film 11"
    assert sorted(map(tuple, problem.rates.tolist())) != sorted(map(tuple, ((stars[:20] - 1) / 4).tolist()))
    assert rankone.as_problem(problem.name).digest == problem.digest
    study = rankone.simulate(problem, "cascade-logit-ts", 50, runs=1, workers=1)
    assert study.horizon == 50
    with pytest.raises(InputError, match="at most as many positions as items"):
        rankone.as_problem(f"table:{path}:low=1,high=5,positions=13")
    path.write_text("a,b\n1,0\n")
    with pytest.raises(InputError, match="two users"):
        rankone.as_problem(f"table:{path}:positions=1")
