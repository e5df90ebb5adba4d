"""The chart library of pages is kept like compiled policies: also for users without a home."""

import os
import subprocess
import sys

PROGRAM = "from rankone.charts.bundle import bundle_path, make_bundle; print(bundle_path()); print(make_bundle())"


def test_it_is_kept_without_a_home_too(tmp_path):
    env = {**os.environ, "RANKONE_CACHE_DIR": f"{os.devnull}/cache", "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", PROGRAM]
    first, again = (subprocess.run(command, env=env, capture_output=True, text=True, check=True) for _ in range(2))
    before, made = first.stdout.split()
    assert before == "None"
    assert made.startswith(f"{tmp_path}/rankone-{os.geteuid()}/web/")
    assert again.stdout.split() == [made, made]
