"""Archives: a database does not grow for ever, and nothing else changes; whatever goes wrong, nothing is half done."""

import json
import resource
import signal
import sqlite3
import subprocess
import sys
import threading

import polars as pl
import pytest
from typer.testing import CliRunner

import rankone
from rankone.cli import build_app
from rankone.errors import InputError, JournalError, KeyReused, StorageError, UnknownDecision
from rankone.serving import Database, Experiment
from rankone.serving.archive import archive, sweep
from rankone.serving.backup import backup, restore
from rankone.serving.doctor import examine
from rankone.serving.export import decisions_table
from rankone.serving.storage.journal_tables import JournalTables
from rankone.web.page.timeline import Timeline

from .helpers import Audience, Clock, error_of, saved
from .journals.record import FOLDER

LEVELS = {"rows": 3, "cols": 2, "seed": 7}


def live(database, clock, name="homepage", **settings):
    settings = LEVELS | {"policy": "ucb1"} | settings
    return Experiment(name, db=database, clock=clock, **settings)


def busy(experiment, clock, steps, seed=0):
    """An audience at work; some decisions stay open."""
    audience = Audience(seed=seed, silent=0.1)
    for _ in range(steps):
        audience.step(experiment)
        clock.pass_seconds(1)


def rows_of(database, number=1):
    return database.use(lambda storage: storage.tail(number, 0, 10**6))


def wrong(db, folder=None):
    return [finding for finding in examine(db, folder) if not finding.ok]


def run(*words):
    return CliRunner().invoke(build_app(), [str(word) for word in words])


def refused(*words):
    """What a command says when it cannot."""
    return str(run(*words).exception)


@pytest.fixture
def shop(tmp_path):
    """A database with an archive of half of its events."""
    clock, folder = Clock(), tmp_path / "archives"
    folder.mkdir()
    with Database(tmp_path / "rankone.db", durability="off") as database:
        experiment = live(database, clock)
        busy(experiment, clock, 300)
        list(archive(database, "homepage", folder, 150))
        yield database, experiment, clock, folder


@pytest.mark.parametrize("settings", [{}, {"policy": "uts", "window": 40, "goal": "both"}])
def test_an_archived_experiment_goes_on_bit_for_bit(db, tmp_path, settings):
    """A twin that is never archived knows and decides the same, through levels, exclusions and two archives."""
    clock = Clock()
    with Database(db, durability="off") as database, Database(None) as other:
        one, twin = live(database, clock, **settings), live(other, clock, **settings)
        audiences = [Audience(seed=1, silent=0.1), Audience(seed=1, silent=0.1)]

        def go_on(steps):
            for _ in range(steps):
                for audience, experiment in zip(audiences, (one, twin), strict=True):
                    audience.step(experiment)
                clock.pass_seconds(1)

        go_on(120)
        for experiment in (one, twin):
            experiment.add_row("new")
        go_on(60)
        (first,) = archive(database, "homepage", tmp_path, 100)
        assert first.decisions > 20
        go_on(60)
        (second,) = archive(database, "homepage", tmp_path, 30)
        assert second.first == first.upto + 1
        go_on(20)
        assert [row[1:8] for row in decisions(one)] == [row[1:8] for row in decisions(twin)]
        number = one.look(lambda fold: fold.seq)
        assert len(rows_of(database)) < number / 2
        reopened = Database(db, durability="off")
        again = Experiment("homepage", db=reopened, clock=clock)
        assert saved(again) == saved(one)
        known, as_twin = one.report().to_dict(), twin.report().to_dict()
        assert {**known, "seq": 0} == {**as_twin, "seq": 0}  # two events more: the archives themselves
        assert [again.ask()[1:] for _ in range(10)] == [twin.ask()[1:] for _ in range(10)]
        reopened.close()
    assert wrong(db, tmp_path) == []
    assert any(found.check == "archive replay" and found.checked for found in examine(db, tmp_path))


def decisions(experiment):
    """The newest decisions as the policy made them."""
    rows = experiment.database.use(lambda storage: storage.tail(1, 0, 10**6))
    return [row[:1] + row[3:8] for row in rows if row[1] == 4][-20:]


def test_the_database_keeps_open_decisions_and_totals_only(shop):
    database, experiment, _, folder = shop
    (file,) = folder.glob("*.parquet")
    assert file.stat().st_mode & 0o777 == 0o600
    table = pl.read_parquet(file)
    assert table["seq"].to_list() == list(range(1, len(table) + 1))
    (note,) = experiment.look(lambda fold: fold.archives)
    assert (note["upto"], note["decisions"]) == (len(table), table.filter(pl.col("kind") == 4).height)
    waiting = experiment.look(lambda fold: [f"{number}-{each.secret.hex()}" for number, each in fold.open.items()])
    kept = {row[3] for row in rows_of(database) if row[0] <= note["upto"]}
    open_then = set(table.filter(pl.col("kind") == 4)["decision"]) - set(
        table.filter(pl.col("kind").is_in([5, 10]))["decision"]
    )
    assert kept == {-1} | open_then
    assert int(waiting[0].split("-")[0]) in open_then
    assert experiment.tell(waiting[0], True).learned  # still open, so it can be told, and told again
    assert experiment.tell(waiting[0], True).repeated
    closed = next(row for row in table.rows(named=True) if row["kind"] == 4 and row["decision"] not in kept)
    with pytest.raises(UnknownDecision, match="not archived yet"):
        experiment.tell(f"{closed['decision']}-{closed['secret'].hex()}", True)
    assert list(archive(database, "homepage", folder, 10**6)) == []  # nothing is that old
    assert wrong(database.where, folder) == []


def test_idle_experiments_are_archived_once(tmp_path):
    clock = Clock()
    with Database(None) as database:
        busy(live(database, clock), clock, 20)
        for nights in (1, 0, 0):
            clock.pass_seconds(86_400)
            assert len(list(archive(database, "homepage", tmp_path, 0))) == nights


def test_a_key_whose_decisions_are_archived_in_part_is_refused(tmp_path):
    clock = Clock()
    with Database(None) as database:
        experiment = live(database, clock)
        asked = experiment.ask(3, key="mail")
        experiment.tell(asked[2].id, True)
        clock.pass_seconds(10)
        list(archive(database, "homepage", tmp_path, 5))
        with pytest.raises(KeyReused, match="some are archived"):
            experiment.ask(3, key="mail")
        assert experiment.tell(asked[0].id, False).learned


def test_exports_and_analyses_read_archive_and_rest_together(tmp_path):
    clock, folder = Clock(), tmp_path / "archives"
    folder.mkdir()
    db = tmp_path / "rankone.db"
    with Database(db) as database:
        experiment = live(database, clock)
        busy(experiment, clock, 200)
        before, answer = decisions_table(database, "homepage"), rankone.analyse(db, experiment="homepage")
        list(archive(database, "homepage", folder, 100))
        after = decisions_table(database, "homepage", archive=folder)
        assert after.equals(before)
        assert rankone.analyse(db, experiment="homepage", archive=folder).to_dict() == answer.to_dict()
        with pytest.raises(InputError, match="--archive FOLDER for all of it, --rest"):
            decisions_table(database, "homepage")
        rest = decisions_table(database, "homepage", rest=True)
        assert 0 < len(rest) < len(before)
        assert set(before.filter(pl.col("outcome") == "open")["id"]) <= set(rest["id"])
        assert rest.equals(before.join(rest.select("id"), on="id", maintain_order="left"))
    out = run("export", db, "homepage", "--archive", folder, "--out", tmp_path / "all.csv")
    assert out.exit_code == 0, out.output
    assert len(pl.read_csv(tmp_path / "all.csv")) == len(before)
    assert run("analyse", db, "homepage", "--rest").exit_code == 0
    assert "--rest" in refused("analyse", db, "homepage")


def test_an_exclusion_speaks_of_what_is_not_archived(shop):
    database, experiment, clock, folder = shop
    clicks = experiment.look(lambda fold: int(fold.clicks.sum()))
    taken = experiment.exclude(row="row 1")
    assert 0 < taken < clicks
    assert experiment.look(lambda fold: int(fold.pulls[0].sum())) > 0
    assert wrong(database.where, folder) == []
    clock.pass_seconds(200)
    busy(experiment, clock, 20, seed=4)
    list(archive(database, "homepage", folder, 10))
    assert wrong(database.where, folder) == []
    with Database(database.where) as again:
        assert saved(Experiment("homepage", db=again, clock=clock)) == saved(experiment)


def test_a_service_that_was_behind_reads_on(shop):
    """A process that has not looked for long finds its events gone, and begins at the base."""
    database, experiment, clock, folder = shop
    with Database(database.where) as other:
        behind = Experiment("homepage", db=other, clock=clock)
        behind.report()
        busy(experiment, clock, 100, seed=2)
        clock.pass_seconds(10)
        list(archive(database, "homepage", folder, 5))
        assert saved(behind) == saved(experiment)
        assert behind.ask().number == experiment.ask().number - 1


def test_the_page_counts_what_is_left_and_remembers_simulation(tmp_path):
    clock = Clock()
    with Database(tmp_path / "rankone.db") as database:
        experiment = live(database, clock)
        for _ in range(10):
            experiment.tell(experiment.ask(source="simulated").id, True)
            clock.pass_seconds(10)
        list(archive(database, "homepage", tmp_path, 50))
        timeline = Timeline(database, "homepage")
        timeline.catch_up()
        assert timeline.simulated == 10
        assert 0 < sum(point["decisions"] for point in timeline.to_dict()["points"]) < 10


def test_two_archives_at_once_move_everything_once(shop, monkeypatch):
    database, experiment, clock, folder = shop
    clock.pass_seconds(1000)
    busy(experiment, clock, 10, seed=3)
    started, other = threading.Event(), Database(database.where)
    from rankone.serving import archive as module

    write = module.write_rows

    def slowly(*arguments):
        found = write(*arguments)
        if not started.is_set():  # the first to come is overtaken by the second
            started.set()
            list(archive(other, "homepage", folder, 0.5))
        return found

    monkeypatch.setattr(module, "write_rows", slowly)
    with pytest.raises(InputError, match=r"one archive of 'homepage' at a time.*nothing was moved twice"):
        list(archive(database, "homepage", folder, 0.5))
    other.close()
    assert len(list(folder.glob("*.parquet"))) == 2
    assert not list(folder.glob(".*"))
    assert wrong(database.where, folder) == []


def test_a_file_that_another_archive_gave_up_does_not_count(shop, monkeypatch):
    database, experiment, clock, folder = shop
    busy(experiment, clock, 10, seed=3)
    clock.pass_seconds(1000)
    before, files, other = rows_of(database), sorted(folder.iterdir()), Database(database.where)
    from rankone.serving import archive as module

    write, given_up = module.write_rows, []

    def overtaken(path, *arguments):
        found = write(path, *arguments)
        if not given_up:  # the second writes the same file, is interrupted and clears up
            given_up.append(path)
            with monkeypatch.context() as patch:
                patch.setattr(JournalTables, "put_base", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    list(archive(other, "homepage", folder, 0.5))
            assert not path.exists()
        return found

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "write_rows", overtaken)
    with pytest.raises(InputError, match=r"one archive of 'homepage' at a time.*nothing was moved twice"):
        list(archive(database, "homepage", folder, 0.5))
    other.close()
    assert (rows_of(database), sorted(folder.iterdir())) == (before, files)
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
from rankone.serving import Database, archive
from rankone.serving.storage.journal_tables import JournalTables
point, db, folder = sys.argv[1:]
die = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
class_, name = {"file": (archive, "write_rows"), "base": (JournalTables, "put_base"), "sweep": (JournalTables, "remove")}[point]
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
        with pytest.raises(StorageError, match=r"to write .*File too large - make room"):
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
    assert any("interrupted, not needed" in finding.detail for finding in examine(db, folder))
    content = file.read_bytes()
    file.write_bytes(content[:500] + b"x" + content[501:])
    assert "is not as it was written" in wrong(db, folder)[0].detail
    file.write_bytes(content[:-200])
    with pytest.raises(JournalError, match="an archive as it was written"):
        decisions_table(database, "homepage", archive=folder)
    file.unlink()
    assert "No such file" in wrong(db, folder)[0].detail
    with pytest.raises(InputError, match="no such file in"):
        decisions_table(database, "homepage", archive=folder)
    kept = next(row[0] for row in rows_of(database) if row[3] >= 0)
    database.use(lambda storage: storage.query(f"UPDATE rankone_journal SET at = at + 1 WHERE seq = {kept}"))
    assert "not as they were written" in wrong(db)[0].detail
    database.use(lambda storage: storage.query("UPDATE rankone_snapshots SET body = {}", (b"nonsense" * 9,)))
    assert any("damaged" in finding.detail for finding in wrong(db))
    with Database(db) as again, pytest.raises(JournalError, match="restore the database from a backup"):
        Experiment("homepage", db=again)


def test_backups_hold_what_is_left_and_end_behind_the_archive(shop, tmp_path):
    database, experiment, _, folder = shop
    file = tmp_path / "monday.backup"
    (found,) = backup(database.where, file)
    restore(file, tmp_path / "restored.db")
    assert wrong(tmp_path / "restored.db", folder) == []
    with Experiment("homepage", db=tmp_path / "restored.db") as restored:
        assert saved(restored) == saved(experiment)
    with pytest.raises(InputError, match=f"behind its last archive, event {found.events}"):
        restore(file, tmp_path / "earlier.db", upto={"homepage": found.events - 1})
    restore(file, tmp_path / "none.db", until=1.0)
    assert Database(tmp_path / "none.db").names() == []


def test_the_command_moves_all_experiments_or_those_named(tmp_path):
    db, folder = tmp_path / "rankone.db", tmp_path / "archives"
    for name in ("homepage", "shop/../=1+1"):
        with Experiment(name, db=db, policy="ucb1", **LEVELS) as experiment:
            experiment.tell(experiment.ask().id, True)
    assert "No such file" in refused("archive", db, "--to", folder / "deeper", "--older-than", "0s")
    assert "File exists" in refused("archive", db, "--to", db, "--older-than", "0s")
    assert "try --older-than 30d" in refused("archive", db, "--to", folder, "--older-than", "soon")
    assert "an experiment of this database" in refused(
        "archive", db, "--to", folder, "--older-than", "0", "--experiment", "shp"
    )
    assert "nothing is that old" in run("archive", db, "--to", folder, "--older-than", "1d").stderr
    only = run("archive", db, "--to", folder, "--older-than", "0", "--experiment", "shop/../=1+1", "--json")
    (moved,) = json.loads(only.stdout)
    assert (moved["file"], moved["decisions"], moved["clicks"]) == ("shop-1-1.2.000000001-000000003.parquet", 1, 1)
    assert "homepage" in run("archive", db, "--to", folder, "--older-than", "0").stdout
    doctor = run("doctor", db, "--archive", folder)
    assert doctor.exit_code == 0
    assert "bit for bit" in doctor.stdout
    assert "from 0 on" in str(error_of(lambda: list(archive(Database(db), "homepage", folder, -1))))


def test_what_an_earlier_version_archived_goes_on(tmp_path):
    """A base cannot be set aside, so those of every layout since the first archives must be read (`load_base`)."""
    db = tmp_path / "rankone.db"
    with sqlite3.connect(db) as connection:
        connection.executescript((FOLDER / "archived-layout-6.sql").read_text())
    with Experiment("homepage", db=db) as experiment:
        report = experiment.report()
        counts = {"clicked": 16, "not_clicked": 19, "expired": 0, "held": 0, "late": 0, "void": 1, "open": 9}
        assert (report.outcomes, report.decisions) == (counts, 45)
        assert experiment.tell(experiment.ask().id, True).learned
        (note,) = experiment.look(lambda fold: fold.archives)
        assert experiment.look(lambda fold: len(fold.open)) == 9
    assert note["file"].startswith("homepage.1.000000001-")
    assert wrong(db) == []
