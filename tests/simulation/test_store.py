"""A full disk under the study's directory: a clear sentence, and nothing finished is lost."""

import json
import resource
import signal
import subprocess
import sys

import pytest

import rankone
from rankone.errors import InputError, StorageError
from rankone.paper.claims import Reproduction

SCRIPT = """
import resource, signal, sys
import rankone
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)                     # the limit then answers like a full disk
rankone.simulate(rankone.needle(2, 2), "rank1elim", horizon=100, runs=1, workers=1)  # kernels are on disk from here on
resource.setrlimit(resource.RLIMIT_FSIZE, (15_000, 15_000))
try:
    rankone.simulate(rankone.needle(3, 4), "rank1elim", horizon=2_000, runs=40, seed=3, workers=1, out=sys.argv[1])
except rankone.errors.StorageError as error:
    print(error)
"""


def study(**settings):
    wanted = {"horizon": 2_000, "runs": 40, "seed": 3, "workers": 1} | settings
    return rankone.simulate(rankone.needle(3, 4), "rank1elim", **wanted)


def test_a_full_disk_loses_no_finished_run(tmp_path):
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(
        f"Expected to write under {tmp_path}, but got File too large. Make room, then start again"
    )
    kept = (tmp_path / "runs.jsonl").read_bytes()
    assert len(kept) == 15_000, "the disk took a part of a line"
    asked = []
    again = study(out=tmp_path, progress=lambda finished, total: asked.append(finished))
    assert asked[0] == kept.count(b"\n") > 0, "finished runs are not played again"
    assert again.table.equals(study().table)


def test_lines_that_are_no_runs_are_refused_by_their_number(tmp_path):
    study(runs=2, out=tmp_path)
    runs = tmp_path / "runs.jsonl"
    first, second = runs.read_text().splitlines()
    entry = json.loads(second)
    for wrong in ({key: value for key, value in entry.items() if key != "digest"}, entry | {"colour": "blue"}):
        runs.write_text(f"{first}\n{json.dumps(wrong)}\n")
        with pytest.raises(InputError, match=r"line 2, but got another entry .* delete this one"):
            study(runs=2, out=tmp_path)


def test_a_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "study"):
        with pytest.raises(
            InputError, match=f"Expected a directory {out}, but got a file there, or above it. Name another"
        ):
            study(out=out)


def sweep():
    return rankone.sweep("needle:{k}x4", "rank1elim", 2_000, {"k": [3, 4]}, runs=2, workers=1)


def arena():
    return rankone.arena("two-by-two", "uts", runs=2, quick=True, workers=1)


def reproduction():
    return Reproduction({"summary": study(runs=2).summary()}, [], {})


@pytest.mark.parametrize("play", [study, sweep, arena, reproduction])
def test_pictures_and_tables_on_a_full_disk(play, tmp_path):
    result = play()
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, old[1]))
        with pytest.raises(StorageError, match="Expected to write under"):
            result.save(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_directory_of_another_study_is_refused(tmp_path):
    first = study(runs=1, out=tmp_path)
    with pytest.raises(InputError, match=r"Expected a study with horizon 3,000 in .*, but got one with horizon 2,000"):
        study(runs=1, horizon=3_000, out=tmp_path)
    with pytest.raises(InputError, match=r"Expected a study of needle:2x2 in .*, but got one of needle:3x4"):
        rankone.simulate("needle:2x2", "rank1elim", horizon=2_000, runs=1, seed=3, workers=1, out=tmp_path)
    assert rankone.Study.load(tmp_path).table.equals(first.table)


def test_a_directory_of_tables_is_no_study(tmp_path):
    rankone.simulate("needle:2x2", "uniform", horizon=10, runs=1, workers=1).save(tmp_path)
    with pytest.raises(InputError, match=r"no study\.json there. Name the directory that was given as out="):
        rankone.Study.load(tmp_path)
