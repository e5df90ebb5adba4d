"""Modules in the current directory: no process that we start takes one from there."""

import json
import os
import subprocess
import sys

import pytest

from .web.helpers import HOMEPAGE, Api, ServerProcess

# What the processes import before anybody could tell them where to look: of Python, of others, and ourselves.
NAMES = ("argparse", "asyncio", "json", "loky", "multiprocessing", "numpy", "pickle", "polars", "rankone", "signal")
STUDY = "import rankone; rankone.simulate('needle:2x2', 'ucb1', horizon=10, runs=2, workers=2)"


@pytest.fixture
def trap(tmp_path):
    """A directory with modules of these names, which note that they were run."""
    folder = tmp_path / "trap"
    folder.mkdir()
    for name in NAMES:
        body = f"open({str(tmp_path / 'sprung')!r}, 'a').write('{name} ')\nraise SystemExit('a trap: {name}')\n"
        (folder / f"{name}.py").write_text(body)
    yield folder
    assert not (tmp_path / "sprung").exists(), (tmp_path / "sprung").read_text()


def test_a_service_its_workers_and_exports(trap, tmp_path):
    server = ServerProcess(tmp_path / "rankone.db", "--workers", "1", folder=trap)
    try:
        api = Api(server.url)
        assert api("POST", "/v1/experiments", HOMEPAGE).status == 201
        assert api.on("homepage", "POST", "/ask", {}).status == 200
        assert api.on("homepage", "GET", "/export").status == 200
        assert server.end() == 0
    finally:
        server.process.kill()
        server.process.wait()


def test_the_workers_of_a_study(trap):
    done = subprocess.run([sys.executable, "-P", "-c", STUDY], cwd=trap, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_environment_is_left_as_it_was(monkeypatch):
    from rankone.child_processes import safe_path

    for before in ("", None):
        if before is None:
            monkeypatch.delenv("PYTHONSAFEPATH")
        else:
            monkeypatch.setenv("PYTHONSAFEPATH", before)
        with safe_path():
            told = subprocess.run(
                [sys.executable, "-c", "import json, sys; print(json.dumps(sys.flags.safe_path))"], capture_output=True
            )
        assert json.loads(told.stdout) is True
        assert os.environ.get("PYTHONSAFEPATH") == before
