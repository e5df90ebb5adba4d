"""What a reader of the documentation types at a prompt, done for real. `tests/test_docs.py` sends the pages through it."""

import atexit
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

ENVIRONMENT = os.environ | {"COLUMNS": "120"}
ENOUGH = 100  # decisions after which a reader has seen simulated traffic


def command(*words: str) -> None:
    """Run a command as it is written; a server goes on beside it, and traffic without end is ended by Ctrl-C."""
    if words[:2] == ("rankone", "serve"):
        _serve(words)
    elif words[:2] == ("rankone", "simulate-traffic") and "--visits" not in words:
        _watch_for_a_while(words)
    elif words[0] == "rankone":
        _succeed([sys.executable, "-m", *words])
    elif shutil.which(words[0]):
        _succeed([words[0], "--silent", "--show-error", "--fail-with-body", *words[1:]])


def _succeed(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}\n{done.stderr}"


def _serve(words: tuple[str, ...]) -> None:
    server = subprocess.Popen([sys.executable, "-m", *words], env=ENVIRONMENT, stderr=subprocess.DEVNULL)
    atexit.register(server.wait)
    atexit.register(server.terminate)
    port = int(words[words.index("--port") + 1])
    while True:
        assert server.poll() is None, f"{shlex.join(words)} ended by itself"
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.05)


def _watch_for_a_while(words: tuple[str, ...]) -> None:
    traffic = subprocess.Popen([sys.executable, "-m", *words], env=ENVIRONMENT)
    _, _, url, name = words[:4]
    while _decisions(url, name) < ENOUGH:
        assert traffic.poll() is None, f"{shlex.join(words)} ended by itself"
        time.sleep(0.1)
    traffic.send_signal(signal.SIGINT)
    assert traffic.wait() in (0, 130)


def _decisions(url: str, name: str) -> int:
    with urllib.request.urlopen(f"{url}/v1/experiments") as answer:
        found = {shown["name"]: shown["decisions"] for shown in json.load(answer)["experiments"]}
    return found.get(name, 0)
