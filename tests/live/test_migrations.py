"""Numbered migrations, shown with a next schema that is made up: it adds a column and a table."""

import contextlib
import signal

import pytest

from rankone.errors import JournalError, StorageError
from rankone.live import Database, Experiment
from rankone.live.operate.doctor import examine
from rankone.live.storage import open_storage, schema
from rankone.live.storage.schema import MIGRATIONS, version_of

from .helpers import Audience, error_of, saved, start
from .workers import CONTEXT, MADE_UP, continue_at_once, migrate_and_die

NEWEST = len(MIGRATIONS)


@contextlib.contextmanager
def newer():
    """Be a program whose schema is the next."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", (*MIGRATIONS, MADE_UP))
        yield


@pytest.fixture
def upgrade():
    """Return what makes the program of this process a newer one, until the end of the test."""
    with contextlib.ExitStack() as stack:
        yield lambda: stack.enter_context(newer())


def version(db):
    """The version that stands in a database, read as it is."""
    with contextlib.closing(open_storage(db, read_only=True)) as storage:
        return version_of(storage)


def busy(db, steps=60):
    """A database at work, as this program makes it; return what is known of its experiment."""
    with start(db) as experiment:
        audience = Audience()
        for _ in range(steps):
            audience.step(experiment)
        return saved(experiment)


def test_a_database_is_migrated_when_it_is_opened_and_goes_on_bit_for_bit(db, upgrade):
    known = busy(db)
    assert version(db) == NEWEST
    upgrade()
    with Experiment("homepage", db=db) as experiment:
        assert saved(experiment) == known
        experiment.tell(experiment.ask(), True)
        experiment.database.use(lambda storage: storage.query("INSERT INTO rankone_made_up VALUES (7)"))
    assert version(db) == NEWEST + 1
    assert [finding for finding in examine(db) if not finding.ok] == []
    Database(db).close()
    with Database(db) as database:  # not twice
        assert database.use(lambda storage: storage.query("SELECT * FROM rankone_made_up")) == [(7,)]


def test_a_new_database_goes_through_all_migrations(db, upgrade):
    upgrade()
    busy(db)
    assert version(db) == NEWEST + 1
    assert [finding for finding in examine(db) if not finding.ok] == []


def test_an_older_schema_is_not_read_and_not_changed_by_who_only_reads(db):
    busy(db)
    with newer():
        error = error_of(Database, db, read_only=True)
        assert isinstance(error, StorageError)
        assert f"got schema {NEWEST}, which is only read here. Run `rankone migrate` once" in str(error)
        (finding,) = examine(db)
        assert (finding.check, finding.ok) == ("open", False)
    assert version(db) == NEWEST


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_schema_is_refused_in_words(db, read_only):
    with newer():
        busy(db)
    error = error_of(Database, db, read_only=read_only)
    assert isinstance(error, JournalError)
    assert f"version {NEWEST} or older, but got version {NEWEST + 1}. Upgrade rankone" in str(error)


def test_a_database_is_migrated_once_by_many_at_once(db, upgrade):
    busy(db)
    barrier, answers = CONTEXT.Barrier(6), CONTEXT.Queue()
    processes = [CONTEXT.Process(target=continue_at_once, args=(str(db), barrier, answers)) for _ in range(6)]
    for process in processes:
        process.start()
    found = [answers.get(timeout=300) for _ in processes]
    for process in processes:
        process.join()
    assert found == [None] * 6
    upgrade()
    assert version(db) == NEWEST + 1
    assert [finding for finding in examine(db) if not finding.ok] == []


def test_a_program_killed_while_it_migrates_leaves_all_or_nothing(tmp_path, upgrade):
    """At every statement of a migration."""
    seen, last = set(), len(MADE_UP) + 6  # with those that begin, count and end
    known = busy(tmp_path / "0.db")
    upgrade()
    for after in range(1, last + 1):
        path = tmp_path / f"{after}.db"
        path.write_bytes((tmp_path / "0.db").read_bytes())
        process = CONTEXT.Process(target=migrate_and_die, args=(str(path), after))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        try:
            seen.add(version(path))
        except StorageError as error:
            seen.add(error.found)
        with Experiment("homepage", db=path) as experiment:
            assert saved(experiment) == known
    assert seen == {NEWEST, NEWEST + 1}


def test_a_user_who_may_not_change_tables_is_told_what_to_do(postgres, upgrade):
    import psycopg

    place = (db := postgres.new_database()).rpartition("%3D")[2]
    busy(db)
    with psycopg.connect(db, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {place}_user LOGIN")
        owner.execute(f"GRANT USAGE ON SCHEMA {place} TO {place}_user")
        owner.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {place} TO {place}_user")
    limited = db.replace("//rankone@", f"//{place}_user@")
    with Experiment("homepage", db=limited) as experiment:  # nothing to migrate: no right is needed
        experiment.ask()
    upgrade()
    error = error_of(Database, limited)
    assert isinstance(error, StorageError)
    assert f"got schema {NEWEST}, which this user may not change. Run `rankone migrate` once" in str(error)
    Database(db).close()
    with Experiment("homepage", db=limited) as experiment:
        assert experiment.ask().number > 0
