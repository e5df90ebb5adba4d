"""Archives on bad days: two at once, killed, a full disk, files that are not as they were; nothing is half done."""

import resource
import signal
import subprocess
import sys
import threading

import polars as pl
import pytest

from rankone.errors import InputError, JournalError, StorageError
from rankone.live import Database, Experiment
from rankone.live.operate import archive as module
from rankone.live.operate import archive_files
from rankone.live.operate.archive import archive, sweep
from rankone.live.operate.doctor import examine
from rankone.live.operate.export import decisions_table
from rankone.live.storage.sql import Storage

from .archives import busy, live, rows_of, wrong
from .helpers import Clock


def test_two_archives_at_once_move_everything_once(shop, monkeypatch):
    database, experiment, clock, folder = shop
    clock.pass_seconds(1000)
    busy(experiment, clock, 10, seed=3)
    started, other = threading.Event(), Database(database.where)
    write = module.write_rows

    def slowly(*arguments):
        found = write(*arguments)
        if not started.is_set():  # the first to come is overtaken by the second
            started.set()
            list(archive(other, "homepage", folder, 0.5))
        return found

    monkeypatch.setattr(module, "write_rows", slowly)
    with pytest.raises(InputError, match=r"one archive of 'homepage' at a time.*Nothing was moved twice"):
        list(archive(database, "homepage", folder, 0.5))
    other.close()
    assert len(list(folder.glob("*.parquet"))) == 2
    assert not list(folder.glob(".*"))
    assert wrong(database.where, folder) == []


def test_a_file_that_another_archive_gave_up_does_not_count(shop, monkeypatch):
    """The second finds what the first has written, and takes it; then the first is interrupted and clears up."""
    database, experiment, clock, folder = shop
    busy(experiment, clock, 10, seed=3)
    clock.pass_seconds(1000)
    before, files, other = rows_of(database), sorted(folder.iterdir()), Database(database.where)
    written, give_up = threading.Event(), threading.Event()
    write, said = module.write_rows, []

    def interrupted(*_):
        written.set()
        give_up.wait()
        raise KeyboardInterrupt

    def first():
        try:
            list(archive(other, "homepage", folder, 0.5))
        except KeyboardInterrupt:
            said.append("interrupted")

    def taken(*arguments):
        found = write(*arguments)
        assert not found.new
        give_up.set()
        thread.join()
        return found

    monkeypatch.setattr(Storage, "put_base", interrupted)
    thread = threading.Thread(target=first)
    thread.start()
    written.wait()
    monkeypatch.setattr(module, "write_rows", taken)
    with pytest.raises(InputError, match=r"one archive of 'homepage' at a time.*Nothing was moved twice"):
        list(archive(database, "homepage", folder, 0.5))
    other.close()
    assert said == ["interrupted"]
    assert (rows_of(database), sorted(folder.iterdir())) == (before, files)
    assert wrong(database.where, folder) == []


def test_a_file_that_a_killed_archive_left_is_taken_whoever_packed_it(shop, monkeypatch):
    """Other versions of Polars write other bytes of the same rows; another copy of the database may name the file."""
    database, experiment, clock, folder = shop
    busy(experiment, clock, 40, seed=3)
    clock.pass_seconds(1000)
    write = module.write_rows

    def killed(path, *arguments):
        write(path, *arguments)
        raise SystemExit  # and nobody clears up

    with monkeypatch.context() as patch:
        patch.setattr(module, "write_rows", killed)
        with pytest.raises(SystemExit):
            list(archive(database, "homepage", folder, 0.5))
    (left,) = [path for path in folder.glob("*.parquet") if "000000001-" not in path.name]
    ours = left.read_bytes()
    pl.read_parquet(left).write_parquet(left, compression="gzip")
    theirs = left.read_bytes()
    assert theirs != ours

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Storage, "put_base", interrupted)
        with pytest.raises(KeyboardInterrupt):
            list(archive(database, "homepage", folder, 0.5))
    assert left.read_bytes() == theirs  # who did not write it does not remove it
    (moved,) = archive(database, "homepage", folder, 0.5)
    assert moved.file == left
    assert left.read_bytes() == theirs
    assert wrong(database.where, folder) == []


def test_the_next_nights_archive_takes_up_what_a_killed_one_left(shop, monkeypatch):
    """It would end with another event, and the file, with the ids of decisions, would stay for ever."""
    database, experiment, clock, folder = shop
    (first,) = folder.iterdir()

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "_discard", lambda *_: None)  # as if killed: nobody clears up
        patch.setattr(module, "_end_of_left_over", lambda *given: given[-1])  # nor looks what is there
        patch.setattr(Storage, "put_base", interrupted)
        for _ in range(2):
            busy(experiment, clock, 20, seed=3)
            with pytest.raises(KeyboardInterrupt):
                list(archive(database, "homepage", folder, 5))
    shorter, longer = sorted(path for path in folder.iterdir() if path != first)
    content, (begins, end) = longer.read_bytes(), longer.stem.split("-")
    (folder / f"{begins}-{int(end) + 1:09}.parquet").write_bytes(first.read_bytes())  # another's: passed over
    (folder / f"{begins}-{end} copy.parquet").write_bytes(content)
    busy(experiment, clock, 20, seed=4)
    one, two = archive(database, "homepage", folder, 5)
    assert (one.file, longer.read_bytes()) == (longer, content)
    assert two.first == one.upto + 1
    assert wrong(database.where, folder) == []
    (files,) = [finding.detail for finding in examine(database.where, folder) if finding.check == "files"]
    assert shorter.name in files  # named: it may be another database's
    assert longer.name not in files


def test_two_that_write_one_file_at_once_leave_the_first(shop, monkeypatch):
    """Bytes that an archive has named never change, whoever comes late."""
    database, experiment, clock, folder = shop
    busy(experiment, clock, 40, seed=3)
    clock.pass_seconds(1000)
    check, came = archive_files.ArchiveFile.check, []

    def overtaken(file, *arguments):
        found = check(file, *arguments)
        if not came:  # another machine, with another Polars, is quicker
            came.append(file)
            (path,) = {folder / f"{file.path.name[1:].rpartition('.')[0]}"}
            pl.read_parquet(file.path).write_parquet(path, compression="gzip")
            came.append((path, path.read_bytes()))
        return found

    monkeypatch.setattr(archive_files.ArchiveFile, "check", overtaken)
    (moved,) = archive(database, "homepage", folder, 0.5)
    path, content = came[1]
    assert (moved.file, path.read_bytes()) == (path, content)
    assert wrong(database.where, folder) == []


def test_another_databases_file_is_not_replaced(shop, tmp_path):
    _, _, clock, folder = shop
    with Database(tmp_path / "other.db") as other:
        experiment = live(other, clock, seed=8)
        busy(experiment, clock, 300, seed=5)
        (file,) = folder.glob("*.parquet")
        content = file.read_bytes()
        last = int(file.stem.split("-")[-1])
        at = rows_of(other)[last - 1][2]
        with pytest.raises(InputError, match="a folder of its own"):
            list(archive(other, "homepage", folder, (clock.now - at) / 1e6))
        assert file.read_bytes() == content
        assert len(rows_of(other)) == experiment.look(lambda fold: fold.seq)


CUT_SHORT = """
import os, signal, sys
from rankone.live import Database
from rankone.live.operate import archive
from rankone.live.storage.sql import Storage
point, db, folder = sys.argv[1:]
die = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
class_, name = {"file": (archive, "write_rows"), "base": (Storage, "put_base"), "sweep": (Storage, "remove")}[point]
done = getattr(class_, name)
def once(*arguments):
    found = done(*arguments)
    die()
setattr(class_, name, once)
with Database(db) as database:
    list(archive.archive(database, "homepage", folder, 0))
"""


@pytest.mark.parametrize("point", ["file", "base", "sweep"])
def test_an_archive_that_is_killed_leaves_nothing_half_done(tmp_path, point):
    db, folder, clock = tmp_path / "rankone.db", tmp_path / "archives", Clock()
    folder.mkdir()
    with Database(db, durability="off") as database:
        experiment = live(database, clock)
        busy(experiment, clock, 60)
        known = experiment.report().outcomes
    ended = subprocess.run([sys.executable, "-c", CUT_SHORT, point, db, folder], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert wrong(db, folder) == []
    with Database(db) as database:
        assert Experiment("homepage", db=database).report().outcomes == known
        assert sweep(database, 1) == 0 or point == "sweep"
        moved = list(archive(database, "homepage", folder, 0))
        assert len(moved) == (0 if point == "sweep" else 1)
        assert Experiment("homepage", db=database).report().outcomes == known
    findings = examine(db, folder)
    assert [finding for finding in findings if not finding.ok] == []
    assert not any("still to be taken out" in finding.detail for finding in findings)


def test_a_disk_that_is_full_moves_nothing(shop):
    database, _, clock, folder = shop
    clock.pass_seconds(1000)
    files, before = sorted(folder.iterdir()), rows_of(database)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, limit[1]))
        with pytest.raises(StorageError, match=r"to write .*File too large. Make room"):
            list(archive(database, "homepage", folder, 5))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, ignored)
    assert sorted(folder.iterdir()) == files
    assert rows_of(database) == before
    assert wrong(database.where, folder) == []


def test_what_is_wrong_with_an_archive_is_said(shop, tmp_path):
    database, _, _, folder = shop
    db = database.where
    assert any("not looked at: pass --archive" in finding.detail for finding in examine(db))
    (file,) = folder.glob("*.parquet")
    (folder / file.name.replace("000000001-", "000000001-9")).write_bytes(b"left over")
    assert any("not named by this journal" in finding.detail for finding in examine(db, folder))
    content = file.read_bytes()
    file.write_bytes(content[:500] + b"x" + content[501:])
    assert "was changed or damaged" in wrong(db, folder)[0].detail
    file.write_bytes(content[:-200])
    with pytest.raises(JournalError, match="an undamaged archive"):
        decisions_table(database, "homepage", archive=folder)
    file.unlink()
    assert "No such file" in wrong(db, folder)[0].detail
    with pytest.raises(InputError, match="no such file in"):
        decisions_table(database, "homepage", archive=folder)
    kept = next(row[0] for row in rows_of(database) if row[3] >= 0)
    database.use(lambda storage: storage.query(f"UPDATE rankone_journal SET at = at + 1 WHERE seq = {kept}"))
    assert "changed or damaged" in wrong(db)[0].detail
    database.use(lambda storage: storage.query("UPDATE rankone_snapshots SET body = {}", (b"nonsense" * 9,)))
    assert any("damaged" in finding.detail for finding in wrong(db))
    with Database(db) as again, pytest.raises(JournalError, match="Restore the database from a backup"):
        Experiment("homepage", db=again)
