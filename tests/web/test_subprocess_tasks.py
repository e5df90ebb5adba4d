"""Work in a process of its own: whoever gives up waiting for it hears so, once the process is gone with its memory."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
import uvloop

from rankone.web.server import subprocess_tasks as module
from rankone.web.server.subprocess_tasks import run_in_subprocess

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
