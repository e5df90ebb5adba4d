"""Services for the tests."""

import pytest

from tests.live.conftest import db, postgres, postgres_db, sqlite_db  # noqa: F401 - fixtures

from .browser import browser, open_page  # noqa: F401 - fixtures
from .helpers import HOMEPAGE, Api, ServerProcess, running
from .node import packages  # noqa: F401 - fixtures


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A service that the tests of one file share."""
    with running(tmp_path_factory.mktemp("service") / "rankone.db") as address:
        yield address


@pytest.fixture(scope="module")
def api(url):
    """The shared service, with the experiment 'homepage'."""
    api = Api(url)
    assert api("POST", "/v1/experiments", HOMEPAGE).status == 201
    return api


@pytest.fixture(scope="module")
def start_server():
    """Start ``rankone serve`` as a process; none outlives the tests of a file."""
    started = []

    def start(*arguments, **options):
        started.append(ServerProcess(*arguments, **options))
        return started[-1]

    yield start
    for server in started:
        server.process.kill()
        server.process.wait()
