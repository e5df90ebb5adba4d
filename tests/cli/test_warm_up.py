"""``rankone warm-up``: what it leaves is all that people who come after it need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# What a person may do first: a live experiment, its report and a change of its lines, a study, an agent.
FIRST_STEPS = """
import sys
import rankone

with rankone.Experiment("first", ["A", "B"], ["1", "2"], "uniform", sys.argv[1]) as experiment:
    for clicked in (True, False):
        experiment.tell(experiment.ask(), clicked)
    experiment.void(experiment.ask(3)[0])
    experiment.report()
    experiment.add_level("row", "C")
    experiment.ask()
with rankone.Experiment("first", db=sys.argv[1]) as experiment:
    experiment.ask()
rankone.simulate("needle:3x4", "uniform", horizon=100, runs=2, workers=1)
agent = rankone.as_policy("uniform").agent(3, 4)
agent.tell(agent.ask(), 1)
agent.void(agent.ask())
"""


def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], env={**os.environ, **env}, capture_output=True, text=True)


def warm_up(*policies: str, **env: str) -> subprocess.CompletedProcess[str]:
    return run("-m", "rankone", "warm-up", *(word for name in policies for word in ("--policy", name)), **env)


def test_nothing_is_left_to_compile(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    done = warm_up("uniform", "best", RANKONE_CACHE_DIR=str(cache))
    assert done.returncode == 0, done.stderr
    said = done.stderr.splitlines()
    assert "rankone: compiling best, 2 of 2" in said
    assert said[-1] == f"rankone: ready, kept in {cache}"
    kept = {path: path.stat().st_mtime_ns for path in cache.rglob("*.nb*")}
    found = [path for path in kept if "advance.advance" in path.name and path.suffix == ".nbc"]
    assert len(found) == 4  # each policy live, where it is steered, and as an agent
    after = run("-c", FIRST_STEPS, str(tmp_path / "first.db"), RANKONE_CACHE_DIR=str(cache))
    assert after.returncode == 0, after.stderr
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*.nb*")} == kept


def test_it_says_when_nothing_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / f"rankone-{os.geteuid()}").write_text("in the way")
    done = warm_up("best", RANKONE_CACHE_DIR=f"{os.devnull}/cache", TMPDIR=str(tmp_path))
    assert done.returncode == 2
    assert "Expected a directory for what is compiled, but got none that can be written. Name one" in done.stderr
    assert "compiling" not in done.stderr, "said before anything is compiled"


def test_a_policy_for_larger_problems_is_left_for_later() -> None:
    done = warm_up("best:levels=7x0")
    assert done.returncode == 0
    last = "rankone: best:levels=7x0 is for larger problems: compiled when it plays one"
    assert done.stderr.splitlines()[-1] == last


def test_a_name_that_is_none_is_refused_before_anything_is_compiled() -> None:
    done = warm_up("best", "utz")
    assert done.returncode == 2
    assert "Did you mean uts?" in done.stderr
    assert "compiling" not in done.stderr
