"""What every policy for arriving users must do (`rankone.testing`). A new one is tested as soon as its file exists."""

import dataclasses
import math

import numpy as np
import pytest

import rankone
from rankone.policies.arrivals.model import Classes, Vectors, write_model
from rankone.testing import PolicySuite

NAMES = sorted(
    name for name, kind in rankone.known_policies().items() if kind.__module__.startswith("rankone.policies.arrivals.")
)
NEEDS_A_MODEL = ("icf-ts", "icf-ucb", "latent-ucb", "mts")


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    """All tests of one policy before those of the next: a process then compiles its kernels once for all of them."""
    return request.param


def model_of(path, items):
    """A file with one class and one number of a vector for each item: each is best for somebody."""
    if not path.exists():
        own = np.eye(items)
        classes = Classes(np.full((items, items), 1e9), 1e9 * own, np.ones(items))
        spread = np.stack([1e-4 * own] * items)
        vectors = Vectors(np.array([0.1]), np.zeros(1), np.full(items, 0.5), 0.25 * own, own, spread)
        write_model(path, [str(item) for item in range(items)], classes, vectors)
    return str(path)


class TestEveryPolicy(PolicySuite):
    @pytest.fixture(autouse=True)
    def _each(self, name, tmp_path_factory):
        self.policy = rankone.as_policy(name)
        self.folder = tmp_path_factory.getbasetemp()

    def told(self, shape):
        result = super().told(shape)
        if result.name == "nmf-bandit":  # three users are enough for one group of items
            self.learns = False  # of what three users explore of two items
            return dataclasses.replace(result, classes=max(1, math.prod(int(size) for size in shape)), anchors=1)
        if result.name in NEEDS_A_MODEL:
            items = max(1, math.prod(int(size) for size in shape))
            return dataclasses.replace(result, model=model_of(self.folder / f"{items}.json", items))
        return result
