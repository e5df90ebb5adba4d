"""Node, with the JavaScript of other people that tests use, and the package for npm as it would be published."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .helpers import ROOT

JS = Path(__file__).parent / "js"
REQUIRED = os.environ.get("RANKONE_REQUIRE_NODE") == "1"
needs_node = pytest.mark.skipif(not shutil.which("npm") and not REQUIRED, reason="Node is not installed")
_QUIET = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]


def run(*command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def bundle(packages, name):
    """Return a script for browsers: a file with all that it imports."""
    written = packages / f"{Path(name).stem}.bundle.js"
    options = ["--bundle", "--format=iife", "--jsx=automatic", f"--outfile={written}"]
    run("node_modules/.bin/esbuild", name, *options, cwd=packages)
    return written.read_text()


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """A folder where all is installed, which the processes of a test run share."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    folder = folder / "js"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            shutil.copytree(JS, folder, dirs_exist_ok=True)
            run(ROOT / "deploy" / "javascript.sh", folder / "package", cwd=folder)
            packed = run("npm", "pack", "--silent", "./package", cwd=folder).strip()
            run("npm", "install", *_QUIET, cwd=folder)
            run("npm", "install", "--no-save", *_QUIET, f"./{packed}", cwd=folder)
            (folder / "installed").touch()
    return folder
