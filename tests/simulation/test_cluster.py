"""Studies on a real Dask cluster: worker processes on this machine, one of them killed in the middle."""

import collections
import json
import os
import pickle
import re
import shutil
import signal
import socket
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import rankone
from rankone.cli._options import executor_of
from rankone.errors import InputError, MissingExtra, WorkerError
from rankone.simulation.executors import cluster as connect
from rankone.simulation.executors import explained, packed, parallelism
from rankone.simulation.work_unit import Unit, do, versions

distributed = pytest.importorskip("distributed")
PROBLEM = rankone.needle(24, 24)
POLICIES = ["kl-ucb", "rank1elim"]


def study(**settings):
    return rankone.simulate(PROBLEM, POLICIES, **{"horizon": 60_000, "runs": 40, "seed": 3} | settings)


@pytest.fixture(scope="module")
def local_table():
    return study(workers=1).table


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "host": "127.0.0.1"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dask's own, about ports and clocks
        folder = str(tmp_path_factory.mktemp("dask"))
        local = distributed.LocalCluster(**settings, dashboard_address="127.0.0.1:0", local_directory=folder)
        with local, distributed.Client(local, set_as_default=False) as client:
            yield client


def loaded_loops():
    """On a worker: how often the play loop was compiled or loaded, by the state of its policy."""
    from rankone.compiling.compiled import compiled
    from rankone.kernels.play import play

    counts = collections.Counter()
    for module in ("rankone.policies.factors.kl_ucb", "rankone.policies.factors.elimination.rank1elim"):
        stats = compiled(play, module, "rankone.problems.product_world").stats
        for signature, count in (stats.cache_hits + stats.cache_misses).items():
            counts[str(signature[0])] += count
    return dict(counts)


def test_more_than_two_factors_go_to_a_cluster_too(client):
    settings = {"horizon": 300, "runs": 4, "seed": 5}
    problem = rankone.Product({"a": [0.9, 0.3], "b": [0.8, 0.3], "c": [0.9, 0.2]}, forbidden=[{"a": "a 1", "c": "c 2"}])
    alone = rankone.simulate(problem, "uts", workers=1, **settings).table
    assert rankone.simulate(problem, "uts", executor=client, **settings).table.equals(alone)


def test_a_cluster_gives_the_numbers_of_one_process(client, local_table, monkeypatch):
    executor, sent = client.get_executor(), []
    submit = executor.submit
    monkeypatch.setattr(executor, "submit", lambda function, unit: sent.append(unit) or submit(function, unit))
    assert parallelism(executor, otherwise=99) == 2
    monkeypatch.setattr(client, "get_executor", lambda: executor)
    assert study(executor=client).table.equals(local_table), "of a client, its executor is taken"
    assert 4 < len(sent) < 60, "units are sized by cost: neither one per policy nor one a run"
    for counts in client.run(loaded_loops).values():
        assert counts, "both workers worked"
        assert set(counts.values()) == {1}, "a policy's loop is compiled or loaded once a worker, not once a unit"


def test_a_killed_worker_costs_only_its_unfinished_work(client, local_table, tmp_path):
    victims = list(client.run(os.getpid).values())
    killed = []

    def kill_one(finished, total):
        if finished and not killed:
            killed.append(victims[0])
            os.kill(victims[0], signal.SIGKILL)

    result = study(executor=client.get_executor(), out=tmp_path, progress=kill_one)
    assert killed
    assert result.table.equals(local_table)
    lines = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    keys = collections.Counter((line["policy"], line["run"]) for line in lines)
    assert len(keys) == 80
    assert set(keys.values()) == {1}, "no run lost, none twice"
    client.wait_for_workers(2, timeout=60)
    assert victims[0] not in client.run(os.getpid).values()


def test_results_are_compact():
    import pickle

    unit = Unit(PROBLEM, rankone.policies.Rank1Elim(), study(horizon=100, runs=1, workers=1).checkpoints, 0, range(10))
    assert len(pickle.dumps(unit)) < 5_000
    assert len(pickle.dumps(do(unit))) < 10 * (100 * 8 + 150)


def start(*words, **env):
    command = [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | env, start_new_session=True
    )


@pytest.fixture
def no_rankone(tmp_path):
    """A path for Python on which there is no rankone."""
    (tmp_path / "bare" / "rankone").mkdir(parents=True)
    (tmp_path / "bare" / "rankone" / "__init__.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'rankone'\")"
    )
    return str(tmp_path / "bare")


@pytest.fixture
def scheduler(tmp_path, no_rankone):
    """A scheduler and a way to start workers, as on a cluster: processes of their own. The scheduler has no rankone."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    processes = [start("dask_scheduler", "--host", address, "--no-dashboard", PYTHONPATH=no_rankone)]

    def worker(*options, **env):
        folder = ["--local-directory", str(tmp_path / "worker")]
        common = ["--no-nanny", "--no-dashboard", "--nthreads", "1", *folder]
        processes.append(start("dask_worker", address, *common, *options, **env))

    try:
        yield address, worker, processes[0]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_the_command_works_on_a_cluster(scheduler, tmp_path, capsys):
    address, worker, _ = scheduler
    with executor_of(address):
        assert f"Cluster {address}: no worker yet, the work begins when one comes" in capsys.readouterr().err
    worker()
    common = ["-p", "needle:4x4", "-P", "uts", "--horizon", "2000", "--runs", "4"]
    for name, where in {"far": ["--cluster", address], "near": ["--workers", "1"]}.items():
        command = [sys.executable, "-m", "rankone", "simulate", *common, "--out", str(tmp_path / name), *where]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "far" / "table.parquet").read_bytes() == (tmp_path / "near" / "table.parquet").read_bytes()


def other_rankone(worker, tmp_path):
    shutil.copytree(Path(rankone.__file__).parent, tmp_path / "other" / "rankone")
    (tmp_path / "other" / "rankone" / "_version.py").write_text('__version__ = "0.0.1"\n')
    worker(PYTHONPATH=str(tmp_path / "other"))
    return rf"Expected rankone {rankone.__version__} on every worker.*, but got rankone 0\.0\.1 on "


def other_numba(worker, tmp_path):
    (tmp_path / "other.py").write_text("import numba\nnumba.__version__ = '0.1'\n")
    worker("--preload", str(tmp_path / "other.py"))
    return r"Expected Numba 0\.\d+.* on every worker.*, but got Numba 0\.1 on "


def missing_rankone(worker, tmp_path):
    worker(PYTHONPATH=str(tmp_path / "bare"))
    return "the same on every worker, but got one that says: No module named 'rankone'. Install them there"


@pytest.mark.parametrize("wrong_worker", [other_rankone, other_numba, missing_rankone])
def test_a_wrong_worker_is_named_and_nothing_finished_is_lost(wrong_worker, scheduler, tmp_path):
    address, worker, _ = scheduler
    message = wrong_worker(worker, tmp_path)
    out = tmp_path / "study"
    study(workers=1, horizon=100, runs=2, out=out)
    finished = (out / "runs.jsonl").read_text()
    with connect(address, timeout=60) as executor, pytest.raises(WorkerError, match=message):
        study(executor=executor, horizon=100, runs=4, out=out)
    assert (out / "runs.jsonl").read_text() == finished
    assert len(finished.splitlines()) == 4


def test_a_lost_scheduler_loses_no_finished_run(scheduler, tmp_path, local_table):
    address, worker, process = scheduler
    worker()

    def lose(finished, total):
        if finished:
            process.kill()

    with connect(address, timeout=60) as executor, pytest.raises(WorkerError, match="what was finished is kept"):
        study(executor=executor, out=tmp_path, progress=lose)
    kept = len((tmp_path / "runs.jsonl").read_text().splitlines())
    assert 0 < kept < 80
    asked = []
    again = study(workers=1, out=tmp_path, progress=lambda finished, total: asked.append(finished))
    assert asked[0] == kept
    assert again.table.equals(local_table)


def test_an_unreachable_scheduler_is_said_so():
    silent = re.escape("Expected a Dask scheduler at tcp://127.0.0.1:9, but got no answer within 0.5 s. Start one")
    with pytest.raises(WorkerError, match=silent), connect("tcp://127.0.0.1:9", timeout=0.5):
        pass
    for address in ("ftp://nowhere:1", "tcp://127.0.0.1", "nonsense"):
        with pytest.raises(InputError, match="an address like tcp://host:port"), connect(address, timeout=0.5):
            pass


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"pip install 'rankone\[cluster\]'"), connect("tcp://127.0.0.1:9"):
        pass


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (
            ModuleNotFoundError("No module named 'rankone'"),
            "the same on every worker, but got one that says: No mod",
        ),
        (
            RuntimeError("killed"),
            "workers that stay until the study is done, but got RuntimeError: killed. Start the study",
        ),
        (distributed.client.ClosedClientError("closed"), "got ClosedClientError: closed. Start the study again"),
        (InputError("a", "b", "c"), "Expected a, but got b. C."),
    ],
)
def test_what_goes_wrong_on_a_worker_is_explained(problem, message):
    with pytest.raises((WorkerError, InputError), match=message), explained():
        raise problem


def test_a_mistake_in_a_policy_stays_what_it_is():
    """Its unit was unpacked, so nothing is missing on the worker; the error comes back as bytes, as from a worker."""
    with pytest.raises(AttributeError, match="no attribute 'policy'") as raised:
        pickle.loads(packed(None))
    with pytest.raises(AttributeError, match="no attribute 'policy'"), explained(by_worker=True):
        raise pickle.loads(pickle.dumps(raised.value))
    with pytest.raises(AttributeError, match="no attribute 'submit'"), explained():  # nothing a worker has said
        raise AttributeError("object has no attribute 'submit'")


def test_a_worker_with_another_version_is_explained():
    """It lacks a name that the unit is made of."""
    elsewhere = packed(None).replace(b"_do_unpacked", b"_do_1npacked")
    with pytest.raises(WorkerError, match=r"same on every worker, but got .*_do_1npacked"), explained(by_worker=True):
        pickle.loads(elsewhere)


def test_other_sources_of_a_users_policy_are_refused(monkeypatch, tmp_path):
    (tmp_path / "my_policy.py").write_text("import rankone\n\nclass Mine(rankone.UTS):\n    name = 'mine'\n")
    monkeypatch.syspath_prepend(tmp_path)
    import my_policy

    there = versions("my_policy")
    assert there.keys() - versions("__main__").keys() == {"my_policy sources"}
    checkpoints = study(horizon=10, runs=1, workers=1).checkpoints
    other = dict(there) | {"my_policy sources": "0123"}
    with pytest.raises(WorkerError, match="Expected my_policy sources 0123 on every worker"):
        do(Unit(PROBLEM, my_policy.Mine(), checkpoints, 0, range(1), versions=other))


def test_what_is_no_executor_is_refused_before_anything_is_played():
    with pytest.raises(InputError, match=r"Expected an executor to work on, but got 'tcp://host:8786'|got tcp"):
        study(executor="tcp://host:8786")
