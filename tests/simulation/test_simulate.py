"""Studies: the same numbers whatever the workers, kept as they finish, continued and never asked twice."""

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankone
from rankone.errors import InputError
from rankone.notebook import cell_text
from tests.own_policies import CORNER

module = importlib.import_module("rankone.simulation.executors")
PROBLEM = rankone.needle(3, 4)
POLICIES = ["ucb1", "rank1elim-kl:c=0"]


def study(**settings):
    return rankone.simulate(PROBLEM, POLICIES, **{"horizon": 2_000, "runs": 5, "seed": 3, "workers": 1} | settings)


def test_results_do_not_depend_on_workers_or_executor():
    alone = study().table
    assert alone.equals(study(workers=2).table)
    with ThreadPoolExecutor(3) as pool:
        assert alone.equals(study(executor=pool).table)
    assert not alone.equals(study(seed=4).table)


def test_processes_are_started_once_they_pay(monkeypatch):
    executors, started = importlib.import_module("rankone.simulation.executors"), []
    pool = executors.local_pool
    monkeypatch.setattr(executors.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(executors, "local_pool", lambda workers: started.append(workers) or pool(workers))
    monkeypatch.setattr(executors, "_ALONE", 1e9)
    here = study(workers=None).table
    assert not started, "short runs are played here at first"
    monkeypatch.setattr(executors, "_ALONE", 0.0)
    taken_over = study(workers=None, progress=lambda finished, total: None).table
    assert started == [2], "once, when the second is over"
    monkeypatch.setattr(executors, "_ALONE", 1e9)
    monkeypatch.setattr(executors, "_SHORT", 100)
    at_once = study(workers=None).table
    assert started == [2, 2], "long runs go there at once"
    assert here.equals(taken_over)
    assert here.equals(at_once)


def test_a_run_depends_only_on_its_own_path():
    few, many = study(runs=2).table, study(runs=5).table
    assert few.equals(many.filter(pl.col("run") < 2))
    other = rankone.simulate([rankone.needle(2, 2), PROBLEM], POLICIES[:1], horizon=2_000, runs=5, seed=3, workers=1)
    one = many.filter(pl.col("policy") == "ucb1")
    assert one.equals(other.table.filter(pl.col("problem") == PROBLEM.name))


def test_table_and_summary():
    result = study(checkpoints=10)
    table, summary = result.table, result.summary()
    assert table.columns == ["problem", "policy", "run", "step", "regret"]
    assert table["step"].unique().sort().to_list() == list(range(200, 2_001, 200))
    assert summary.columns == [
        "problem",
        "policy",
        "runs",
        "horizon",
        "regret_mean",
        "regret_se",
        "regret_median",
        "regret_p95",
        "regret_p99",
        "sync_points",
        "seconds",
        "steps_per_second",
    ]
    final = table.filter((pl.col("step") == 2_000) & (pl.col("policy") == "ucb1"))["regret"].to_numpy()
    first = summary.row(0, named=True)
    assert first["regret_mean"] == pytest.approx(final.mean())
    assert first["regret_se"] == pytest.approx(final.std(ddof=1) / np.sqrt(5))
    assert first["regret_median"] == pytest.approx(np.median(final))
    assert first["regret_p95"] == pytest.approx(np.quantile(final, 0.95))
    assert first["regret_p99"] == pytest.approx(np.quantile(final, 0.99))
    assert (table.sort("step").group_by("policy", "run").agg(pl.col("regret").diff().min())["regret"] >= 0).all()


def test_checkpoints():
    assert study(checkpoints="log").checkpoints[0] == 1
    assert study(checkpoints="log").checkpoints[-1] == 2_000
    assert study(checkpoints=[5, 2_000]).checkpoints.tolist() == [5, 2_000]
    assert study(horizon=3).checkpoints.tolist() == [1, 2, 3]


def test_continues_and_asks_for_nothing_twice(tmp_path, monkeypatch):
    asked = []
    do = module.do
    monkeypatch.setattr(module, "do", lambda unit: asked.extend(unit.runs) or do(unit))
    first = study(out=tmp_path, runs=3)
    assert len(asked) == 6
    second = study(out=tmp_path, runs=5)
    assert len(asked) == 10
    third = study(out=tmp_path, runs=5)
    assert len(asked) == 10
    assert second.table.equals(third.table)
    assert second.table.equals(study(runs=5).table)
    assert first.table.equals(second.table.filter(pl.col("run") < 3))


def test_a_torn_last_line_is_mended(tmp_path):
    whole = study(out=tmp_path).table
    runs = tmp_path / "runs.jsonl"
    runs.write_bytes(runs.read_bytes()[:-40])
    assert study(out=tmp_path).table.equals(whole)


def test_another_study_in_the_directory_is_refused(tmp_path):
    study(out=tmp_path)
    with pytest.raises(InputError, match="Expected a study with seed 9"):
        study(out=tmp_path, seed=9)
    with pytest.raises(InputError, match="Choose another directory"):
        study(out=tmp_path, horizon=1_000)


LONG_STUDY = """
import sys, rankone
problem, policies = rankone.needle(24, 24), ["kl-ucb:c=3", "rank1elim"]
rankone.simulate(problem, policies, horizon=60_000, runs=60, workers=2, out=sys.argv[1])
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_study_keeps_its_finished_runs(tmp_path, how):
    process = subprocess.Popen([sys.executable, "-c", LONG_STUDY, str(tmp_path)], stderr=subprocess.DEVNULL)
    runs = tmp_path / "runs.jsonl"
    while process.poll() is None and not (runs.exists() and runs.read_bytes().count(b"\n") >= 4):
        time.sleep(0.02)
    assert process.poll() is None, "the study ended before it could be stopped: give it more runs"
    os.kill(process.pid, how)
    process.wait()
    assert (process.returncode == 0) == (how == signal.SIGINT)  # Ctrl-C returns the study so far
    kept = [json.loads(line) for line in runs.read_bytes().splitlines() if line.endswith(b"}")]
    assert 4 <= len(kept) < 120
    keys = {(entry["policy"], entry["run"]) for entry in kept}
    assert len(keys) == len(kept), "no run twice"


def test_a_script_needs_no_main_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import rankone\nprint('started')\n"
        "s = rankone.simulate(rankone.needle(2, 2), 'ucb1', horizon=100, runs=4, workers=2)\nprint(s.table.height)\n"
    )
    output = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout
    assert output.split() == ["started", "400"]


OWN_POLICY = (
    CORNER
    + """
study = rankone.simulate(rankone.RankOne([0.5, 1.0], [1.0]), [Corner(), "uniform"], horizon=100, runs=4, workers=2)
print(study.summary()["regret_mean"][0])
"""
)


def test_a_policy_of_the_users_script_reaches_the_workers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(OWN_POLICY)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == 50.0


def test_runs_of_other_code_are_asked_again(tmp_path):
    whole = study(out=tmp_path).table
    runs = tmp_path / "runs.jsonl"
    old = [json.loads(line) | {"code": "other", "regret": [0.0]} for line in runs.read_text().splitlines()]
    runs.write_text("".join(json.dumps(line) + "\n" for line in old))
    assert study(out=tmp_path).table.equals(whole)


def test_damage_is_named(tmp_path):
    study(out=tmp_path)
    lines = (tmp_path / "runs.jsonl").read_text().splitlines()
    (tmp_path / "runs.jsonl").write_text("\n".join([lines[0][:-9], *lines[1:]]) + "\n")
    with pytest.raises(InputError, match=r"Expected JSON in .*line 1"):
        study(out=tmp_path)
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(InputError, match=r"Expected JSON in .*study\.json"):
        study(out=tmp_path)


def loky_workers():
    """Command lines of this process's children that are workers of a pool."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            parent = next(line for line in status.read_text().splitlines() if line.startswith("PPid"))
            command = (status.parent / "cmdline").read_bytes()
            if int(parent.split()[1]) == os.getpid() and b"LokyProcess" in command:
                found.append(command)
    return found


def test_a_failing_progress_leaves_no_worker_behind(tmp_path):
    def fail(finished, total):
        if finished:
            raise RuntimeError("the caller's own")

    with pytest.raises(RuntimeError, match="the caller's own"):
        study(workers=2, progress=fail)
    assert not loky_workers()


def test_an_interrupt_while_results_are_locked_leaves_nobody_waiting(monkeypatch):
    """Python's `wait` takes the lock of every result, and Ctrl-C may come before it gives them back."""

    def interrupted(pending, **settings):
        for future in pending:
            future._condition.acquire()
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib.import_module("rankone.simulation.executors"), "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        study(workers=2)
    assert not loky_workers()


def test_only_runs_are_timed_not_compilation(monkeypatch):
    work = importlib.import_module("rankone.simulation.work_unit")
    steps = []
    real = work.play_run

    def spied(state, problem, checkpoints, *rest):
        steps.append(int(checkpoints[-1]))
        return real(state, problem, checkpoints, *rest)

    monkeypatch.setattr(work, "play_run", spied)
    study(runs=3)
    assert steps[:2] == [1, 2_000], "a step before any run is timed"
    assert steps.count(2_000) == 6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"horizon": -1}, "Expected horizon as a whole number of at least 1 and at most .*, but got -1"),
        ({"horizon": 2.5}, "Expected horizon as a whole number"),
        ({"runs": 0}, "Expected runs as a whole number"),
        ({"workers": 0}, "Expected workers as a whole number"),
        ({"seed": -3}, "Expected seed as a whole number"),
        ({"checkpoints": "never"}, "'log' or a list of steps"),
        ({"checkpoints": [5, 4, 2_000]}, "Expected increasing whole checkpoints"),
        ({"checkpoints": [5]}, "End them at the horizon"),
        ({"checkpoints": ["a", 2_000]}, "Expected increasing whole checkpoints"),
        ({"checkpoints": [[5], [6, 2_000]]}, "Expected increasing whole checkpoints"),
        ({"checkpoints": [1.5, 1.7, 2_000]}, "Expected increasing whole checkpoints"),
        ({"horizon": 10**20}, "at most"),
    ],
)
def test_bad_input(settings, message):
    with pytest.raises(InputError, match=message):
        study(**settings)


def test_bad_problems_and_policies():
    with pytest.raises(InputError, match="Expected problems or their names, but got none"):
        rankone.simulate([], "ucb1", horizon=10)
    with pytest.raises(InputError, match="Expected policies or their names, but got none"):
        rankone.simulate(PROBLEM, [], horizon=10)
    with pytest.raises(InputError, match="distinct policies"):
        rankone.simulate(PROBLEM, ["ucb1", rankone.UCB1()], horizon=10)
    with pytest.raises(InputError, match="Expected problems or their names, but got 5"):
        rankone.simulate(5, "ucb1", horizon=10)
    with pytest.raises(InputError, match="Expected policies or their names, but got 5"):
        rankone.simulate(PROBLEM, 5, horizon=10)
    with pytest.raises(InputError, match="Expected c of at least 0"):
        rankone.simulate(PROBLEM, rankone.Rank1ElimKL(c="x"), horizon=10)
    with pytest.raises(InputError, match="distinct names of problems"):
        rankone.simulate([PROBLEM, PROBLEM], "ucb1", horizon=10)


def test_a_part_of_a_study():
    whole = study()
    assert whole.only(["ucb1"]).table.equals(whole.table.filter(pl.col("policy") == "ucb1"))
    for wrong in (["uts"], "ucb1"):
        with pytest.raises(
            InputError, match="Expected policies of the study as one of ucb1, rank1elim-kl:c=0, but got u"
        ):
            whole.only(wrong)


def test_a_problem_in_a_file(tmp_path):
    PROBLEM.save(tmp_path / "needle.json")
    found = rankone.simulate(tmp_path / "needle.json", "uts", horizon=50, runs=2, workers=1)
    assert found.table.equals(rankone.simulate(PROBLEM, "uts", horizon=50, runs=2, workers=1).table)


def test_numbers_of_numpy_are_numbers(tmp_path):
    numbers = study(
        seed=np.int64(3), runs=np.int64(5), horizon=np.int64(2_000), checkpoints=np.array([5, 2_000]), out=tmp_path
    )
    assert numbers.table.equals(study(checkpoints=[5, 2_000]).table)
    assert len(study(checkpoints=np.array(4)).checkpoints) == 4
    assert rankone.policies.KLUCB(c=np.int64(3)).label == rankone.policies.KLUCB(c=np.float32(3)).label == "kl-ucb:c=3"
    study(seed=2**200, runs=1)


def test_a_study_shows_what_people_look_for():
    study = rankone.simulate("needle:2x2", ["ucb1", "uts"], horizon=2_000, runs=3, workers=1)
    for text in (repr(study), study._repr_html_()):
        assert "Clicks lost (regret) after 2,000 decisions, seed 0:" in text
        for row in study.summary().iter_rows(named=True):
            assert row["policy"] in text
            assert cell_text(row["regret_mean"]) in text
