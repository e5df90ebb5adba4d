"""Work in a process of its own: whoever gives up waiting for it hears so, once the process is gone with its memory."""

import asyncio
import io
import json
import os
import signal
import sys
import threading
from pathlib import Path

import pytest
import uvloop

from rankone.web.server import subprocess_tasks as module
from rankone.web.server.subprocess_tasks import run_in_subprocess

from .helpers import Api, connected, running, until

STUCK = 60


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Let a shell script take the place of the process's program."""

    def write(script):
        path = tmp_path / "program"
        path.write_text(f"#!/bin/sh\ncd {tmp_path}\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(path))
        return tmp_path

    return write


def test_a_plan_ends_when_its_client_leaves(program, tmp_path):
    """The next one finds the only place free, and the service ends without waiting for it."""
    folder = program("echo $$ > pid.new; mv pid.new pid; exec sleep 600")
    body = b'{"factors": {"row": 2, "col": 2}, "rate": 0.1, "lift": 0.1}'
    head = f"POST /v1/plan HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    with running(tmp_path / "rankone.db") as url:
        for _ in range(2):
            with connected(url) as connection:
                connection.sendall(f"{head}\r\n\r\n".encode() + body)
                until((folder / "pid").exists)
            process = Path(f"/proc/{(folder / 'pid').read_text().strip()}")
            (folder / "pid").unlink()
            until(lambda process=process: not process.exists())


@pytest.mark.parametrize(("task", "at_once"), [("plan", True), ("export", False), ("bundle", False)])
def test_a_task_without_files_ends_at_once(monkeypatch, task, at_once):
    """Others remove their files first, which they cannot while compiled code runs."""
    found, before = [], signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps({"task": task})))
    monkeypatch.setattr(module, task, lambda: found.append(signal.getsignal(signal.SIGTERM) == before))
    try:
        module._main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert found == [at_once]


def test_what_the_process_refuses_is_refused(program, tmp_path):
    program("""echo '["a rate", "another", "try 0.1"]' >&2; exit 3""")
    with running(tmp_path / "rankone.db") as url:
        answer = Api(url)("POST", "/v1/plan", {"factors": {"row": 2, "col": 2}, "rate": 0.1, "lift": 0.1})
        assert (answer.status, answer.code, answer.json()["expected"]) == (422, "invalid", "a rate")
        program("echo 'secret words' >&2; exit 1")
        answer = Api(url)("POST", "/v1/plan", {"factors": {"row": 2, "col": 2}, "rate": 0.1, "lift": 0.1})
        assert (answer.status, answer.code) == (503, "task-failed")
        assert b"secret" not in answer.body


@pytest.mark.parametrize(
    "wish", [{"rate": 5e-324}, {"lift": 5e-324}, {"visitors_a_day": 5e-324}, {"visitors_a_day": 1e308}]
)
def test_a_plan_that_no_number_could_hold_is_refused(tmp_path, wish):
    with running(tmp_path / "rankone.db") as url:
        answer = Api(url)("POST", "/v1/plan", {"factors": {"row": 2, "col": 2}, "rate": 0.1, "lift": 0.1} | wish)
    assert (answer.status, answer.code) == (422, "invalid")
    assert answer.json()["expected"].startswith(f"{next(iter(wish))} from")


@pytest.mark.parametrize("reads", ["cat > given", "true"])
def test_what_is_to_be_done_may_be_long_and_nobody_has_to_read_it(program, reads):
    """A pipe takes 64 KiB: more would wait for a reader, in the event loop."""
    folder = program(reads)
    words = {"names": ["\N{PARTY POPPER}" * 10_000] * 3}
    thread = threading.Thread(target=uvloop.run, args=[run_in_subprocess("plan", **words)], daemon=True)
    thread.start()
    thread.join(STUCK)
    assert not thread.is_alive()
    if reads != "true":
        assert json.loads((folder / "given").read_text()) == {"task": "plan"} | words


async def give_up(ready, then=lambda: None):
    """Begin work, in the service's event loop, and give up waiting when the process is as far as it should be."""
    async with asyncio.timeout(STUCK):
        task = asyncio.create_task(run_in_subprocess("bundle"))
        while not ready():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        then()
        await asyncio.sleep(0.3)  # the loop has yet to hear that nobody writes to it any more


def test_the_process_is_gone_when_its_work_is_given_up(program):
    folder = program("trap 'sleep 0.3; touch ended; exit 1' TERM; touch begun; while :; do sleep 0.05; done")
    found = []
    uvloop.run(give_up((folder / "begun").exists, lambda: found.extend(folder.glob("ended"))))
    assert found


def test_a_process_that_does_not_listen_is_killed(program, monkeypatch):
    monkeypatch.setattr(module, "_ENDING", 0.1)
    folder = program("trap '' TERM; echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.05; done")
    uvloop.run(give_up((folder / "pid").exists))
    assert not Path(f"/proc/{(folder / 'pid').read_text().strip()}").exists()


def test_a_process_that_has_just_ended_changes_nothing_of_that(program):
    """Its standard error is still held open by another, so its end was not noticed yet."""
    folder = program("sleep 60 & echo $$ $! > pids.new; mv pids.new pids")

    def ended():
        pids = folder / "pids"
        return pids.exists() and not Path(f"/proc/{pids.read_text().split()[0]}").exists()

    uvloop.run(give_up(ended, lambda: os.kill(int((folder / "pids").read_text().split()[1]), signal.SIGKILL)))
