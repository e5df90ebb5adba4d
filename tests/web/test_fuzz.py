"""A small share of what ``make fuzz`` does in full. RANKONE_FUZZ=10000 sets the number of cases."""

import os

from tests.fuzz import fuzz

CASES = int(os.environ.get("RANKONE_FUZZ", "200"))


def test_bad_input_never_breaks_it(url):
    statuses = fuzz(url, CASES)
    assert sum(statuses.values()) >= CASES
    assert not any(status >= 500 for status in statuses)
    assert {200, 404, 422} <= set(statuses)
