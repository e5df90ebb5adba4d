"""Settings of all tests."""

import contextlib
import fcntl
import os
import signal

import pytest
from hypothesis import settings

# Compilation makes first examples slow, and no test may depend on the machine's speed.
settings.register_profile("rankone", deadline=None, derandomize=True)
settings.load_profile("rankone")

# Whoever starts the tests as a job in the background lets them ignore Ctrl-C, and all that they start would ignore it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory):
    """A folder of this run of the tests: the same in all processes that share the work."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture
def compiled_now():
    """Compile what a test runs, where it plays so much that plain Python, and a process that compiles beside it, would
    take longer."""
    from rankone.compiling.tiers import compiling_first

    with compiling_first():
        yield


@contextlib.contextmanager
def alone(lock):
    """Wait until no other process is in here with the same file."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
