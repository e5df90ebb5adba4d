"""Flipped bytes and cut files are noticed; bad snapshots are set aside; versions are respected."""

import contextlib
import shutil
import sqlite3
import threading

import pytest
from typer.testing import CliRunner

from rankone.cli import build_app
from rankone.errors import JournalError, RankoneError
from rankone.live import Database, Experiment
from rankone.live.fold.journal_reading import from_snapshot, replay
from rankone.live.journal.events import VERSION
from rankone.live.operate.doctor import examine
from rankone.live.operate.export import decisions_table
from rankone.live.storage import open_storage
from rankone.live.storage.schema import MIGRATIONS
from rankone.numerics.seeds import generator

from .helpers import Audience, error_of, saved, start


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """A database with two experiments and snapshots, closed and checkpointed into one file."""
    path = tmp_path_factory.mktemp("healthy") / "rankone.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankone.live.commit.transactions._SNAPSHOT_EVERY", 100)
        patch.setattr("rankone.live.commit.transactions._BYTES_PER_EVENT", 10**6)
        for name in ("homepage", "shop <page>"):
            with start(path, name=name, outcomes={"window": 1000}) as experiment:
                audience = Audience(void=0.0)
                for _ in range(150):
                    audience.step(experiment)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    return path


def content(path):
    """Everything the tables hold."""
    with sqlite3.connect(path) as connection:
        return list(connection.iterdump())


def sound(path):
    return all(finding.ok for finding in examine(path))


def test_a_healthy_database_is_found_healthy(healthy):
    findings = examine(healthy)
    assert all(finding.ok for finding in findings), findings
    checks = [finding.check.split()[0] for finding in findings]
    assert checks == ["schema", "pages", *["journal", "replay", "snapshot"] * 2]


def test_a_database_in_use_is_found_healthy(db):
    """What is written while the doctor looks must not look like damage."""
    over = threading.Event()

    def client(experiment):
        while not over.is_set():
            experiment.tell(experiment.ask().id, True)

    with pytest.MonkeyPatch.context() as patch, start(db) as experiment:
        patch.setattr("rankone.live.commit.transactions._SNAPSHOT_EVERY", 100)
        patch.setattr("rankone.live.commit.transactions._BYTES_PER_EVENT", 10**6)
        clients = [threading.Thread(target=client, args=(experiment,)) for _ in range(4)]
        for thread in clients:
            thread.start()
        try:
            for _ in range(10):
                assert [finding for finding in examine(db) if not finding.ok] == []
        finally:
            over.set()
            for thread in clients:
                thread.join()


def test_what_was_not_checked_is_not_called_good(postgres_db):
    with start(postgres_db) as experiment:
        experiment.tell(experiment.ask().id, True, source="bot")
        experiment.tell(experiment.ask().id, True)
        experiment.exclude(source="bot")
    verdicts = {finding.check: (finding.verdict, finding.detail) for finding in examine(postgres_db)}
    assert verdicts["pages"][0] == "left out"


def test_every_flipped_byte_is_noticed_or_changes_nothing(healthy, tmp_path):
    rng, whole = generator(0, "flips"), healthy.read_bytes()
    original = content(healthy)
    noticed = 0
    for _ in range(250):
        place, bit = int(rng.random() * len(whole)), int(rng.random() * 8)
        damaged = tmp_path / "flipped.db"
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << bit)]) + whole[place + 1 :])
        if sound(damaged):
            assert content(damaged) == original, f"bit {bit} of byte {place}"
        else:
            noticed += 1
    assert noticed > 100


def test_cut_files_are_noticed(healthy, tmp_path):
    rng, whole = generator(0, "cuts"), healthy.read_bytes()
    for _ in range(40):
        cut = tmp_path / "cut.db"
        cut.write_bytes(whole[: 1 + int(rng.random() * (len(whole) - 1))])
        assert not sound(cut)


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE rankone_journal SET value = 1 - value WHERE seq = 50",
        "UPDATE rankone_journal SET shown = x'00000000' WHERE seq = 9",
        "UPDATE rankone_journal SET at = at + 1 WHERE seq = 20",
        "UPDATE rankone_journal SET secret = zeroblob(16) WHERE kind = 4 AND seq < 20",
        "UPDATE rankone_journal SET source = 'me' WHERE seq = 30",
        "UPDATE rankone_journal SET note = replace(note, 'row 1', 'row x') WHERE seq = 1",
        "UPDATE rankone_journal SET chain = NULL WHERE seq = (SELECT max(seq) FROM rankone_journal)",
        "DELETE FROM rankone_journal WHERE seq = 40",
        "DELETE FROM rankone_journal WHERE seq = 1",
        "UPDATE rankone_journal SET shown = 'x' WHERE seq = 60",
        "UPDATE rankone_experiments SET name = 'renamed' WHERE id = 1",
        "DROP TABLE rankone_journal",
    ],
)
def test_tampering_is_noticed(harm, healthy, tmp_path):
    copy = tmp_path / "copy.db"
    shutil.copy(healthy, copy)
    with sqlite3.connect(copy) as connection:
        connection.execute(harm)
    assert not sound(copy)


@pytest.mark.parametrize("harm", ["flip", "swap", "empty", "wrong state"])
def test_a_bad_snapshot_is_noticed_set_aside_and_rebuilt(harm, healthy, tmp_path, monkeypatch):
    copy = tmp_path / "copy.db"
    shutil.copy(healthy, copy)
    expected = saved(Experiment("homepage", db=healthy))
    with sqlite3.connect(copy) as connection:
        bodies = dict(connection.execute("SELECT experiment, body FROM rankone_snapshots"))
        if harm == "flip":
            body = bytes([*bodies[1][:500], bodies[1][500] ^ 4, *bodies[1][501:]])
        elif harm == "swap":
            body = bodies[2]
        elif harm == "empty":
            body = b""
        else:  # a right checksum over a wrong state: only the replay can tell
            from rankone.live.fold import snapshot

            with contextlib.closing(open_storage(copy)) as storage:
                fold = from_snapshot(storage, 1, *storage.snapshots(1)[0])
            fold.state.pulls[0] += 1
            body = snapshot.save(fold)
        connection.execute("UPDATE rankone_snapshots SET body = ? WHERE experiment = 1", (body,))
    assert not sound(copy)
    if harm == "wrong state":
        return
    database = Database(copy)
    monkeypatch.setattr("rankone.live.commit.transactions._SNAPSHOT_EVERY", 100)
    monkeypatch.setattr("rankone.live.commit.transactions._BYTES_PER_EVENT", 10**6)
    experiment = Experiment("homepage", db=database)
    assert saved(experiment) == expected
    experiment.ask()
    assert len(database.transactions.storage.snapshots(1)) == 1  # the bad one is gone, a good one in its place
    database.close()
    assert sound(copy)


def test_a_newer_journal_is_refused_with_a_sentence(healthy, tmp_path):
    for statement in (
        f"UPDATE rankone_version SET version = {len(MIGRATIONS) + 1}",
        f"""UPDATE rankone_journal SET note = replace(note, '"version": {VERSION}', '"version": {VERSION + 1}')
            WHERE seq = 1""",
    ):
        copy = tmp_path / "newer.db"
        shutil.copy(healthy, copy)
        with contextlib.closing(sqlite3.connect(copy)) as open_file, open_file as connection:
            connection.execute(statement)
            if "note" in statement:
                _fit_checksums(copy, connection)
            connection.execute("DELETE FROM rankone_snapshots")
        error = error_of(Experiment, "homepage", db=copy)
        assert isinstance(error, JournalError)
        assert f"version {len(MIGRATIONS) + 1 if 'rankone_version' in statement else VERSION + 1}" in str(error)
        assert "Upgrade rankone" in str(error)


def _fit_checksums(path, connection):
    """Make the checksums fit after a change, as a newer program would have written them."""
    from rankone.live.journal.events import COLUMNS, Events, Texts

    rows = connection.execute(
        f"SELECT {', '.join(COLUMNS)} FROM rankone_journal WHERE experiment = 1 ORDER BY seq"
    ).fetchall()
    chain = b""
    for row in rows:
        chain = Events([row[:6]], [Texts(*row[6:-1])]).checksum(chain)
        connection.execute("UPDATE rankone_journal SET chain = ? WHERE experiment = 1 AND seq = ?", (chain, row[0]))


def test_the_version_of_the_schema_is_said(healthy):
    schema, *_ = examine(healthy)
    assert (schema.check, schema.detail) == ("schema", f"version {len(MIGRATIONS)}, which this program writes")


def overwritten(healthy, tmp_path):
    """Copies of a database, each with seven bytes overwritten where SQLite keeps how a page is laid out."""
    whole = healthy.read_bytes()
    for page in range(1, len(whole) // 4096):
        for offset in (5, 8, 40):
            place = 4096 * page + offset
            copy = tmp_path / "overwritten.db"
            copy.write_bytes(whole[:place] + b"XXXXXXX" + whole[place + 7 :])
            yield copy


def test_a_page_that_hides_the_end_of_a_journal_is_damage(healthy, tmp_path):
    """At some such pages SQLite stops without a word, and what was read up to there fits its checksums."""
    with contextlib.closing(open_storage(healthy, read_only=True)) as storage:
        events = {number: storage.last_event(number) for number in (1, 2)}
        asked = {number: replay(storage, number, with_policy=False).decisions for number in (1, 2)}
    cut_short = 0
    for copy in overwritten(healthy, tmp_path):
        for number in (1, 2):
            with contextlib.suppress(RankoneError), contextlib.closing(open_storage(copy, read_only=True)) as storage:
                cut_short += 0 < len(storage.tail(number, 0, 10_000)) < events[number]
                assert replay(storage, number, with_policy=False).seq == events[number]
            with contextlib.suppress(RankoneError), Database(copy, read_only=True) as database:
                assert len(decisions_table(database, database.names()[number - 1])) == asked[number]
    assert cut_short > 0, "no page was hidden: try other places"


def test_nothing_read_from_wrong_pages_is_called_good(healthy, tmp_path):
    wrong = 0
    for copy in overwritten(healthy, tmp_path):
        findings = examine(copy)
        if any(finding.check == "pages" and not finding.ok for finding in findings):
            wrong += 1
            assert {finding.verdict for finding in findings if finding.experiment} <= {"WRONG", "left out"}
            listed = CliRunner().invoke(build_app(), ["experiments", str(copy)])
            assert isinstance(listed.exception, RankoneError), "nor listed as if all were well"
    assert wrong > 0
