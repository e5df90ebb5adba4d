"""The tables, and how those of one schema become those of the next.

The *schema* is the shape of the tables; its version stands in the database. What the rows of a journal mean has a
version of its own (`rankone.live.journal.events.VERSION`), which stands in each journal. A migration is a list of
statements that leads from one schema to the next. Migrations go forwards only, all in one transaction, when the
database is next opened to be written; a new database goes through all of them.
"""

from rankone.errors import JournalError, StorageError
from rankone.live.storage.driver import DamagedDatabase, Driver, NotPermitted

VERSION_TABLE = "CREATE TABLE IF NOT EXISTS rankone_version (version {integer} NOT NULL)"

# Migration N is the N-th. Never change one that was released: add another behind.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE rankone_experiments (id {integer} PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
        """CREATE TABLE rankone_journal (
            experiment {integer} NOT NULL REFERENCES rankone_experiments (id), seq {integer} NOT NULL,
            kind {integer} NOT NULL, at {integer} NOT NULL, decision {integer} NOT NULL, tag {integer} NOT NULL, value
            {integer} NOT NULL, secret {bytes}, key TEXT, source TEXT, note TEXT, chain {bytes}, shown {bytes}, context
            TEXT, chance {real}, token TEXT, cross_chances {bytes}, PRIMARY KEY (experiment, seq)) {clustered}""",
        "CREATE INDEX rankone_decision ON rankone_journal (experiment, decision)",
        "CREATE UNIQUE INDEX rankone_key ON rankone_journal (experiment, key) WHERE key IS NOT NULL",
        # Behind what was archived a journal begins with a snapshot: its base.
        """CREATE TABLE rankone_snapshots (
            experiment {integer} NOT NULL REFERENCES rankone_experiments (id), seq {integer} NOT NULL,
            body {bytes} NOT NULL, base {integer}, PRIMARY KEY (experiment, seq))""",
        """CREATE TABLE rankone_tokens (
            id TEXT PRIMARY KEY, digest {bytes} NOT NULL, note TEXT NOT NULL, scopes TEXT NOT NULL,
            experiment TEXT NOT NULL, rate {integer}, created {integer} NOT NULL, expires {integer},
            revoked {integer}, made_by TEXT, revoked_by TEXT)""",
        """CREATE TABLE rankone_webhooks (
            id TEXT PRIMARY KEY, experiment TEXT NOT NULL, address TEXT NOT NULL, format TEXT NOT NULL, events TEXT
            NOT NULL, secret TEXT NOT NULL, private {integer} NOT NULL, created {integer} NOT NULL, made_by TEXT,
            holder TEXT, held {integer} NOT NULL)""",
        """CREATE TABLE rankone_deliveries (
            webhook TEXT NOT NULL REFERENCES rankone_webhooks (id), occasion TEXT NOT NULL, id TEXT NOT NULL, body TEXT
            NOT NULL, made {integer} NOT NULL, due {integer}, tries {integer} NOT NULL, error TEXT,
            PRIMARY KEY (webhook, occasion))""",
        # Who was shown what at the edge, to count each once: `rankone.live.storage.edge_tables`.
        """CREATE TABLE rankone_exposures (
            experiment {integer} NOT NULL, visitor {integer} NOT NULL, version {integer} NOT NULL,
            at {integer} NOT NULL, cell {integer} NOT NULL, PRIMARY KEY (experiment, visitor, version)) {clustered}""",
        """CREATE TABLE rankone_clicks (experiment {integer} NOT NULL, visitor {integer} NOT NULL,
            at {integer} NOT NULL, PRIMARY KEY (experiment, visitor, at)) {clustered}""",
    ),
)


class OlderSchema(StorageError):
    """The tables are those of an older schema, and whoever opened them may not or will not change them."""

    def __init__(self, found: int, where: str, why: str, do: str) -> None:
        super().__init__(f"the tables at {where} as schema {len(MIGRATIONS)} has them", f"schema {found}, {why}", do)
        self.found = found


def see_to(database: Driver, read_only: bool) -> None:
    """Bring the tables of a database up to date, and see that they are.

    Where nothing is to be done, no right to change tables is needed, and nobody has to wait.
    """
    result = version_of(database)
    if result < len(MIGRATIONS) and not read_only:
        result = _migrate(database, result)
    if result == 0:
        do = "see that the name is right; Experiment(name, rows, cols, db=...) makes the first one"
        raise StorageError(f"a database of experiments at {database.where}", "one without any", do)
    if result < len(MIGRATIONS):
        raise OlderSchema(result, database.where, "which is only read here", "run `rankone migrate` once")
    if result > len(MIGRATIONS):
        expected = f"a database whose schema has version {len(MIGRATIONS)} or older"
        raise JournalError(expected, f"version {result}", "upgrade rankone to open it")


def version_of(database: Driver) -> int:
    """Return the version of a database's schema; 0: there are no tables."""
    return _noted_version(database) if database.has("rankone_version") else 0


def _noted_version(database: Driver) -> int:
    """Return the version that stands in a database; 0: none does."""
    result = database.query("SELECT coalesce(max(version), 0) FROM rankone_version")[0][0]
    if isinstance(result, int) and result >= 0:
        return result
    expected, do = f"a number as the version of the schema at {database.where}", "restore it from a backup"
    raise DamagedDatabase(expected, repr(result)[:100], do)


def statements() -> list[str]:
    """Return all that leads from nothing to the schema, as templates."""
    return [VERSION_TABLE, *(statement for migration in MIGRATIONS for statement in migration)]


def _migrate(database: Driver, found: int) -> int:
    """Go through the migrations that are missing, alone; return the version that is reached.

    Others may have done so while we waited for our turn. PostgreSQL may not see after a wait that a table was made
    meanwhile; making it if it does not exist does, and reading it then tells how far they came.
    """
    try:
        with database.transaction():
            database.query(VERSION_TABLE)
            done = _noted_version(database)
            if done < len(MIGRATIONS):
                for statement in (each for migration in MIGRATIONS[done:] for each in migration):
                    database.query(statement)
                database.query("DELETE FROM rankone_version")
                database.query("INSERT INTO rankone_version VALUES ({})", (len(MIGRATIONS),))
            return max(done, len(MIGRATIONS))
    except NotPermitted as error:
        if not found:
            raise
        do = f"run `rankone migrate` once as the owner of the tables ({error.got})"
        raise OlderSchema(found, database.where, "which this user may not change", do) from error
