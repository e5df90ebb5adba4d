"""In a kernel of Jupyter: the example notebook, the progress bar, the interrupt button."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_docs import ROOT

NOTEBOOKS = sorted((ROOT / "docs").glob("*.ipynb"))


def in_kernel(command: str, given: str, folder: Path) -> str:
    words = [sys.executable, "-m", "tests.notebooks", command, given]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "IPYTHONDIR": str(folder), "JUPYTER_RUNTIME_DIR": str(folder)}
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    notebook = json.loads(in_kernel("run", str(path), tmp_path))
    shown: set[str] = set()
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            assert output.get("name") != "stderr", output
            shown |= set(output.get("data", {}))
    assert {"text/html", "image/png"} <= shown
    assert "application/vnd" not in "".join(shown), "nothing asks for an extension, or for the network"


def test_notebooks_are_kept_without_outputs() -> None:
    """Those of the last run would be old; and pictures would make every change large."""
    for path in NOTEBOOKS:
        cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
        assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_interrupt_button_returns_what_is_finished(workers: int, tmp_path: Path) -> None:
    """The second policy would play for years."""
    code = f"""
import rankone

def report(finished, total):
    if finished:
        print("ready", flush=True)

study = rankone.simulate(
    "needle:2x2", ["best", "uniform"], 1e14, runs=1, workers={workers}, checkpoints=1, progress=report
)
print(len(study.runs), "run is there")
"""
    written = in_kernel("interrupt", code, tmp_path)
    assert "stopped by hand: the study has the 1 of 2 runs that are finished" in written
    assert "1 run is there" in written


def test_progress_is_drawn_by_the_notebook(tmp_path: Path) -> None:
    code = "import rankone\nrankone.simulate('needle:2x2', 'best', 100, runs=2, workers=1, progress=True)"
    notebook = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    cell = {"cell_type": "code", "id": "one", "metadata": {}, "outputs": [], "execution_count": None, "source": code}
    (tmp_path / "progress.ipynb").write_text(json.dumps(notebook | {"cells": [cell]}))
    outputs = json.loads(in_kernel("run", str(tmp_path / "progress.ipynb"), tmp_path))["cells"][0]["outputs"]
    (bar,) = [output["data"]["text/html"] for output in outputs if "<progress" in str(output["data"])]
    assert 'value="2" max="2"' in "".join(bar), "one bar, as it was last drawn"
