"""The package as a whole: what it exports, what an import costs, how long its files are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import rankone

PACKAGE = Path(rankone.__file__).parent


def test_every_public_name_is_there():
    for name in rankone.__all__:
        assert getattr(rankone, name) is not None
    assert set(rankone.__all__) <= set(dir(rankone))


STUDY = "rankone.simulate('needle:2x2', 'uniform', 10, runs=1, workers=1)"


@pytest.mark.parametrize(
    ("what", "needed"),
    [
        ("", "[]"),
        ("rankone.Experiment('shop', 2, 2, db=None).ask()", "['numpy', 'numba']"),
        (STUDY, "['numpy', 'numba']"),
        (f"{STUDY}.summary()", "['numpy', 'numba', 'polars']"),
    ],
)
def test_imports_are_light(what, needed):
    libraries = "('numpy', 'numba', 'polars', 'altair', 'narwhals')"
    code = f"import sys, rankone; {what or None}; print([name for name in {libraries} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == needed


def test_files_stay_short():
    long = {str(file): count for file in PACKAGE.rglob("*.py") if (count := len(file.read_text().splitlines())) > 400}
    assert not long


def test_folders_stay_small():
    counts = {folder: len(list(folder.glob("*.py"))) for folder in PACKAGE.rglob("*") if folder.is_dir()}
    assert not {str(folder): count for folder, count in counts.items() if count > 16}


def test_type_checkers_see_every_public_name():
    stub = (PACKAGE / "__init__.pyi").read_text()
    named = {name: home for home, name in re.findall(r"^from ([\w.]+) import (\w+) as \2$", stub, re.MULTILINE)}
    assert set(named) == set(rankone.__all__)
    assert {name: home for name, home in named.items() if name in rankone._HOMES} == rankone._HOMES
