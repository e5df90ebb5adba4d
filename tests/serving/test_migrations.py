"""Databases of older releases: opened, brought up to date and continued as if nothing had happened."""

import contextlib
import json
import signal
import sqlite3

import pytest

from rankone.errors import JournalError, StorageError
from rankone.serving import Ask, Database, Experiment
from rankone.serving.doctor import examine
from rankone.serving.export import decisions_table
from rankone.serving.storage import open_storage
from rankone.serving.storage.schema import SCHEMA, statements, version_of
from rankone.web.server.tokens import list_tokens

from .helpers import error_of
from .journals import record
from .workers import CONTEXT, continue_at_once, migrate_and_die

RELEASES = sorted(path.stem.removeprefix("release-") for path in record.FOLDER.glob("release-*.json"))


@pytest.fixture(params=RELEASES)
def release(request):
    """A release whose database was recorded."""
    return request.param


@pytest.fixture
def old(db, release):
    """The database as that release wrote it, in each kind of database."""
    if "://" in str(db) and not str(db).startswith("postgres"):
        pytest.skip("that release knew no such database")
    if str(db).startswith("postgres"):
        import psycopg

        with psycopg.connect(db, autocommit=True) as connection:
            connection.execute((record.FOLDER / f"release-{release}.postgres.sql").read_text())
    elif "://" in str(db):
        pytest.skip("no older release kept experiments in this kind of database")
    else:
        with sqlite3.connect(db) as connection:
            connection.executescript((record.FOLDER / f"release-{release}.sqlite.sql").read_text())
    return db


def test_an_older_database_goes_on_bit_for_bit(old, release):
    """What is known, what is decided next and the checksums written then are those of the release itself."""
    assert as_before(record.go_on(old)) == as_before(
        json.loads((record.FOLDER / f"release-{release}.json").read_text())
    )
    assert [finding for finding in examine(old) if not finding.ok] == []
    with Database(old) as database:
        assert [token.note for token in list_tokens(database)] == ["", "the shop's page"]


def version(db):
    """The version that stands in a database."""
    with contextlib.closing(open_storage(db, read_only=True)) as storage:
        return version_of(storage)


def test_what_is_only_read_is_not_migrated(old, release):
    """Reading an older schema needs no rights: what is said of it is what is said after the migration."""
    before = version(old)
    assert before < SCHEMA
    with Database(old, read_only=True) as database:
        tables = [decisions_table(database, name).to_dicts() for name in database.names()]
        outcomes = Experiment("homepage", db=database).report().outcomes
        assert len(list_tokens(database)) == 2
    findings = examine(old)
    assert [finding for finding in findings if not finding.ok] == []
    assert any("made by another version" in finding.detail for finding in findings)  # a snapshot that knew no evidence
    assert version(old) == before
    Database(old).close()
    assert version(old) == SCHEMA
    with Database(old, read_only=True) as database:
        assert [decisions_table(database, name).to_dicts() for name in database.names()] == tables
        assert Experiment("homepage", db=database).report().outcomes == outcomes
    assert [finding for finding in examine(old) if not finding.ok] == []


def test_a_reader_that_was_there_first_sees_what_comes_after_the_migration(old):
    with Database(old, read_only=True) as watching:
        seen = Experiment("shop", db=watching)
        before = seen.report().decisions
        with Experiment("shop", db=old) as migrated:
            (asked,) = migrated.do([Ask(token="a token")])
            assert len(asked) == 1
        assert seen.report().decisions == before + 1


def test_a_migration_amid_a_look_does_not_pass_for_damage(old, monkeypatch):
    """What is asked with a token after it has a checksum that a reader of the older tables cannot check."""
    done = []

    def migrate_first(self, statement, parameters=()):
        if "rankone_journal" in statement and self is watching.transactions.storage and not done:
            done.append(statement)
            with Experiment("shop", db=old) as migrated:
                migrated.do([Ask(token="a token")])
        return query(self, statement, parameters)

    with Database(old, read_only=True) as watching:
        seen = Experiment("shop", db=watching)
        before = seen.report().decisions
        kind = type(watching.transactions.storage)
        query = kind.query
        monkeypatch.setattr(kind, "query", migrate_first)
        assert seen.report().decisions == before + 1
    assert len(done) == 1


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_schema_is_refused_in_words(db, read_only):
    Database(db).close()
    with contextlib.closing(open_storage(db)) as storage:
        storage.query("UPDATE rankone_version SET version = {}", (SCHEMA + 1,))
    error = error_of(Database, db, read_only=read_only)
    assert isinstance(error, JournalError)
    assert f"got version {SCHEMA + 1} - upgrade rankone" in str(error)


def test_the_first_release_refuses_what_is_migrated(old):
    """It makes tables that it misses by name, and then goes by the largest version: it misses none, and is told."""
    Database(old).close()
    made = ("version", "experiments", "journal", "decision", "key", "snapshots")
    with contextlib.closing(open_storage(old, read_only=True)) as storage:
        assert all(storage.has(f"rankone_{name}") for name in made)
        assert storage.query("SELECT max(version) FROM rankone_version")[0][0] > 1


def test_tables_without_a_version_are_those_of_the_first_release(old):
    """It made them first and entered the version then; a program may have ended between."""
    storage = open_storage(old, read_only=True)
    storage.close()
    storage._read_only = False  # not to migrate it yet
    storage.query("DELETE FROM rankone_version")
    storage.close()
    assert as_before(record.go_on(old)) == as_before(json.loads((record.FOLDER / "release-0.1.0.json").read_text()))
    assert version(old) == SCHEMA


def test_an_old_database_is_migrated_once_by_many_at_once(old):
    barrier, answers = CONTEXT.Barrier(12), CONTEXT.Queue()
    processes = [CONTEXT.Process(target=continue_at_once, args=(str(old), barrier, answers)) for _ in range(12)]
    for process in processes:
        process.start()
    found = [answers.get(timeout=300) for _ in processes]
    for process in processes:
        process.join()
    assert found == [None] * 12
    assert version(old) == SCHEMA
    assert [finding for finding in examine(old) if not finding.ok] == []


def test_a_program_killed_while_it_migrates_leaves_all_or_nothing(tmp_path, release):
    """At every statement of a migration."""
    whole = json.loads((record.FOLDER / f"release-{release}.json").read_text())
    seen = set()
    last = len(statements()) - len(statements(1)) + 6  # with those that begin, count and end
    for after in range(1, last + 1):
        path = tmp_path / f"{after}.db"
        with sqlite3.connect(path) as connection:
            connection.executescript((record.FOLDER / f"release-{release}.sqlite.sql").read_text())
        process = CONTEXT.Process(target=migrate_and_die, args=(str(path), after))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        seen.add(version(path))
    assert seen == {1, SCHEMA}
    for after in (4, last):
        assert as_before(record.go_on(tmp_path / f"{after}.db")) == as_before(whole)


def test_a_user_who_may_not_change_tables_is_told_what_to_do(postgres):
    import psycopg

    schema = (db := postgres.new_database()).rpartition("%3D")[2]
    with psycopg.connect(db, autocommit=True) as owner:
        owner.execute((record.FOLDER / "release-0.1.0.postgres.sql").read_text())
        owner.execute(f"CREATE ROLE {schema}_user LOGIN")
        owner.execute(f"GRANT USAGE ON SCHEMA {schema} TO {schema}_user")
        owner.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {schema}_user")
    limited = db.replace("//rankone@", f"//{schema}_user@")
    error = error_of(Database, limited)
    assert isinstance(error, StorageError)
    assert "got those of schema 1, which this user may not change - run `rankone migrate` once" in str(error)
    with Database(limited, read_only=True) as database:
        assert database.names() == ["homepage", "shop"]
    Database(db).close()
    with Experiment("shop", db=limited) as experiment:
        assert experiment.ask().filler


def as_before(found):
    """All that went on, but for the last checksum: decisions now have their probabilities, which enter it."""
    return {name: each | {"after": each["after"] | {"chain": None}} for name, each in found.items()}
