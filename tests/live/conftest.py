"""Databases for the tests: SQLite files, and a private PostgreSQL server that lives as long as the tests."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from rankone.live.storage import STORAGES

from .archives import shop  # noqa: F401 - a fixture

REQUIRED = os.environ.get("RANKONE_REQUIRE_POSTGRES") == "1"


def postgres_binaries():
    """Where initdb and postgres are: on the PATH, or where distributions put them."""
    candidates = [Path(found).resolve().parent] if (found := shutil.which("initdb")) else []
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in candidates if (folder / "postgres").exists()), None)


class PostgresServer:
    """A server of our own in a temporary folder, reached by a socket in it."""

    def __init__(self, binaries, fsync="off"):
        self._binaries, self._fsync = binaries, fsync
        self.folder = Path(tempfile.mkdtemp(prefix="rankone-postgres-"))
        # PostgreSQL refuses to run as root.
        self._user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        if self._user:
            shutil.chown(self.folder, "postgres", "postgres")
        initdb = [
            binaries / "initdb",
            "-D",
            self.folder / "data",
            "-U",
            "rankone",
            "-A",
            "trust",
            "--no-sync",
            "-E",
            "UTF8",
        ]
        subprocess.run(initdb, check=True, capture_output=True, cwd=self.folder, **self._user)
        self._process = None
        self._databases = 0
        self.start()

    def start(self):
        options = [
            "-c",
            "listen_addresses=",
            "-c",
            f"unix_socket_directories={self.folder}",
            "-c",
            f"fsync={self._fsync}",
        ]
        command = [self._binaries / "postgres", "-D", self.folder / "data", *options]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, **self._user)
        self._wait()

    def stop(self, how=signal.SIGINT):
        """End the server: SIGINT closes connections, SIGKILL asks nobody."""
        self._process.send_signal(how)
        self._process.wait()

    def new_database(self):
        """The address of an empty place for tables: a schema of its own, since a database takes 7 MB and a second."""
        self._databases += 1
        name = f"test{self._databases}"
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.url('postgres')}&options=-csearch_path%3D{name}"

    def url(self, database):
        return f"postgresql://rankone@/{database}?host={self.folder}"

    def close(self):
        self.stop(signal.SIGQUIT)  # at once: nothing of it is kept
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait(self):
        import psycopg

        for _ in range(600):
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.05)
        raise RuntimeError(f"PostgreSQL does not start: {(self.folder / 'log').read_text()}")


@pytest.fixture(scope="session")
def postgres():
    """The PostgreSQL server of this session."""
    binaries = postgres_binaries()
    if binaries is None:
        if REQUIRED:
            pytest.fail("RANKONE_REQUIRE_POSTGRES=1, but initdb and postgres are not installed")
        pytest.skip("PostgreSQL is not installed")
    pytest.importorskip("psycopg") if not REQUIRED else __import__("psycopg")
    server = PostgresServer(binaries)
    yield server
    server.close()


@pytest.fixture
def sqlite_db(tmp_path):
    """A SQLite file that does not exist yet."""
    return tmp_path / "rankone.db"


@pytest.fixture
def postgres_db(postgres):
    """The address of an empty place in PostgreSQL."""
    return postgres.new_database()


@pytest.fixture(params=sorted(STORAGES.known()))
def db(request, tmp_path):
    """An empty database of each kind: a fixture of ours where a server has to run, else a file of that kind."""
    try:
        return request.getfixturevalue(f"{request.param.replace('-', '_')}_db")
    except pytest.FixtureLookupError:
        return f"{STORAGES.get(request.param).schemes[0]}://{tmp_path / 'rankone.db'}"
