"""A small share of what ``make fuzz`` does in full. RANKONE_FUZZ=10000 sets the number of cases."""

import os

from tests.fuzz import fuzz
from tests.raw_fuzz import raw_fuzz

from .helpers import Api

CASES = int(os.environ.get("RANKONE_FUZZ", "200"))


def test_bad_input_never_breaks_it(url):
    statuses = fuzz(url, CASES)
    assert sum(statuses.values()) >= CASES
    assert not any(status >= 500 for status in statuses)
    assert {200, 404, 422} <= set(statuses)


def test_hostile_bytes_never_break_it(url):
    statuses = raw_fuzz(url, 3 * CASES)
    assert not any(status >= 500 for status in statuses)
    assert {0, 200, 400, 404, 431} <= set(statuses)
    assert Api(url)("GET", "/health").status == 200
    counted = Api(url)("GET", "/metrics").body  # also answers that came too late to be read
    assert b'status="200"' in counted
    assert b'status="5' not in counted
