"""What a reader of the documentation types at a prompt, done for real. `tests/test_docs.py` sends the pages through it."""

import atexit
import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable

from tests.programs import rankone

os.environ["COLUMNS"] = "120"
ENVIRONMENT = dict(os.environ)
ENOUGH = 100  # decisions after which a reader has seen simulated traffic
SAID: list[str] = [""]  # what the last command printed
PATIENCE = 600  # seconds: a busy machine is no failure, one that hangs is


def command(*words: str) -> None:
    """Run a command as it is written; a server goes on beside it, and traffic without end is ended by Ctrl-C."""
    if words[:2] == ("rankone", "serve"):
        _serve(words)
    elif words[:2] == ("rankone", "simulate-traffic") and "--visits" not in words:
        _watch_for_a_while(words)
    elif words[:2] == ("rankone", "--import"):
        _succeed([sys.executable, "-m", *words])  # what a file defines is known once a process
    elif words[0] == "rankone":
        _run_here(words)
    else:
        assert words[0] == "curl", words
        assert shutil.which("curl"), "Expected curl, as the page does, but got none. Install it"
        _succeed(["curl", "--silent", "--show-error", "--fail-with-body", *words[1:]])


def _run_here(words: tuple[str, ...]) -> None:
    """Run a command in this process: a page has many, and to start Python for each would take longer than they do."""
    done = rankone(*words[1:])
    assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}\n{done.stderr}"
    SAID[:] = [done.stdout + done.stderr]


def shown(text: str) -> None:
    """Compare what a page shows with what the command before it printed: line breaks aside, `...` stands for anything."""
    said = " ".join(SAID[0].split())
    for part in text.split("..."):
        expected = " ".join(part.split())
        assert expected in said, f"the page shows {expected!r}, the command says {said!r}"


def _succeed(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}\n{done.stderr}"


def _serve(words: tuple[str, ...]) -> None:
    port = int(words[words.index("--port") + 1])
    assert not _listens(port), "one service a page"
    server = subprocess.Popen([sys.executable, "-m", *words], env=ENVIRONMENT, stderr=subprocess.DEVNULL)
    atexit.register(server.wait)
    atexit.register(server.terminate)
    _wait_until(lambda: _listens(port), server)


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def _wait_until(happens: Callable[[], bool], process: subprocess.Popen) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happens():
        assert process.poll() is None, f"{process.args} ended by itself"
        assert time.monotonic() < deadline, f"{process.args} does nothing"
        time.sleep(0.05)


def _watch_for_a_while(words: tuple[str, ...]) -> None:
    traffic = subprocess.Popen([sys.executable, "-m", *words], env=ENVIRONMENT)
    _, _, url, name = words[:4]
    _wait_until(lambda: _decisions(url, name) >= ENOUGH, traffic)
    traffic.send_signal(signal.SIGINT)
    assert traffic.wait() in (0, 130)


def _decisions(url: str, name: str) -> int:
    with urllib.request.urlopen(f"{url}/v1/experiments") as answer:
        found = {shown["name"]: shown["decisions"] for shown in json.load(answer)["experiments"]}
    return found.get(name, 0)
