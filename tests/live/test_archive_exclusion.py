"""False clicks in archives: taken out of what counts, while the files stay as they are."""

import pytest

from rankone.errors import InputError
from rankone.live import Database
from rankone.live.commit import operator_events as drafts
from rankone.live.operate import excluding
from rankone.live.operate.archive import archive
from rankone.live.operate.backup import backup, restore
from rankone.live.operate.doctor import examine
from rankone.live.operate.excluding import Refolded
from rankone.live.operate.export import decisions_table

from .archives import busy, live, refused, run, side_by_side, wrong
from .helpers import Clock, at, saved


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


@pytest.mark.parametrize("settings", [{}, {"policy": "uts", "outcomes": {"window": 40}, "aim": "both"}])
def test_an_exclusion_with_the_files_reaches_into_archives_bit_for_bit(db, tmp_path, settings):
    """A twin that is never archived excludes the same, and decides the same from there on."""
    clock = Clock()
    with Database(db, durability="off") as database, Database(None) as other:
        one, twin = live(database, clock, **settings), live(other, clock, **settings)
        go_on = side_by_side(clock, one, twin, robot=True)

        def exclude(**fits):
            taken = [each.exclude(**fits) for each in (one.with_archives(tmp_path), twin)]
            assert taken[0] == taken[1] > 0
            assert {**one.report().to_dict(), "seq": 0} == {**twin.report().to_dict(), "seq": 0}
            assert wrong(db, tmp_path) == []
            assert any(found.check == "archive replay" and found.checked for found in examine(db, tmp_path))

        began = clock.now / 1e6
        go_on(100)
        list(archive(database, "homepage", tmp_path, 50))
        go_on(20)
        exclude(source="robot")
        go_on(30)
        list(archive(database, "homepage", tmp_path, 10))
        exclude(since=began + 20, until=began + 70, levels={"row": "row 1"})
        go_on(10)
        exclude(until=began + 30)
        reopened = Database(db, durability="off")
        again = at(clock)("homepage", db=reopened)
        assert saved(again) == saved(one)
        assert [again.ask().levels for _ in range(10)] == [twin.ask().levels for _ in range(10)]
        reopened.close()
        clock.pass_seconds(100)
        list(archive(database, "homepage", tmp_path, 5))
        table = decisions_table(database, "homepage", archive=tmp_path)
        assert int(table["learned"].sum()) == one.look(lambda fold: int(fold.pulls.sum()))
    assert wrong(db, tmp_path) == []


def test_an_exclusion_in_archives_is_whole_or_not_at_all(shop, tmp_path, monkeypatch):
    database, experiment, _, folder = shop
    for wrong_folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match=r"all archives .*No such file .*Nothing was changed"):
            experiment.with_archives(wrong_folder).exclude(levels={"row": "row 1"})
    assert "Expected one of the levels of 'row'" in refused(
        "exclude", database.where, "homepage", "--level", "row=x", "--archive", folder
    )

    def changed_meanwhile(*arguments):
        found = Refolded(*arguments)
        experiment.stop({"row": "row 1", "col": "col 1"})
        experiment.resume()
        return found

    with monkeypatch.context() as patch:
        patch.setattr(excluding, "Refolded", changed_meanwhile)
        with pytest.raises(InputError, match="Nothing was excluded: try again"):
            experiment.with_archives(folder).exclude(levels={"row": "row 1"})
    assert experiment.report().excluded == 0
    assert wrong(database.where, folder) == []

    (note,) = experiment.look(lambda fold: fold.archives)
    without = run("exclude", database.where, "homepage", "--level", "row=row 2")
    assert "Add --archive FOLDER to ignore them too" in without.stdout
    told = run("exclude", database.where, "homepage", "--level", "row=row 1", "--archive", folder)
    assert "still counts" not in told.stdout
    assert experiment.report().excluded == sum(int(each.stdout.split()[0]) for each in (without, told))
    assert experiment.look(lambda fold: fold.archived) == note["upto"]
    assert experiment.changes()[-1].what == f"events up to {note['upto']:,}, which are archived, counted again"
    (found,) = backup(database.where, tmp_path / "monday.backup")
    with pytest.raises(InputError, match=f"behind its last archive, event {found.events}"):
        restore(tmp_path / "monday.backup", tmp_path / "earlier.db", upto={"homepage": found.events - 1})


def test_an_exclusion_in_archives_of_nothing_reads_no_file(shop, tmp_path):
    _, experiment, *_ = shop
    for nothing, said in (({}, "something that tells which outcomes"), ({"prior": True}, "began with past counts")):
        with pytest.raises(InputError, match=said):
            experiment.with_archives(tmp_path / "nowhere").exclude(**nothing)


def total(experiment):
    return experiment.look(lambda fold: int(fold.pulls.sum()))


def test_an_exclusion_in_archives_knows_of_what_happened_while_they_were_read(shop, monkeypatch):
    """Times that lie ahead when it begins: what is asked meanwhile is before them, and so are its outcomes."""
    database, experiment, clock, folder = shop

    def slowly(*arguments):
        found = Refolded(*arguments)
        busy(experiment, clock, 10, seed=6)
        return found

    monkeypatch.setattr(excluding, "Refolded", slowly)
    ahead, counted = clock.now / 1e6 + 1_000, total(experiment)
    assert experiment.with_archives(folder).exclude(since=ahead) == 0
    assert (since := total(experiment)) > counted
    assert experiment.with_archives(folder).exclude(until=ahead) > since
    assert total(experiment) == 0
    assert wrong(database.where, folder) == []


def test_an_exclusion_in_archives_is_refused_where_the_first_is_made_meanwhile(tmp_path, monkeypatch):
    clock = Clock()
    with Database(tmp_path / "rankone.db", durability="off") as database:
        experiment = live(database, clock)
        busy(experiment, clock, 30)
        check = drafts.check_exclusion

        def archived_meanwhile(*arguments):
            monkeypatch.setattr(drafts, "check_exclusion", check)
            clock.pass_seconds(10)
            with Database(database.where) as other:
                list(archive(other, "homepage", tmp_path, 5))
            check(*arguments)

        monkeypatch.setattr(drafts, "check_exclusion", archived_meanwhile)
        with pytest.raises(InputError, match="Nothing was excluded: try again"):
            experiment.with_archives(tmp_path).exclude(levels={"row": "row 1"})
        assert experiment.with_archives(tmp_path).exclude(levels={"row": "row 1"}) > 0
        assert experiment.look(lambda fold: int(fold.pulls[0].sum())) == 0
