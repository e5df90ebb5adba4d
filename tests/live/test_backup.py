"""Backups hold everything, also of a database in use; the way back ends where it is told to, and harms nothing."""

import contextlib
import errno
import os
import re
import resource
import shlex
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rankone.cli import build_app
from rankone.errors import InputError, StorageError
from rankone.live import Ask, Database, Experiment
from rankone.live.operate.backup import backup, restore
from rankone.live.operate.doctor import examine
from rankone.live.storage import open_storage, sqlite_backup
from rankone.live.storage.sqlite_backup import positions
from tests.test_docs import ROOT, blocks

from .helpers import saved

SIZES = {"rows": ["A", "B"], "cols": ["1", "2"], "policy": "ucb1", "seed": 5}


def visits(experiment, count):
    for number in range(count):
        experiment.tell(experiment.ask().id, clicked=number % 3 == 0)


@pytest.fixture
def db(tmp_path):
    path = tmp_path / "rankone.db"
    for name in ("homepage", "shop"):
        with Experiment(name, db=path, **SIZES) as experiment:
            visits(experiment, 20)
    return path


def copied_in_use(path):
    with contextlib.closing(open_storage(path, read_only=True)) as storage:
        return storage.copied_in_use


def cp(source, to):
    """Copy a file in another process: in this one, to close it would take away the locks of its connections."""
    subprocess.run(["cp", source, to], check=True)


def run(*words):
    return CliRunner().invoke(build_app(), [str(word) for word in words])


def test_a_backup_of_a_database_in_use_is_whole_and_goes_on_bit_for_bit(db, tmp_path):
    file, other = tmp_path / "monday.backup", tmp_path / "other.db"
    with Experiment("homepage", db=db) as experiment:
        visits(experiment, 5)  # in the log only
        made = run("backup", db, file)
        assert made.exit_code == 0
        assert "51" in made.stdout
        assert f"Written to {file}." in made.stderr
        again = run("restore", file, other)
        assert "Restored to" in again.stderr
        with Experiment("homepage", db=other) as copy:
            assert saved(copy) == saved(experiment)
            assert [copy.ask().levels for _ in range(20)] == [experiment.ask().levels for _ in range(20)]
    assert all(finding.ok for finding in examine(other))
    assert all(finding.ok for finding in examine(file))
    assert sorted(path.name for path in tmp_path.glob("monday*")) == ["monday.backup"]


def test_backups_restored_databases_and_exports_are_for_their_owner_only(db, tmp_path):
    """As the database is: whoever has the id of a decision can tell its outcome."""
    before = os.umask(0o022)
    try:
        assert run("backup", db, tmp_path / "monday.backup").exit_code == 0
        assert run("restore", tmp_path / "monday.backup", tmp_path / "new.db").exit_code == 0
        for kind in ("csv", "parquet", "jsonl"):
            assert run("export", db, "homepage", "--out", tmp_path / f"table.{kind}").exit_code == 0
        with Experiment("homepage", db=tmp_path / "new.db") as experiment:
            experiment.ask()
            modes = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    made = ["rankone.db", "monday.backup", "new.db", "new.db-wal", "new.db-shm"]
    assert modes.keys() >= {*made, "table.csv", "table.parquet", "table.jsonl"}
    assert set(modes.values()) == {"0o600"}


def test_a_file_that_is_replaced_keeps_its_permissions(db, tmp_path):
    file = tmp_path / "monday.backup"
    backup(db, file)
    file.chmod(0o640)  # for those who fetch it
    backup(db, file, over=True)
    assert file.stat().st_mode & 0o777 == 0o640


def test_back_to_an_event_and_to_a_time(db, tmp_path):
    file = tmp_path / "x.backup"
    backup(db, file)
    with Database(db, read_only=True) as database, database.reader() as storage:
        rows = storage.tail(storage.number("shop"), 0, 100)
    found = restore(file, tmp_path / "a.db", upto={"homepage": 11}, until=rows[0][2] / 1e6 - 1e-4)
    assert [(each.experiment, each.events) for each in found] == [("homepage", 11)]  # the shop was made later
    found = restore(file, tmp_path / "d.db", until=rows[20][2] / 1e6)
    assert [(each.experiment, each.events) for each in found] == [("homepage", 41), ("shop", 21)]
    found = restore(file, tmp_path / "b.db", upto={"shop": 16})
    assert [(each.experiment, each.events) for each in found] == [("homepage", 41), ("shop", 16)]
    assert all(finding.ok for finding in examine(tmp_path / "b.db"))
    with Experiment("shop", db=tmp_path / "b.db") as shop:
        assert shop.report().decisions == 8
    assert run("restore", file, tmp_path / "c.db", "--until", "2000-01-01T00:00:00Z").exit_code == 0
    assert positions(tmp_path / "c.db") == []


def test_a_restore_by_time_ends_with_a_whole_commit(tmp_path):
    db, file = tmp_path / "rankone.db", tmp_path / "x.backup"
    with Experiment("homepage", db=db, **SIZES) as experiment:
        experiment.do([Ask(10)])
        visits(experiment, 3)
    backup(db, file)
    for last in range(1, positions(file)[0].events + 1):
        target = tmp_path / f"{last}.db"
        assert restore(file, target, upto={"homepage": last})[0].events <= last
        assert all(finding.ok for finding in examine(target))


def test_a_plain_copy_without_the_log_is_noticed(db, tmp_path):
    copy, whole = tmp_path / "copy.db", tmp_path / "whole.db"
    with Database(db) as database:
        assert not database.transactions.mark_in_use()
        with Experiment("homepage", db=database) as experiment:
            visits(experiment, 5)
        cp(db, copy)
        for ending in ("", "-wal"):
            cp(f"{db}{ending}", f"{whole}{ending}")
        assert not copied_in_use(whole)  # its log is beside it
        with pytest.raises(InputError, match="Take a backup of it first"):
            restore(db, tmp_path / "new.db")
    assert positions(copy)[0].events < positions(db)[0].events == positions(whole)[0].events
    (wrong,) = [finding for finding in examine(copy) if not finding.ok]
    assert "without its -wal file" in wrong.detail
    with pytest.raises(InputError, match="may lack the last events"):
        restore(copy, tmp_path / "new.db")
    restore(copy, tmp_path / "new.db", plain=True)
    with Database(copy) as database:
        assert database.transactions.mark_in_use()
    cp(db, tmp_path / "cold.db")  # nobody uses it any more: a plain copy holds everything
    assert not copied_in_use(tmp_path / "cold.db")
    assert all(finding.ok for finding in examine(tmp_path / "cold.db"))


def test_one_of_two_services_ends_and_the_file_is_still_in_use(db, tmp_path):
    with Database(db) as one:
        one.transactions.mark_in_use()
        with Database(db) as other:
            other.transactions.mark_in_use()
        cp(db, tmp_path / "copy.db")
        assert copied_in_use(tmp_path / "copy.db")


def test_a_backup_onto_the_database_itself_is_refused(db, tmp_path):
    (tmp_path / "link.db").symlink_to(db)
    for file in (db, tmp_path / "link.db"):
        with pytest.raises(InputError, match="another file than the database itself"):
            backup(db, file, over=True)
    with pytest.raises(InputError, match="Pass --over"):
        backup(db, tmp_path / "there.backup") and backup(db, tmp_path / "there.backup")
    backup(db, tmp_path / "there.backup", over=True)


def test_only_a_backup_is_ever_replaced_by_one(db, tmp_path):
    other, used, text = tmp_path / "other.db", tmp_path / "used.backup", tmp_path / "notes.txt"
    text.write_text("not a database")
    backup(db, used)
    for path, name in ((other, "other"), (used, "late")):
        with Experiment(name, db=path, **SIZES) as experiment:
            visits(experiment, 1)
            with pytest.raises(InputError, match="use `rankone restore`"):
                backup(db, path, over=True)
            visits(experiment, 1)
    before = [path.read_bytes() for path in (other, used, text)]
    for path in (other, used, text):
        with pytest.raises(InputError, match="a backup to replace"):
            backup(db, path, over=True)
    assert [path.read_bytes() for path in (other, used, text)] == before
    assert positions(other)[0].events == 5


def test_every_database_that_gave_way_is_kept(db, tmp_path):
    file, before = tmp_path / "x.backup", positions(db)
    backup(db, file)
    restore(file, db, upto={"homepage": 11}, over=True)
    restore(file, db, over=True)
    assert positions(tmp_path / "rankone.db.before") == before
    assert positions(tmp_path / "rankone.db.before.2")[0].events == 11


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 500])
def test_a_damaged_database_is_replaced_and_kept_as_it_is(db, tmp_path, damage, caplog):
    file, before = tmp_path / "x.backup", positions(db)
    backup(db, file)
    db.write_bytes(damage)
    log = tmp_path / "rankone.db-journal"
    if damage:
        log.write_bytes(b"of the old one")
    with pytest.raises(InputError, match=r"one that cannot be read: .*. Pass --over"):
        restore(file, db)
    assert db.read_bytes() == damage
    restore(file, db, over=True)
    assert "is kept as" in caplog.text
    assert "unread" in caplog.text
    assert positions(db) == before
    assert (tmp_path / "rankone.db.before").read_bytes() == damage
    assert not log.exists()


def test_a_restore_over_a_newer_database_is_refused(db, tmp_path):
    file = tmp_path / "x.backup"
    backup(db, file)
    with Experiment("homepage", db=db) as experiment:
        visits(experiment, 2)
        with pytest.raises(StorageError, match="a database in use"):
            restore(file, db, over=True)
    before = positions(db)
    with pytest.raises(InputError, match=r"has what the backup does not: 'homepage' with 45 events. Pass --over"):
        restore(file, db)
    assert positions(db) == before
    restore(file, db, over=True)
    assert [found.events for found in positions(db)] == [41, 41]
    assert positions(tmp_path / "rankone.db.before") == before


def test_bad_input_is_refused_in_words(db, tmp_path):
    file = tmp_path / "x.backup"
    backup(db, file)
    wrong = {
        ("backup", tmp_path / "none.db", tmp_path / "y"): "No such file:",
        ("backup", db, tmp_path): "a folder",
        ("backup", db, tmp_path / "no" / "folder"): "no folder",
        ("backup", db, tmp_path / "new.db-wal"): "Name another file",
        ("backup", "postgresql://db1/shop", tmp_path / "y"): "Use PostgreSQL's own pg_dump",
        ("restore", file, "postgresql://db1/shop"): "Use PostgreSQL's own pg_restore",
        ("restore", file, file): "another file than the backup itself",
        ("restore", file, tmp_path / "z.db", "--upto", "homepage"): "NAME=EVENT",
        ("restore", file, tmp_path / "z.db", "--upto", "homepage=x"): "whole number",
        ("restore", file, tmp_path / "z.db", "--upto", "homepage=999"): "up to 41",
        ("restore", file, tmp_path / "z.db", "--upto", "nobody=9"): "homepage, shop",
        ("restore", file, tmp_path / "z.db", "--until", "noon"): "as a time",
        ("restore", file, tmp_path / "z.db", "--until", "2026-01-01T00:00:00"): "with its zone",
    }
    for words, message in wrong.items():
        assert message in str(run(*words).exception), words
    (tmp_path / "z.db-wal").write_bytes(b"x")
    with pytest.raises(StorageError, match=r"z\.db-wal"):
        restore(file, tmp_path / "z.db")
    file.write_bytes(file.read_bytes()[:5000])
    assert run("restore", file, tmp_path / "y.db").exit_code == 1
    assert not list(tmp_path.glob("[yz].db"))


def _limited():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the limit then answers like a full disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))


def test_a_disk_that_fills_during_a_backup_leaves_nothing_behind(db, tmp_path):
    file = tmp_path / "x.backup"
    backup(db, file)
    before, size = sorted(path.name for path in tmp_path.iterdir()), file.read_bytes()
    words = [sys.executable, "-m", "rankone", "backup", str(db), str(file), "--over"]
    failed = subprocess.run(words, capture_output=True, text=True, preexec_fn=_limited, cwd=ROOT / "src")
    assert failed.returncode == 2
    assert "Expected to read or write" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert file.read_bytes() == size


def test_a_disk_that_is_full_leaves_no_journal_of_sqlite_either(db, tmp_path, monkeypatch):
    """As it is on a real one: SQLite cannot roll back, and leaves its journal beside the file that is given up."""

    def full(source, part, mark):
        Path(f"{part}-journal").write_bytes(b"half a page")
        raise StorageError(f"to read or write {part}", "database or disk is full", "make room")

    monkeypatch.setattr(sqlite_backup, "copy", full)
    with pytest.raises(
        StorageError, match=rf"to read or write {re.escape(str(tmp_path / 'x.backup'))}, but got database"
    ):
        backup(db, tmp_path / "x.backup")
    assert list(tmp_path.glob(".*")) == []


def test_the_commands_for_postgresql_work_there(postgres, postgres_db, tmp_path):
    """Those of the documentation, with another address."""
    (text,) = [block for block in blocks(ROOT / "docs" / "backup.md", "sh", run=False) if "pg_dump" in block]
    schema = postgres_db.rpartition("%3D")[2]
    real = {
        "--dbname=postgresql://rankone@db.internal/rankone": f"--dbname=host={postgres.folder} dbname=postgres user=rankone",
        "--table=rankone_*": f"--table={schema}.rankone_*",
        "--file=monday.dump": f"--file={tmp_path}/monday.dump",
        "monday.dump": f"{tmp_path}/monday.dump",
    }
    with Experiment("homepage", db=postgres_db, **SIZES) as experiment:
        for line in text.splitlines():
            visits(experiment, 20)
            subprocess.run([real.get(word, word) for word in shlex.split(line)], check=True, capture_output=True)
    with Experiment("homepage", db=postgres_db) as experiment:
        assert experiment.report().decisions == 20
    assert all(finding.ok for finding in examine(postgres_db))


def test_sqlite_knows_the_mark(db):
    with Database(db) as database:
        database.transactions.mark_in_use()
        with sqlite3.connect(db) as connection:
            assert connection.execute("PRAGMA user_version").fetchone()[0] > 0x524B
        connection.close()
    with sqlite3.connect(db) as connection:
        assert connection.execute("PRAGMA user_version").fetchone()[0] == 0
    connection.close()


def test_to_look_at_a_file_takes_no_locks_away(db):
    """A process that closes a file loses all its locks on it; another would then remove the log as the last to leave."""
    with Database(db) as database, Experiment("homepage", db=database) as experiment:
        database.transactions.mark_in_use()
        visits(experiment, 2)
        Database(db, read_only=True).close()
        examine(db)
        backup(db, db.with_name("x.backup"))
        leaves = "import sys; from rankone.live import Database; Database(sys.argv[1]).close()"
        subprocess.run([sys.executable, "-c", leaves, str(db)], check=True)
        assert db.with_name("rankone.db-wal").stat().st_size > 0
        visits(experiment, 2)
    assert positions(db)[0].events == 41 + 8


@pytest.mark.parametrize("reason", [errno.EACCES, errno.EINVAL, errno.EIO])
def test_a_folder_that_cannot_be_synced_has_the_whole_file_and_one_that_fails_says_so(
    db, tmp_path, monkeypatch, caplog, reason
):
    """A folder that may be written to only, some network shares; a disk that fails is something else."""
    sync, monday, again = os.fsync, tmp_path / "monday.backup", tmp_path / "again.db"

    def refuse(file):
        if stat.S_ISDIR(os.fstat(file).st_mode):
            raise OSError(reason, os.strerror(reason))
        sync(file)

    monkeypatch.setattr(os, "fsync", refuse)
    for path, make in ((monday, lambda: backup(db, monday)), (again, lambda: restore(monday, again))):
        if reason == errno.EIO:
            with pytest.raises(StorageError, match=os.strerror(reason)):
                make()
        else:
            assert make() == positions(monday)
            assert f"{path} is whole, but its folder cannot be synced" in caplog.text
