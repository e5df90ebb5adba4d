"""A service that says it is ready has compiled what its experiments run."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from rankone import Experiment
from rankone.live import Database
from rankone.live.commit.warm_up import warm_up, warm_up_all
from rankone.policies import as_policy
from rankone.web.server.serve import compile_ahead

from .helpers import Api, peak_mebibytes

# Prints which policies are compiled at the moment the service greets, or is started by another server.
PROGRAM = """
import asyncio, sys
from rankone.compiling.compiled import compiled
from rankone.policies.advance import advance
from rankone.web.server.app import create_app
from rankone.web.server.options import ServerOptions
from rankone.web.server.serve import serve

def ready(said=""):
    if "compiling" not in said:
        names = ("best", "uniform", "unimodal.uts")
        modules = {name: f"rankone.policies.factors.{name}" for name in names}
        print([name for name, module in modules.items() if compiled(advance, module).signatures])
        raise SystemExit

if sys.argv[1] == "serve":
    serve(ServerOptions(sys.argv[2], port=0), say=ready)

async def begin():
    async def receive():
        return {"type": "lifespan.startup"}

    async def send(message):
        ready(message.get("message", ""))

    await create_app(sys.argv[2])({"type": "lifespan"}, receive, send)

asyncio.run(begin())
"""


@pytest.mark.parametrize("by", ["serve", "another server"])
def test_ready_means_compiled(tmp_path: Path, by: str) -> None:
    db = tmp_path / "test.db"
    Experiment("shop", ["A", "B"], ["1", "2"], "uniform", db).close()
    done = subprocess.run([sys.executable, "-c", PROGRAM, by, str(db)], capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines() == ["['uniform', 'unimodal.uts']"], done.stderr


@pytest.mark.parametrize("note", ["not JSON", '{"policy": "nobody-knows"}', None, "{}", "[1]", "gone"])
def test_neither_a_damaged_journal_nor_an_unknown_policy_stops_it(tmp_path: Path, note: str | None) -> None:
    db = tmp_path / "test.db"
    for name in ("bad", "good"):
        Experiment(name, ["A", "B"], ["1", "2"], f"best:levels=1x{int(name == 'good')}", db).close()
    with sqlite3.connect(db) as connection:
        if note == "gone":
            connection.execute("DELETE FROM rankone_journal WHERE experiment = 1")
        else:
            connection.execute("UPDATE rankone_journal SET note = ? WHERE experiment = 1", (note,))
    with Database(db, read_only=True) as database:
        used = database.policies()
        assert used - {("nobody-knows", 2)} == {("best:levels=1x1", 2)}
        warm_up_all(used, print, pytest.fail)


def test_no_database_yet_is_no_reason_to_stop(tmp_path: Path) -> None:
    compile_ahead(tmp_path / "new.db", print)
    assert not list(tmp_path.iterdir())


def test_more_factors_are_compiled_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db, compiled = tmp_path / "test.db", []
    Experiment("page", factors={"a": 2, "b": 2, "c": 2}, policy="uniform", db=db).close()
    with Experiment("shop", ["A", "B"], ["1", "2"], "uniform", db) as experiment:
        experiment.add_factor("button", ["buy", "try"])
        experiment.add_factor("image", ["1", "2"])
    monkeypatch.setattr("rankone.live.commit.warm_up.warm_up", lambda policy, n: compiled.append((policy.label, n)))
    compile_ahead(db, print)
    assert compiled == [("uniform", 3), ("uniform", 4), ("uts:coin=true", 2)]


def test_it_says_which_policy_takes_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only of what takes long, and nothing about what was before or will be."""
    monkeypatch.setattr("rankone.live.commit.warm_up._PATIENCE", 0.0)
    db, said = tmp_path / "test.db", threading.Event()
    Experiment("shop", ["A", "B"], ["1", "2"], "uts", db).close()
    words: list[str] = []

    def say(text: str) -> None:
        words.append(text)
        said.set()

    def slowly(policy: object, n_factors: int) -> None:
        assert said.wait(30)

    monkeypatch.setattr("rankone.live.commit.warm_up.warm_up", slowly)
    compile_ahead(db, say)
    assert words == ["compiling uts:coin=true ..."]


def test_a_warm_policy_compiles_nothing_more(tmp_path: Path) -> None:
    found = as_policy("ucb1")
    kernel: Any = warm_up(found)
    before = len(kernel.signatures)
    with Experiment("homepage", 3, 4, found, tmp_path / "test.db", durability="off") as experiment:
        experiment.tell(experiment.ask().id, True)
        experiment.add_level("row", "new")
    assert len(kernel.signatures) == before >= 1


def test_a_policy_for_large_problems_only_is_left_for_later() -> None:
    assert warm_up(as_policy("best:levels=7x0")) is None


def test_a_service_compiles_a_new_policy_in_another_process(
    tmp_path: Path, start_server: Any, monkeypatch: Any
) -> None:
    """Also where the cache on disk has other policies already: compiling takes 130 MiB that a process keeps."""
    monkeypatch.setenv("RANKONE_CACHE_DIR", str(tmp_path / "cache"))
    server = start_server(tmp_path / "rankone.db")
    before = peak_mebibytes(server)
    body = {"name": "homepage", "rows": 3, "cols": 2, "policy": "uniform"}
    assert Api(server.url)("POST", "/v1/experiments", body).status == 201
    assert Api(server.url).on("homepage", "POST", "/ask", {}).status == 200
    assert peak_mebibytes(server) < before + 40
