"""Every Python block and every `rankone` command in README, CONTRIBUTING and docs runs as written."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|sh)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    """Blocks of a page in one language; a block marked `no-run` is shown but needs something a test must not do."""
    found = BLOCK.finditer(page.read_text())
    return [block[3] for block in found if block[1] == language and "no-run" not in block[2]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run_in_order(page, tmp_path):
    code = "\n".join(blocks(page, "python"))
    # Not a file: processes that a page starts would run the file again.
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run_in_order(page, tmp_path):
    for block in blocks(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["rankone"]:
                command = [sys.executable, "-m", *words]
                env = os.environ | {"COLUMNS": "120"}
                done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=env)
                assert done.returncode == 0, f"{line}\n{done.stderr}"
