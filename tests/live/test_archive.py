"""Archives: a database does not grow for ever, and nothing else changes.

`test_archive_faults` has the bad days.
"""

import json

import polars as pl
import pytest

import rankone
from rankone.errors import InputError, JournalError, KeyReused, UnknownDecision
from rankone.live import Database, Experiment
from rankone.live.fold import snapshot
from rankone.live.journal.events import COLUMNS
from rankone.live.operate.archive import archive, fold_upto
from rankone.live.operate.backup import backup, restore
from rankone.live.operate.doctor import examine
from rankone.live.operate.export import decisions_table
from rankone.web.timeline import Timeline

from .archives import LEVELS, busy, live, refused, rows_of, run, side_by_side, wrong
from .helpers import Clock, at, error_of, saved


@pytest.mark.parametrize("settings", [{}, {"policy": "uts", "outcomes": {"window": 40}, "aim": "both"}])
def test_an_archived_experiment_goes_on_bit_for_bit(db, tmp_path, settings):
    """A twin that is never archived knows and decides the same, through levels, exclusions and two archives."""
    clock = Clock()
    with Database(db, durability="off") as database, Database(None) as other:
        one, twin = live(database, clock, **settings), live(other, clock, **settings)
        go_on = side_by_side(clock, one, twin)
        go_on(120)
        for experiment in (one, twin):
            experiment.add_level("row", "new")
        go_on(60)
        (first,) = archive(database, "homepage", tmp_path, 100)
        assert first.decisions > 20
        go_on(60)
        (second,) = archive(database, "homepage", tmp_path, 30)
        assert second.first == first.upto + 1
        go_on(20)
        assert [row[1:] for row in decisions(one)] == [row[1:] for row in decisions(twin)]
        number = one.look(lambda fold: fold.seq)
        assert len(rows_of(database)) < number / 2
        reopened = Database(db, durability="off")
        again = at(clock)("homepage", db=reopened)
        assert saved(again) == saved(one)
        known, as_twin = one.report().to_dict(), twin.report().to_dict()
        assert {**known, "seq": 0} == {**as_twin, "seq": 0}  # two events more: the archives themselves
        assert [again.ask().levels for _ in range(10)] == [twin.ask().levels for _ in range(10)]
        reopened.close()
    assert wrong(db, tmp_path) == []
    assert any(found.check == "archive replay" and found.checked for found in examine(db, tmp_path))


def decisions(experiment):
    """The newest decisions as the policy made them."""
    rows = experiment.database.use(lambda storage: storage.tail(1, 0, 10**6))
    kept = [COLUMNS.index(name) for name in ("seq", "decision", "shown", "tag", "value")]
    return [[row[column] for column in kept] for row in rows if row[1] == 4][-20:]


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
        behind = at(clock)("homepage", db=other)
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
    assert "Try --older-than 30d" in refused("archive", db, "--to", folder, "--older-than", "soon")
    assert "No such experiment:" in refused("archive", db, "--to", folder, "--older-than", "0", "--experiment", "shp")
    assert "Nothing is that old." in run("archive", db, "--to", folder, "--older-than", "1d").stderr
    only = run("archive", db, "--to", folder, "--older-than", "0", "--experiment", "shop/../=1+1", "--json")
    (moved,) = json.loads(only.stdout)
    assert (moved["file"], moved["decisions"], moved["clicks"]) == ("shop-1-1.2.000000001-000000003.parquet", 1, 1)
    assert "homepage" in run("archive", db, "--to", folder, "--older-than", "0").stdout
    doctor = run("doctor", db, "--archive", folder)
    assert doctor.exit_code == 0
    assert "bit for bit" in doctor.stdout
    assert "from 0 on" in str(error_of(lambda: list(archive(Database(db), "homepage", folder, -1))))


def test_a_journal_that_begins_with_another_layout_is_refused_in_words(shop, monkeypatch):
    """A base cannot be set aside as other snapshots are: what came before it is in a file."""
    database, experiment, _, _ = shop
    experiment.close()
    monkeypatch.setattr("rankone.live.fold.snapshot.LAYOUT", 2)
    error = error_of(Experiment, "homepage", db=database.where)
    assert isinstance(error, JournalError)
    assert "a journal that begins with a snapshot of layout 2, but got one of another layout. Use the" in str(error)
    assert any("another layout" in finding.detail for finding in wrong(database.where))


@pytest.mark.filterwarnings("ignore:the policy's code changed")
def test_a_policy_whose_state_has_other_parts_by_now_begins_again_on_what_is_known(shop, monkeypatch):
    """The journal begins with a state that the policy of today cannot take over."""
    database, experiment, clock, _ = shop
    before = experiment.report()
    contents = snapshot.contents

    def of_another_policy(fold):
        return {name.replace("state_pairs", "state_others"): array for name, array in contents(fold).items()}

    with monkeypatch.context() as other, database.reader() as storage:
        other.setattr(snapshot, "contents", of_another_policy)
        seq = storage.base_seq(1)
        body = snapshot.save(fold_upto(storage, 1, seq))
    database.use(lambda storage: storage.query("DELETE FROM rankone_snapshots"))
    database.use(lambda storage: storage.put_base(1, seq, body))
    with at(clock)("homepage", db=database.where) as again:
        assert again.report().outcomes == before.outcomes
        assert again.tell(again.ask(), True).learned
        assert again.report().eras == (*before.eras, "the program's policy changed")
        after = saved(again)
    with at(clock)("homepage", db=database.where) as last:
        assert saved(last) == after


def test_an_exclusion_speaks_of_what_is_not_archived(shop):
    database, experiment, clock, folder = shop
    clicks = experiment.look(lambda fold: int(fold.clicks.sum()))
    taken = experiment.exclude(levels={"row": "row 1"})
    assert 0 < taken < clicks
    assert experiment.look(lambda fold: int(fold.pulls[0].sum())) > 0
    assert wrong(database.where, folder) == []
    clock.pass_seconds(200)
    busy(experiment, clock, 20, seed=4)
    list(archive(database, "homepage", folder, 10))
    assert wrong(database.where, folder) == []
    with Database(database.where) as again:
        assert saved(at(clock)("homepage", db=again)) == saved(experiment)
