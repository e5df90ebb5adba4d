"""Processes for the tests to start and to kill. They run in children of a fork server, so starting one is cheap."""

import multiprocessing
import os
import secrets
import signal
import sys
import threading
import time
from pathlib import Path

from rankone.errors import StorageError
from rankone.live import Database, Experiment
from rankone.live.commit import transactions
from rankone.live.fold import fold_cache
from rankone.live.fold.fold import Fold
from rankone.live.storage import schema
from rankone.live.storage.sql import Storage
from rankone.live.storage.sqlite import SQLiteStorage
from tests.levels import col_of, row_of

# A next schema, made up.
MADE_UP = (
    "ALTER TABLE rankone_snapshots ADD COLUMN made_up {real}",
    "CREATE TABLE rankone_made_up (id {integer} PRIMARY KEY)",
)
_LOOKS = 3  # statements before a migration: the mode of the log, whether there is a version, and which
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
    transactions._SNAPSHOT_EVERY, transactions._BYTES_PER_EVENT = 40, 100_000  # however large the state is
    if point is not None:
        die_at(point, after)
    experiment = Experiment("homepage", db=db, durability="normal")
    log = os.open(acknowledgements, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def client(number):
        while True:
            said = {"device": f"device {number}"} if number % 2 else None
            visitor = f"visitor {secrets.token_hex(8)}"
            decision = experiment.ask(context=said, visitor=visitor)
            os.write(
                log, f"asked {decision.id} {row_of(decision)} {col_of(decision)} {number % 2 and number}\n".encode()
            )
            for _ in range(1 + hash(decision.id) % 2):  # sent again, as pages do that saw no answer
                experiment.track(visitor, "order", 2.5, key=visitor)
            os.write(log, f"ordered {decision.id} {visitor}\n".encode())
            clicked = hash(decision.id) % 3 == 0
            experiment.tell(decision.id, clicked)
            os.write(log, f"told {decision.id} {int(clicked)}\n".encode())

    clients = [threading.Thread(target=client, args=(number,), daemon=True) for number in range(threads)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()


def rank_until_killed(db, acknowledgements, point, after, threads=3):
    """The same of a ranking whose lists are told in parts."""
    transactions._SNAPSHOT_EVERY, transactions._BYTES_PER_EVENT = 40, 100_000
    if point is not None:
        die_at(point, after)
    ranking = Experiment("home", db=db, durability="normal")
    log = os.open(acknowledgements, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def client(number):
        while True:
            decision = ranking.ask(pinned={2: "ad"} if number else None, exclude=["a"] if number == 1 else None)
            os.write(log, f"asked {decision.id} {','.join(decision.items)}\n".encode())
            clicked = [1 + hash(decision.id) % 3] if hash(decision.id) % 2 else []
            ranking.tell(decision.id, clicked, seen=3)
            os.write(log, f"told {decision.id} {','.join(map(str, clicked))}\n".encode())

    clients = [threading.Thread(target=client, args=(number,), daemon=True) for number in range(threads)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()


def rank_in_a_child(db, answers):
    """Ask a ranking, fork, and ask in parent and child at once."""
    with Experiment("home", db=db, durability="normal") as ranking:
        ranking.tell(ranking.ask(), [1])
        child = os.fork()
        for _ in range(20):
            ranking.tell(ranking.ask(exclude=["b"]), [2], seen=3)
        if child == 0:
            os._exit(0)
        answers.put(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def exclude_until_killed(db, point, after):
    """Exclude what robots told; the process is killed on the way."""
    fold_cache.SHORT, transactions._BYTES_PER_EVENT = 30, 10_000
    experiment = Experiment("homepage", db=db, durability="normal")
    experiment.ask()
    die_at(point, after)
    experiment.exclude(source="bot")


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


def continue_at_once(db, barrier, answers):
    """Migrate a database to the next schema at the same moment as others do, and go on with an experiment."""
    schema.MIGRATIONS = (*schema.MIGRATIONS, MADE_UP)
    try:
        barrier.wait()
        with Experiment("homepage", db=db, durability="normal") as experiment:
            experiment.tell(experiment.ask().id, True)
        answers.put(None)
    except BaseException as error:
        answers.put(f"{type(error).__name__}: {error}")


def migrate_and_die(db, after):
    """Migrate a database to the next schema, and kill this process behind the `after`-th statement."""
    schema.MIGRATIONS = (*schema.MIGRATIONS, MADE_UP)
    query, passed = SQLiteStorage.query, [0]

    def wrapped(self, statement, parameters=()):
        found = query(self, statement, parameters)
        passed[0] += 1
        if passed[0] == after + _LOOKS:
            _die()
        return found

    SQLiteStorage.query = wrapped
    Database(db).close()
    _die()


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


def _crowd(experiment, ends, threads=4):
    """Threads that ask and tell, some of them of segments, until they are refused, and put why into `ends`."""

    def client(number):
        said = {"device": f"device {number}"} if number % 2 else None
        try:
            while True:
                experiment.tell(experiment.ask(context=said).id, True)
        except StorageError as error:
            ends.append(str(error))

    clients = [threading.Thread(target=client, args=(number,), daemon=True) for number in range(threads)]
    for thread in clients:
        thread.start()
    return clients


def close_under_load(db, tries):
    """Close a database while threads use it, again and again."""
    for number in range(tries):
        database, ends = Database(db, durability="off"), []
        clients = _crowd(Experiment("homepage", db=database), ends)
        time.sleep(0.002 * (number % 10))
        database.close()
        database.close()  # again: harmless
        for thread in clients:
            thread.join()
        assert len(ends) == 4
        assert all("closed" in end for end in ends), ends


def close_by_signal(db, tries, answers):
    """Close in a signal handler, as programs do when they are told to end, while this thread asks and others do."""
    ends = []
    for number in range(tries):
        database = Database(db, durability="off")
        clients = _crowd(experiment := Experiment("homepage", db=database), ends, threads=number % 3)
        signal.signal(signal.SIGALRM, lambda *_, database=database: database.close())
        signal.setitimer(signal.ITIMER_REAL, 0.002 * (1 + number % 10))
        ends.append(_error_of_asking(experiment))
        for thread in clients:
            thread.join()
    answers.put(ends)


def _error_of_asking(experiment):
    """Ask until that is refused; return what was said."""
    try:
        while True:
            experiment.ask()
    except StorageError as error:
        return str(error)


def fork_under_load(db, tries, answers):
    """Fork while threads write; each child opens, asks and tells. Put how the children ended."""
    database, ends = Database(db, durability="off"), []
    experiment = Experiment("homepage", db=database)
    clients, codes = _crowd(experiment, ends), []
    for number in range(tries):
        time.sleep(0.001 * (number % 10))
        child = os.fork()
        if child == 0:
            try:
                own = experiment.ask(source="child", context={"device": "child"}, visitor=f"child {number}")
                for _ in range(2):
                    experiment.track(f"child {number}", "order", 2.5, key=f"order {number}")
                experiment.tell(own.id, True)
                with Experiment(f"shop {number % 3}", 2, 2, "ucb1", db=database) as other:
                    other.ask()
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        codes.append(_end_of(child))
    database.close()
    for thread in clients:
        thread.join()
    answers.put((codes, ends))


def _end_of(child, patience=60):
    """Wait for a child; "stuck" if it does not end."""
    for _ in range(patience * 100):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "stuck"


def fork_at_work(db, answers):
    """Fork within a look, where the connection cannot be given back: the child is told, and can end."""
    experiment = Experiment("homepage", db=db)
    child = experiment.look(lambda fold: os.fork())
    if child == 0:
        refused = []
        for use in (experiment.ask, lambda: Database(db), lambda: Experiment("homepage", db=db)):
            try:
                use()
            except StorageError as error:
                refused.append("forked while" in str(error))
        experiment.close()
        sys.exit(0 if refused == [True] * 3 else 1)  # not os._exit: what is inherited is left alone at the end, too
    answers.put((_end_of(child), experiment.ask().number))


def freeze_in_a_transaction(db, patience, answers):
    """Stop (SIGSTOP) with the experiment's lock in hand; when continued, put the error that came, and go on."""
    database = Database(db, patience=patience)
    experiment = Experiment("homepage", db=database)
    append = Storage.append

    def freeze(self, *arguments):
        Storage.append = append
        os.kill(os.getpid(), signal.SIGSTOP)
        append(self, *arguments)

    Storage.append = freeze
    try:
        experiment.ask()
        answers.put(None)
    except StorageError as error:
        answers.put(str(error))
    answers.put(experiment.ask().number)
