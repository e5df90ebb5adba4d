"""What every problem and every family must do (`rankone.testing`). A new file with `@family(...)` is tested by itself."""

import pytest

import rankone
from rankone.problems.registry import known_families
from rankone.testing import FamilySuite, ProblemSuite

PROBLEMS = {
    "named probabilities": rankone.RankOne([0.9, 0.5, 0.2], [0.8, 0.3]),
    "a single pair": rankone.RankOne([0.5], [0.5]),
    "never clicked": rankone.RankOne([0.0, 0.0], [1.0, 0.5]),
    "more pairs than are looked at": rankone.needle(32, 32),
}


class TestEveryFamily(FamilySuite):
    @pytest.fixture(autouse=True, params=sorted(known_families()))
    def _each(self, request):
        self.family = request.param


class TestProblems(ProblemSuite):
    @pytest.fixture(autouse=True, params=PROBLEMS)
    def _each(self, request):
        self.problem = PROBLEMS[request.param]


class TestProblemsOfFamilies(ProblemSuite):
    @pytest.fixture(autouse=True, params=sorted(known_families()))
    def _each(self, request):
        self.problem = known_families()[request.param].make(3, 4)
