"""What every problem and every family must do (`rankone.testing`). A new file with `@family(...)` is tested by itself."""

import pytest

import rankone
from rankone.lists import DCM, PBM, SDBN, UBM, Cascade, Conjunctive
from rankone.problems.registry import known_families
from rankone.testing import FamilySuite, ProblemSuite
from tests import kinds

PROBLEMS = {
    "named probabilities": rankone.RankOne([0.9, 0.5, 0.2], [0.8, 0.3]),
    "a single pair": rankone.RankOne([0.5], [0.5]),
    "never clicked": rankone.RankOne([0.0, 0.0], [1.0, 0.5]),
    "no product": rankone.Means([[0.3, 0.1, 0.2], [0.1, 0.4, 0.0]]),
    "more pairs than are looked at": rankone.needle(32, 32),
}
LISTS = {
    "a cascade": Cascade([0.3, 0.0, 1.0, 0.5], positions=2),
    "examination in any order": PBM([0.1, 0.7, 0.4], [0.5, 1.0]),
    "as many positions as items": PBM([0.1, 0.7, 0.4], [0.5, 1.0, 0.2], item_names=["a", "b", "c"]),
    "termination that rises": DCM([0.5, 0.2, 0.9, 0.4], [0.1, 0.5, 0.9]),
    "a single item": Cascade([0.5], positions=1),
    "satisfied by items": SDBN([0.5, 0.2, 0.9, 0.4], [1.0, 1.0, 1.0, 1.0], positions=2),
    "examination by the last click": UBM([0.5, 0.2, 0.9, 0.4], [[1.0, 0, 0], [0.3, 0.9, 0]]),
    "works as a whole": Conjunctive([0.9, 0.5, 0.7], positions=2),
}


class TestEveryFamily(FamilySuite):
    @pytest.fixture(autouse=True, params=sorted(known_families()))
    def _each(self, request):
        self.family = request.param


class TestProblems(ProblemSuite):
    @pytest.fixture(autouse=True, params=PROBLEMS)
    def _each(self, request):
        self.problem = PROBLEMS[request.param]


class TestOtherKinds(ProblemSuite):
    """What is not a pair in a rank-1 world keeps the same contract."""

    @pytest.fixture(autouse=True, params=["combination", "list", "drifting", "visitors"])
    def _each(self, request):
        rates = [[0.9, 0.5, 0.2], [0.3, 0.8, 0.4], [0.6, 0.1, 0.7]]
        self.problem, self.policy = {
            "combination": (kinds.Factors(rates), kinds.FactorsGreedy()),
            "list": (kinds.Cascade([0.6, 0.1, 0.4, 0.3, 0.5]), kinds.Ranking()),
            "drifting": (kinds.Drifting(rates), "uniform"),
            "visitors": (kinds.Visitors([rates, rates[::-1], rates]), "uniform"),
        }[request.param]

    def rewards(self, clicks, shown):
        return clicks.max(axis=1)  # of a list: whether it was clicked at all


class TestProblemsOfFamilies(ProblemSuite):
    @pytest.fixture(autouse=True, params=sorted(known_families()))
    def _each(self, request):
        self.problem = known_families()[request.param].make(4, 3)
        self.policy = "random-list" if self.problem.decision_kind == "list" else "uniform"


class TestLists(ProblemSuite):
    @pytest.fixture(autouse=True, params=LISTS)
    def _each(self, request):
        self.problem, self.policy = LISTS[request.param], "random-list"
