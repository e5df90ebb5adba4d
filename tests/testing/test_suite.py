"""The suites need no pytest: scripts and notebooks can run them too."""

import subprocess
import sys

from rankone.testing import FamilySuite, PolicySuite, ProblemSuite
from tests.suites.click_models import ClickModelSuite
from tests.suites.formats import FormatSuite
from tests.suites.storages import StorageSuite


def test_a_suite_is_run_without_pytest():
    code = "import sys; sys.modules['pytest'] = None; from rankone.testing import FamilySuite; FamilySuite.check(family='needle')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_test_says_what_it_is_for():
    for suite in (ClickModelSuite, FamilySuite, FormatSuite, PolicySuite, ProblemSuite, StorageSuite):
        names = list(suite.names())
        assert len(names) >= 5
        assert all(getattr(suite, name).__doc__ for name in names)
