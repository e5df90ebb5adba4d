"""A service that says it is ready has compiled what its experiments run."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from rankone import Experiment
from rankone.policies import policy
from rankone.serving import Database
from rankone.web.warm import warm, warm_all

# Prints which policies are compiled at the moment the service greets, or is started by another server.
PROGRAM = """
import asyncio, sys
from rankone.numerics.compiled import compiled
from rankone.policies import live
from rankone.web.app import create_app
from rankone.web.serve import serve

def ready(said=""):
    if "compiling" not in said:
        names = ("best", "uniform", "uts")
        print([name for name in names if compiled(live.advance, f"rankone.policies.{name}").signatures])
        raise SystemExit

if sys.argv[1] == "serve":
    serve(sys.argv[2], port=0, say=ready)

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
    assert done.stdout.splitlines() == ["['uniform', 'uts']"], done.stderr


def test_neither_a_damaged_journal_nor_an_unknown_policy_stops_it(tmp_path: Path) -> None:
    db = tmp_path / "test.db"
    for name in ("damaged", "unknown", "good"):
        Experiment(name, ["A", "B"], ["1", "2"], "best:row=1,col=1", db).close()
    with sqlite3.connect(db) as connection:
        for number, note in ((1, "not JSON"), (2, '{"policy": "nobody-knows"}')):
            connection.execute("UPDATE rankone_journal SET note = ? WHERE experiment = ?", (note, number))
    with Database(db, read_only=True) as database:
        warm_all(database)
    warm_all(None)


def test_a_warm_policy_compiles_nothing_more(tmp_path: Path) -> None:
    found = policy("ucb1")
    kernel = warm(found)
    before = len(kernel.signatures)  # type: ignore[attr-defined]
    with Experiment("homepage", 3, 4, found, tmp_path / "test.db", durability="off") as experiment:
        experiment.tell(experiment.ask().id, True)
        experiment.add_row("new")
    assert len(kernel.signatures) == before >= 1  # type: ignore[attr-defined]


def test_a_policy_for_large_problems_only_is_left_for_later() -> None:
    warm(policy("best:row=7,col=0"))
