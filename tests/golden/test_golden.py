"""The choices of every policy are those recorded, bit for bit."""

import numpy as np
import pytest

from tests.golden.record import FEEDBACKS, FILE, live_choices, regrets

with np.load(FILE) as file:  # a policy that came later has nothing to compare with until it is recorded
    LABELS = sorted(name.removeprefix("live ") for name in file.files if name.startswith("live "))


@pytest.fixture(scope="module")
def recorded():
    with np.load(FILE) as found:
        return dict(found)


@pytest.fixture(scope="module", params=LABELS)
def label(request):
    """Both tests of one policy before those of the next: a process then compiles its kernels once for both."""
    return request.param


def test_studies_play_as_recorded(recorded, label):
    for feedback in FEEDBACKS:
        assert np.array_equal(regrets(label, feedback), recorded[f"{feedback} {label}"])


@pytest.mark.usefixtures("compiled_now")
def test_live_experiments_choose_as_recorded(recorded, label):
    assert np.array_equal(live_choices(label), recorded[f"live {label}"])
