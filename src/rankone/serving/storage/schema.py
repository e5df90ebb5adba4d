"""The tables, and how those of older releases become today's.

The *schema* is the shape of the tables; its version stands in the database. What the rows of a journal mean has a
version of its own (`rankone.serving.journal.VERSION`), which stands in each journal. A migration is a list of
statements that leads from one schema to the next. Migrations go forwards only, all in one transaction, when the
database is next opened; a new database goes through all of them. What is only read is not migrated: readers know older
schemas too.
"""

from __future__ import annotations

from rankone.errors import JournalError, StorageError
from rankone.serving.storage.driver import Driver, NotPermitted

VERSION_TABLE = "CREATE TABLE IF NOT EXISTS rankone_version (version {integer} NOT NULL)"

# Never change one that was released. 0.1.0 made its tables one by one and entered no version until they were there: so
# the first migration leaves alone what it finds. A table that goes on being called as it was keeps older programs,
# which know these names, from making it anew before they see the version and refuse.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (  # 1: release 0.1.0
        """CREATE TABLE IF NOT EXISTS rankone_experiments (
            id {integer} PRIMARY KEY, name TEXT NOT NULL UNIQUE)""",
        """CREATE TABLE IF NOT EXISTS rankone_journal (
            experiment {integer} NOT NULL REFERENCES rankone_experiments (id), seq {integer} NOT NULL,
            kind {integer} NOT NULL, at {integer} NOT NULL, decision {integer} NOT NULL, row {integer} NOT NULL,
            col {integer} NOT NULL, tag {integer} NOT NULL, value {integer} NOT NULL, secret {bytes}, key TEXT,
            source TEXT, note TEXT, chain {bytes}, PRIMARY KEY (experiment, seq)) {clustered}""",
        "CREATE INDEX IF NOT EXISTS rankone_decision ON rankone_journal (experiment, decision)",
        """CREATE UNIQUE INDEX IF NOT EXISTS rankone_key
            ON rankone_journal (experiment, key) WHERE key IS NOT NULL""",
        """CREATE TABLE IF NOT EXISTS rankone_snapshots (
            experiment {integer} NOT NULL REFERENCES rankone_experiments (id), seq {integer} NOT NULL,
            body {bytes} NOT NULL, PRIMARY KEY (experiment, seq))""",
    ),
    (  # 2: journals of version 2; the table of tokens, which 0.1.0 made with the first token, belongs to all
        "ALTER TABLE rankone_journal ADD COLUMN shown {bytes}",
        "ALTER TABLE rankone_journal ADD COLUMN context TEXT",
        "ALTER TABLE rankone_journal ADD COLUMN chance {real}",
        "ALTER TABLE rankone_journal ADD COLUMN token TEXT",
        """CREATE TABLE IF NOT EXISTS rankone_tokens (
            id TEXT PRIMARY KEY, digest {bytes} NOT NULL, note TEXT NOT NULL, scopes TEXT NOT NULL,
            experiment TEXT NOT NULL, rate {integer}, created {integer} NOT NULL, expires {integer},
            revoked {integer})""",
    ),
    (  # 3: journals of version 3
        "ALTER TABLE rankone_journal ADD COLUMN cross_chances {bytes}",
    ),
    (  # 4: behind what was archived a journal begins with a snapshot, its base; a new table would need new rights
        "ALTER TABLE rankone_snapshots ADD COLUMN base {integer}",
        "ALTER TABLE rankone_tokens ADD COLUMN made_by TEXT",
        "ALTER TABLE rankone_tokens ADD COLUMN revoked_by TEXT",
    ),
)
SCHEMA = len(MIGRATIONS)


def see_to(database: Driver, read_only: bool) -> int:
    """Bring the tables of a database up to date, unless it is only read; return the version of its schema.

    Where nothing is to be done, no right to change tables is needed, and nobody has to wait.
    """
    found = version_of(database)
    if found < SCHEMA and not read_only:
        found = _migrate(database, found)
    if found == 0:
        do = "see that the name is right; Experiment(name, rows, cols, db=...) makes the first one"
        raise StorageError(f"a database of experiments at {database.where}", "one without any", do)
    if found > SCHEMA:
        expected = f"a database whose schema has version {SCHEMA} or older"
        raise JournalError(expected, f"version {found}", "upgrade rankone to open it")
    return found


def version_of(database: Driver) -> int:
    """Return the version of a database's schema; 0: there are no tables."""
    if not database.has("rankone_version"):
        return 0
    found = database.query("SELECT max(version) FROM rankone_version")[0][0]
    if found is None:  # a program ended between making the tables and saying so
        return int(database.has("rankone_journal"))
    return int(found)


def statements(version: int = SCHEMA) -> list[str]:
    """Return all that leads from nothing to a schema, as templates."""
    return [VERSION_TABLE, *(statement for migration in MIGRATIONS[:version] for statement in migration)]


def _migrate(database: Driver, found: int) -> int:
    """Go through the migrations that are missing, alone; return the version that is reached.

    Others may have done so while we waited for our turn. PostgreSQL may not see after a wait that a table was made
    meanwhile; making it if it does not exist does, and reading it then tells how far they came.
    """
    try:
        with database.transaction():
            database.query(VERSION_TABLE)
            done = int(database.query("SELECT coalesce(max(version), 0) FROM rankone_version")[0][0])
            if done < SCHEMA:
                for statement in (each for migration in MIGRATIONS[done:] for each in migration):
                    database.query(statement)
                database.query("DELETE FROM rankone_version")
                database.query("INSERT INTO rankone_version VALUES ({})", (SCHEMA,))
            return max(done, SCHEMA)
    except NotPermitted as error:
        if not found:
            raise
        expected = f"the tables at {database.where} as schema {SCHEMA} has them"
        do = f"run `rankone migrate` once as the owner of the tables ({error.got})"
        raise StorageError(expected, f"those of schema {found}, which this user may not change", do) from error
