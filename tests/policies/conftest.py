"""Tests of policies play thousands of decisions each."""

import pytest


@pytest.fixture(autouse=True)
def _compiled(compiled_now):
    """What each policy runs is compiled first."""
