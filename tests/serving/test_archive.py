"""Archives: a database does not grow for ever, and nothing else changes.

`test_archive_exclusion` has false clicks in them, `test_archive_faults` the bad days.
"""

import json

import numpy as np
import polars as pl
import pytest

import rankone
from rankone.errors import InputError, KeyReused, UnknownDecision
from rankone.serving import Database, Experiment
from rankone.serving.archive import archive
from rankone.serving.backup import backup, restore
from rankone.serving.doctor import examine
from rankone.serving.export import decisions_table
from rankone.serving.segments import OTHERS, Segments
from rankone.web.page.timeline import Timeline

from .archives import LEVELS, archived_by_an_earlier_version, busy, live, refused, rows_of, run, side_by_side, wrong
from .helpers import Clock, error_of, saved


@pytest.mark.parametrize("settings", [{}, {"policy": "uts", "window": 40, "goal": "both"}])
def test_an_archived_experiment_goes_on_bit_for_bit(db, tmp_path, settings):
    """A twin that is never archived knows and decides the same, through levels, exclusions and two archives."""
    clock = Clock()
    with Database(db, durability="off") as database, Database(None) as other:
        one, twin = live(database, clock, **settings), live(other, clock, **settings)
        go_on = side_by_side(clock, one, twin)
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


def test_levels_together_begin_where_an_earlier_version_archived(tmp_path):
    """Layout 7 had three factors, and no sums of levels beside levels."""
    db = archived_by_an_earlier_version(tmp_path / "rankone.db", "archived-layout-7.sql.gz")
    with Experiment("page", db=db) as experiment:
        report = experiment.report()
        assert (report.outcomes["clicked"], report.outcomes["open"], report.decisions) == (40, 20, 120)
        assert report.interactions == ()
        assert experiment.tell(experiment.ask().id, True).learned
        assert experiment.look(lambda fold: fold.weighing.together.sums.sum()) > 0
    assert wrong(db) == []


def test_segments_without_room_stay_counted_where_an_earlier_version_archived(tmp_path):
    """Layout 8 counted them in three numbers, not by what they were shown; all that is known of the rest stays known."""
    db = archived_by_an_earlier_version(tmp_path / "rankone.db", "archived-layout-8.sql.gz")
    with Experiment("page", db=db) as experiment:
        report = experiment.report()
        assert (report.outcomes["clicked"], report.decisions) == (62, 140)
        assert report.segments.others == (12, 12, 6)
        assert sum(each.outcomes for each in report.segments.segments) == 62 + 64 - 12
        assert experiment.look(lambda fold: fold.weighing.weighed) == 62 + 64
        assert experiment.look(lambda fold: fold.weighing.evidence.proof.sum()) > 0.9
        experiment.tell(experiment.ask(segment={"city": "c69"}), True)
        assert experiment.report().segments.others == (13, 13, 7)
        known, again = experiment.look(lambda fold: fold.segments.still()), Segments((2, 2))
        assert again.restore(known.texts, known.attributes, known.arrays())
        for sizes in ((2, 2), (3, 2), (100, 2)):  # in the last there is room for fewer
            again.resize(sizes)
            each = [again.totals(number) for number in (OTHERS, *range(len(again.texts)))]
            assert np.sum(each, axis=0).tolist() == [141, 127, 63]
        assert len(again.texts) == 6
        again.forget()
        assert again.totals(OTHERS) == [0, 0, 0]
    assert wrong(db) == []


def test_what_an_earlier_version_archived_goes_on(tmp_path):
    """A base cannot be set aside, so those of every layout since the first archives must be read (`load_base`)."""
    db = archived_by_an_earlier_version(tmp_path / "rankone.db", "archived-layout-6.sql")
    with Experiment("homepage", db=db) as experiment:
        report = experiment.report()
        counts = {"clicked": 16, "not_clicked": 19, "expired": 0, "held": 0, "late": 0, "void": 1, "open": 9}
        assert (report.outcomes, report.decisions) == (counts, 45)
        assert experiment.tell(experiment.ask().id, True).learned
        (note,) = experiment.look(lambda fold: fold.archives)
        assert experiment.look(lambda fold: len(fold.open)) == 9
    assert note["file"].startswith("homepage.1.000000001-")
    assert wrong(db) == []
