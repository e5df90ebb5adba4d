"""Processes for the tests to start and to kill. They run in children of a fork server, so starting one is cheap."""

import multiprocessing
import os
import signal
import sys
import threading
from pathlib import Path

from rankone.serving import Experiment, transactions
from rankone.serving.fold import Fold
from rankone.serving.storage.sql import Storage

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([f"{__package__}.warm"])
# The fork server imports by name: it must find this package wherever it is started.
os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])


def _die():
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(point, after):
    """Kill this process with SIGKILL at a named point, the `after`-th time it comes there."""
    owner, method, early = {
        "before apply": (Fold, "apply", True),
        "before append": (Storage, "append", True),
        "after append": (Storage, "append", False),
        "during snapshot": (Storage, "keep_snapshot", False),
        "after commit": (transactions.Transactions, "_after", True),
    }[point]
    original, passed = getattr(owner, method), [0]

    def wrapped(self, *arguments, **keywords):
        passed[0] += 1
        if early and passed[0] == after:
            _die()
        result = original(self, *arguments, **keywords)
        if passed[0] == after:
            _die()
        return result

    setattr(owner, method, wrapped)


def serve_until_killed(db, acknowledgements, point, after, threads=4):
    """Ask and tell from some threads, writing down what was acknowledged, until this process is killed."""
    transactions._SNAPSHOT_EVERY = 40
    if point is not None:
        die_at(point, after)
    experiment = Experiment("homepage", db=db, durability="normal")
    log = os.open(acknowledgements, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def client(number):
        while True:
            decision = experiment.ask()
            os.write(log, f"asked {decision.id} {decision.row} {decision.col}\n".encode())
            clicked = hash(decision.id) % 3 == 0
            experiment.tell(decision.id, clicked)
            os.write(log, f"told {decision.id} {int(clicked)}\n".encode())

    clients = [threading.Thread(target=client, args=(number,), daemon=True) for number in range(threads)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()


def open_and_use(db, barrier, answers, number):
    """Open a database at the same moment as others do, ask and tell a little."""
    try:
        barrier.wait()
        with Experiment("homepage", rows=3, cols=2, policy="ucb1", db=db, seed=1, durability="normal") as experiment:
            for _ in range(3):
                experiment.tell(experiment.ask(source=f"process {number}").id, True)
        answers.put(None)
    except BaseException as error:
        answers.put(f"{type(error).__name__}: {error}")


def fill_the_disk(db, limit, answers):
    """Write until files may grow no more, see the error, then go on when there is room again."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    experiment = Experiment("homepage", db=db, durability="normal")
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    told, error = [], None
    for _ in range(5000):
        try:
            decision = experiment.ask(count=20)[0]
            experiment.tell(decision.id, True)
            told.append(decision.id)
        except Exception as found:
            error = found
            break
    answers.put((type(error).__name__, str(error)))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    decision = experiment.ask()
    experiment.tell(decision.id, True)
    answers.put([*told, decision.id])
