"""The choices of every policy are those recorded, bit for bit."""

import numpy as np
import pytest

from tests.golden.record import FEEDBACKS, FILE, labels, live_choices, regrets


@pytest.fixture(scope="module")
def recorded():
    with np.load(FILE) as found:
        return dict(found)


@pytest.mark.parametrize("label", labels())
def test_studies_play_as_recorded(recorded, label):
    for feedback in FEEDBACKS:
        assert np.array_equal(regrets(label, feedback), recorded[f"{feedback} {label}"])


@pytest.mark.parametrize("label", labels())
def test_live_experiments_choose_as_recorded(recorded, label):
    assert np.array_equal(live_choices(label), recorded[f"live {label}"])
