"""Studies that an earlier release wrote are read, and go on where they were.

``studies`` was written by the code of 0.1.0, with Numba 0.68.1.
"""

import json
import shutil
from pathlib import Path

import numba
import pytest

import rankone
from rankone.compiling.compiled import source_key
from rankone.simulation.earlier_releases import plays_alike

STUDIES = {
    "release-0.1.0": {"policies": ["uts", "kl-ucb:c=3", "rank1elim-kl"]},
    "release-0.1.0-late": {"policies": ["uts"], "feedback": "delay:mean=20"},
}


def study(policies, **settings):
    wanted = {"horizon": 400, "runs": 2, "seed": 5, "workers": 1, "checkpoints": 4} | settings
    return rankone.simulate("needle:2x3", policies, **wanted)


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_goes_on_where_it_was_and_its_numbers_are_the_same(name, tmp_path):
    shutil.copytree(Path(__file__).parent / "studies" / name, tmp_path / "study")
    fresh = study(**STUDIES[name])
    assert rankone.Study.load(tmp_path / "study").table.equals(fresh.table)
    finished = []
    settings = STUDIES[name] | {"runs": 3, "out": tmp_path / "study"}
    longer = study(**settings, progress=lambda done, total: finished.append(done))
    assert longer.table.equals(study(**STUDIES[name], runs=3).table)
    if numba.__version__ == "0.68.1":
        assert finished[0] == 2 * len(STUDIES[name]["policies"]), "finished runs are not played again"
    assert json.loads((tmp_path / "study" / "study.json").read_text())["version"] == rankone.__version__
    finished.clear()
    study(**settings, progress=lambda done, total: finished.append(done))
    assert set(finished) == {3 * len(STUDIES[name]["policies"])}, "nothing is left to play"


def test_runs_of_other_sources_are_not_taken_for_these():
    runs = (Path(__file__).parent / "studies" / "release-0.1.0" / "runs.jsonl").read_text().splitlines()
    old = json.loads(runs[0])["code"]
    assert plays_alike(old, source_key("rankone")) is (numba.__version__ == "0.68.1")
    assert not plays_alike(old, source_key(__name__)), "a policy of the user's own may have changed since"
    assert not plays_alike("another", source_key("rankone"))
