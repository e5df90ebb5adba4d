"""PostgreSQL: servers and programs that stop moving, addresses that hold passwords."""

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import psycopg
import pytest

from rankone.errors import InputError, StorageError
from rankone.live import Database, Experiment
from rankone.live.operate.doctor import examine
from rankone.live.storage import open_storage
from rankone.web.server.access.tokens import create_token

from .helpers import error_of, start
from .workers import CONTEXT, freeze_in_a_transaction


def backend(database):
    """The server's process behind a database's connection."""
    return database.transactions.storage._connection.info.backend_pid


def test_a_frozen_server_process_is_given_up_and_the_next_call_gets_another(postgres_db):
    with start(postgres_db) as experiment:
        experiment.ask()
    with Database(postgres_db, patience=2) as database:
        experiment = Experiment("homepage", db=database)
        frozen = backend(database)
        os.kill(frozen, signal.SIGSTOP)
        try:
            error = error_of(experiment.ask)
            assert isinstance(error, StorageError)
            assert "no answer within" in str(error)
            assert experiment.ask().number == 1
            assert backend(database) != frozen
        finally:
            os.kill(frozen, signal.SIGCONT)
    assert all(finding.ok for finding in examine(postgres_db))


def test_a_program_frozen_in_a_transaction_loses_its_lock_and_nothing_else(postgres_db):
    start(postgres_db).close()
    answers = CONTEXT.Queue()
    frozen = CONTEXT.Process(target=freeze_in_a_transaction, args=(postgres_db, 3.0, answers))
    frozen.start()
    try:
        while Path(f"/proc/{frozen.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            time.sleep(0.01)
        with Database(postgres_db, patience=30) as database:
            assert Experiment("homepage", db=database).ask().number == 0  # once the server has ended the session
    finally:
        os.kill(frozen.pid, signal.SIGCONT)
    assert "to answer" in answers.get(timeout=60)
    assert answers.get(timeout=60) == 1
    frozen.join()
    assert all(finding.ok for finding in examine(postgres_db))


def ended_in_a_transaction(db):
    """A storage whose server process was ended within a transaction."""
    storage = open_storage(db)
    storage.begin(())
    with psycopg.connect(db, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", (storage._connection.info.backend_pid,))
    return storage


def test_who_reads_from_one_moment_may_think_longer_than_one_who_writes(postgres_db):
    """A policy may have to be compiled meanwhile, and nobody waits for a reader."""
    with start(postgres_db) as experiment:
        experiment.ask()
    with Database(postgres_db, patience=1.5) as database, database.reader() as reader:
        reader.hold_still()
        time.sleep(1)  # a writer would have lost its transaction after half a second
        assert reader.last_event(1) == 2
        reader.rollback()
        ((limit,),) = reader.query("SHOW idle_in_transaction_session_timeout")
        assert limit == "500ms"


def test_a_commit_that_is_not_answered_may_have_got_in(postgres_db):
    with contextlib.closing(ended_in_a_transaction(postgres_db)) as storage:
        assert "it may have been stored" in str(error_of(storage.commit)).lower()


def test_a_transaction_does_not_go_on_on_another_connection(postgres_db):
    with contextlib.closing(ended_in_a_transaction(postgres_db)) as storage:
        for _ in range(2):
            assert isinstance(error_of(storage.names), StorageError)
        assert "it may have been stored" in str(error_of(storage.commit)).lower()
        storage.rollback()
        assert storage.names() == {}


def test_a_role_that_may_make_no_tables_can_run_everything_once_they_are_there(postgres):
    schema = (db := postgres.new_database()).rpartition("%3D")[2]
    Database(db).close()
    with psycopg.connect(db, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {schema}_user LOGIN")
        owner.execute(f"GRANT USAGE ON SCHEMA {schema} TO {schema}_user")
        owner.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {schema}_user")
    limited = db.replace("//rankone@", f"//{schema}_user@")
    with Database(limited) as database:
        experiment = start(database)
        experiment.tell(experiment.ask().id, True, source="bot")
        assert experiment.exclude(source="bot") == 1
        create_token(database, ["ask"])
        database.use(lambda storage: storage.keep_snapshot(1, 1, b""))
    with Experiment("homepage", db=limited) as again:
        assert again.report().decisions == 1


REFUSE_SOME = """
CREATE SEQUENCE tries;
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('tries') % 3 <> 0 THEN RAISE EXCEPTION 'for the sake of others' USING ERRCODE = '{}'; END IF;
    RETURN NULL;
END $$;
CREATE {} TRIGGER refuse AFTER INSERT ON {} {} FOR EACH ROW EXECUTE FUNCTION refuse()
"""


@pytest.mark.parametrize("code", ["40001", "40P01"], ids=["serialization", "deadlock"])
@pytest.mark.parametrize("when", ["statement", "commit"])
@pytest.mark.parametrize("table", ["rankone_journal", "rankone_experiments"])
def test_a_transaction_that_the_server_undoes_is_tried_again(postgres_db, code, when, table):
    """Two of three inserts fail as if others had been in the way."""
    Database(postgres_db).close()
    late = ("CONSTRAINT", "DEFERRABLE INITIALLY DEFERRED") if when == "commit" else ("", "")
    with psycopg.connect(postgres_db, autocommit=True) as owner:
        owner.execute(REFUSE_SOME.format(code, late[0], table, late[1]))
    with start(postgres_db) as experiment:
        for _ in range(5):
            assert experiment.tell(experiment.ask().id, True).learned
        experiment.add_level("row", "row 4")
        assert experiment.report().outcomes["clicked"] == 5
    assert all(finding.ok for finding in examine(postgres_db))


def test_a_server_that_isolates_more_by_default_makes_no_difference(postgres_db):
    """Who has waited for a lock sees what was committed meanwhile, whatever is usual there."""
    strict = f"{postgres_db}%20-cdefault_transaction_isolation%3Dserializable"
    start(strict).close()
    errors = []

    def client(number):
        with Experiment("homepage", db=strict) as experiment:
            for _ in range(15):
                errors.append(error_of(lambda: experiment.tell(experiment.ask().id, True)))

    clients = [threading.Thread(target=client, args=(number,)) for number in range(3)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    assert [error for error in errors if error is not None] == []
    with Experiment("homepage", db=strict) as experiment:
        assert experiment.report().outcomes["clicked"] == 45
    assert all(finding.ok for finding in examine(strict))


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://me:geheim@127.0.0.1:1/shop", "postgresql://127.0.0.1/shop"),
        ("postgresql://127.0.0.1:1/shop?user=me&password=geheim", "postgresql://127.0.0.1/shop"),
        ("postgresql://me:geheim@127.0.0.1:1,localhost:2/shop", "postgresql://127.0.0.1,localhost/shop"),
        ("postgres:///shop?host=/nowhere&passfile=geheim", "postgresql://localhost/shop"),
        ("host=127.0.0.1 port=1 dbname=shop password=geheim", "postgresql://127.0.0.1/shop"),
    ],
)
def test_addresses_are_shown_without_credentials(address, shown):
    error = error_of(open_storage, address, patience=2)
    assert isinstance(error, StorageError)
    assert f"the database {shown} to answer" in str(error)
    assert "geheim" not in str(error)


@pytest.mark.parametrize("address", ["postgresql://me:geheim%zz@host/shop", "postgre://me:geheim@host/shop"])
def test_an_address_that_cannot_be_read_is_not_repeated(address):
    error = error_of(open_storage, address)
    assert isinstance(error, InputError)
    assert "geheim" not in str(error)
