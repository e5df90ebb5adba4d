"""Session logs: how clicks find their lists, and every edge case with its count."""

import polars as pl
import pytest

from rankone import clicks
from rankone.clicks.logs.sessions import OPEN_LISTS
from rankone.errors import InputError
from tests.clicks.logs import random_sessions, rpc_rows
from tests.oracles.list_models import count as slow_count
from tests.suites.formats import write


def read_rows(tmp_path, *rows, **options):
    return clicks.read(
        write(tmp_path / "log", "".join("\t".join(row.split()) + "\n" for row in rows).encode()), **options
    )


def cell(counts, query, item, position):
    found = counts.cells.filter(pl.col("query") == query, pl.col("item") == item, pl.col("position") == position)
    return found.select("impressions", "clicks").row(0)


def test_counts_agree_with_the_slow_twin(tmp_path):
    sessions = random_sessions(seed=1)
    counts = clicks.read(write(tmp_path / "log", rpc_rows(sessions)))
    fast = {tuple(row[:4]): list(row[4:]) for row in counts.table.iter_rows()}
    assert fast == slow_count(sessions)
    assert counts.report["lists"] == len(sessions)


def test_real_rows_of_the_challenge(tmp_path):
    shown = "78798 78799 78803 78800 78802 78804 78806 78801 78805 78807"
    counts = read_rows(
        tmp_path,
        f"9441 0 Q 9282 1 {shown}", "9441 34 C 78798", "9441 146 C 78798", f"9441 832 Q 9282 1 {shown}", "9441 850 C 78798",
    )  # fmt: skip
    assert cell(counts, "9282_1", "78798", 1) == (2, 2)
    assert counts.report["clicks repeated"] == 1
    assert counts.report["lists shown again"] == 1


def test_click_before_any_list_is_counted_and_ignored(tmp_path):
    report = read_rows(tmp_path, "1 0 C 5", "2 0 Q 1 0 5 6", "3 0 C 5").report
    assert report["clicks before any list"] == 2
    assert report["clicks"] == 2
    assert report.rows_read == 3


def test_click_off_the_list_is_counted_and_ignored(tmp_path):
    counts = read_rows(tmp_path, "1 0 Q 1 0 5 6", "1 1 C 7", "1 2 C 6")
    assert counts.report["clicks off the list"] == 1
    assert cell(counts, "1_0", "6", 2) == (1, 1)


def test_click_on_an_earlier_list_of_the_session(tmp_path):
    rows = ["1 0 Q 1 0 5 6", "1 1 Q 2 0 6 7", "1 2 C 5", "1 3 C 6"]
    counts = read_rows(tmp_path, *rows)
    assert counts.report["clicks on an earlier list"] == 1
    assert cell(counts, "1_0", "5", 1) == (1, 1)
    assert cell(counts, "1_0", "6", 2) == (1, 0)  # the latest list that shows the item takes the click
    assert cell(counts, "2_0", "6", 1) == (1, 1)
    pyclick = read_rows(tmp_path, *rows, clicks="last-list")
    assert pyclick.report["clicks off the list"] == 1
    assert cell(pyclick, "1_0", "5", 1) == (1, 0)


def test_clicks_do_not_cross_sessions(tmp_path):
    counts = read_rows(tmp_path, "1 0 Q 1 0 5 6", "2 0 Q 1 0 7 8", "2 1 C 5")
    assert counts.clicks == 0
    assert counts.report["clicks off the list"] == 1


def test_same_list_again_can_be_merged(tmp_path):
    rows = ["1 0 Q 1 0 5 6", "1 1 C 5", "1 2 Q 1 0 5 6", "1 3 C 5"]
    assert cell(read_rows(tmp_path, *rows), "1_0", "5", 1) == (2, 2)
    merged = read_rows(tmp_path, *rows, repeats="merge")
    assert cell(merged, "1_0", "5", 1) == (1, 1)
    assert merged.report["clicks repeated"] == 1


def test_regions_apart_or_merged(tmp_path):
    rows = ["1 0 Q 1 0 5 6", "2 0 Q 1 3 5 6"]
    assert read_rows(tmp_path, *rows).queries["query"].to_list() == ["1_0", "1_3"]
    assert cell(read_rows(tmp_path, *rows, regions="merge"), "1", "5", 1) == (2, 0)


def test_short_long_empty_and_duplicate(tmp_path):
    log = b"1\t0\tQ\t1\t0\t5\t\t5\t6\n1\t1\tC\t5\n2\t0\tQ\t1\t0\t" + b"\t".join(b"%d" % n for n in range(1, 7)) + b"\n"
    counts = clicks.read(write(tmp_path / "log", log), positions=5)
    report = counts.report
    for tally in ("short lists", "long lists", "empty items", "lists with gaps", "duplicate items"):
        assert report[tally] == 1, tally
    assert cell(counts, "1_0", "5", 1) == (1, 1)  # the first place counts
    assert cell(counts, "1_0", "6", 4) == (1, 0)  # what stands below keeps its position
    assert counts.positions == [1, 2, 3, 4, 5]
    assert counts.table.filter(pl.col("item") == "6").height == 1  # the sixth item of the long list is cut


def test_pwsc_clicks_name_their_list_and_test_lists_are_ignored(tmp_path):
    counts = read_rows(
        tmp_path,
        "1 M 3 9", "1 0 Q 0 7 1,2 5,1 6,1", "1 5 Q 1 7 1,2 6,1 5,1", "1 9 C 0 5", "1 9 C 1 9", "1 20 T 2 7 1,2 5,1 6,1",
    )  # fmt: skip
    assert counts.report.format == "yandex-pwsc"
    assert cell(counts, "7", "5", 1) == (1, 1)
    assert cell(counts, "7", "5", 2) == (1, 0)
    assert counts.report["lists without outcomes"] == 1
    assert counts.report["clicks off the list"] == 1


def test_rows_of_a_session_may_cross_blocks_and_batches(tmp_path):
    lists = OPEN_LISTS + 10
    rows = b"".join(b"%d\t0\tQ\t1\t0\t5\t6\n%d\t1\tC\t6\n" % (number // 3, number // 3) for number in range(lists))
    counts = clicks.read(write(tmp_path / "log", rows))
    assert cell(counts, "1_0", "6", 2) == (lists, lists)
    assert counts.report["lists"] == lists


def test_one_session_with_more_lists_than_fit(tmp_path):
    lists = 2 * OPEN_LISTS + 5
    counts = clicks.read(write(tmp_path / "log", b"1\t0\tQ\t1\t0\t5\t6\n" * lists + b"1\t1\tC\t6\n"))
    assert cell(counts, "1_0", "6", 2) == (lists, 1)


def test_many_bad_rows_are_all_accounted_for(tmp_path):
    rows = b"1\t0\tQ\t1\t0\t5\t6\n" * 3_000 + b"1\tx\tC\t5\n" * 2_500 + b"2\t0\tC\n" + b"2\t0\tZ\t1\n"
    report = clicks.read(write(tmp_path / "log", rows), "yandex-rpc", max_bad=0.9).report
    assert report.rows == 5_502
    assert report.reasons == {
        "a field is not a whole number": 2_500, "wrong number of fields": 1, "unknown kind of row": 1,
    }  # fmt: skip
    with pytest.raises(InputError, match="mostly: a field is not a whole number"):
        clicks.read(tmp_path / "log")


def test_reading_stops_early_when_the_file_is_mostly_bad(tmp_path):
    good = b"1\t0\tQ\t1\t0\t5\t6\n" * 300
    bad = b"1\tx\tC\t5\n" * 1_000_000
    seen = []
    with pytest.raises(InputError, match="rows that cannot be read"):
        clicks.read(write(tmp_path / "log", good + bad), progress=lambda done, total, rows: seen.append(rows))
    assert max(seen, default=0) < 1_000_000


def test_split_holds_out_whole_sessions_and_loses_nothing(tmp_path):
    sessions = random_sessions(seed=2, lists=2_000)
    path = write(tmp_path / "log", rpc_rows(sessions))
    everything = clicks.read(path)
    train, lists = clicks.read_split(path, holdout=0.25)
    share = lists["list"].n_unique() / len(sessions)
    assert abs(share - 0.25) < 4 * (0.25 * 0.75 / len(sessions)) ** 0.5
    held_out = clicks.count(lists, query="query", item="item", position="position", clicked="clicked", list="list")
    both = (
        pl.concat([train.table, held_out.table])
        .group_by(everything.table.columns[:4])
        .agg(pl.exclude(everything.table.columns[:4]).sum())
    )
    assert both.sort(both.columns[:4]).equals(everything.table)
    few, lists = clicks.read_split(path, holdout=0.25, holdout_lists=10)
    assert few.impressions + len(lists) == everything.impressions


@pytest.mark.parametrize("options", [{"clicks": "first"}, {"regions": "x"}, {"repeats": "x"}, {"positions": 0}])
def test_options_out_of_range_are_refused(tmp_path, options):
    with pytest.raises(InputError):
        read_rows(tmp_path, "1 0 Q 1 0 5 6", **options)


def test_sessions_interleaved_in_time_are_told(tmp_path):
    """The clicks of a session that another one interrupted are lost: more than one in a hundred is said aloud."""
    rows = [f"{session}\t0\tQ\t1\t0\t5\t6\n" for session in range(50)]
    rows += [f"{session}\t9\tC\t5\n" for session in range(50)]
    (tmp_path / "log.tsv").write_text("".join(rows))
    lost = clicks.read(tmp_path / "log.tsv").report
    assert lost["clicks before any list"] == 50
    (told,) = lost.warnings()
    assert told.startswith("50 of 50 clicks have no list of their session before them (100%); sort the log by session")
    (tmp_path / "sorted.tsv").write_text("".join(sorted(rows, key=lambda row: int(row.split("\t")[0]))))
    assert clicks.read(tmp_path / "sorted.tsv").report.warnings() == []
    long = "".join(f"{session}\t0\tQ\t1\t0\t5\t6\t7\n" for session in range(50))
    (tmp_path / "long.tsv").write_text(long)
    assert "raise positions" in clicks.read(tmp_path / "long.tsv", positions=2).report.warnings()[0]
