"""Long tables: columns, values, quotes, encodings, lists, Parquet."""

import gzip

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankone
from rankone import clicks
from rankone.clicks.logs.collector import Collector, Rules
from rankone.clicks.logs.delimited import _fast_fields, _slow_fields
from rankone.clicks.logs.source import Block
from rankone.errors import InputError
from tests.clicks.logs import long_table, random_sessions
from tests.suites.formats import write

COLUMNS = {"query": "query", "item": "item", "position": "position", "clicked": "clicked", "list": "list"}


@pytest.fixture(scope="module")
def sessions():
    return random_sessions(seed=3)


def test_csv_parquet_and_frame_give_the_same_counts(sessions, tmp_path):
    frame = long_table(sessions)
    frame.write_csv(tmp_path / "log.csv")
    frame.write_parquet(tmp_path / "log.parquet")
    expected = clicks.count(frame, **COLUMNS)
    for name in ("log.csv", "log.parquet"):
        counts = clicks.read(tmp_path / name)
        assert counts.table.equals(expected.table)
        assert counts.report["lists"] == len(sessions)
        assert counts.report.rows == len(frame)


def test_blocks_cut_lists_and_put_them_together_again(sessions, tmp_path, monkeypatch):
    long_table(sessions).write_csv(tmp_path / "log.csv")
    whole = clicks.read(tmp_path / "log.csv")
    monkeypatch.setattr("rankone.clicks.logs.source._BLOCK", 3_000)
    assert clicks.read(tmp_path / "log.csv").table.equals(whole.table)


def test_column_mapping_and_separator(tmp_path):
    path = write(tmp_path / "log", b"q;doc;rank;click\nx;a;1;true\nx;b;2;FALSE\n")
    counts = clicks.read(path, "table", query="q", item="doc", position="rank", clicked="click")
    assert counts.cells.rows() == [("x", "a", 1, 1, 1), ("x", "b", 2, 1, 0)]
    with pytest.raises(InputError, match="one column 'item'"):
        clicks.read(path)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("q,,1,0", "the item is missing"),
        (",a,1,0", "the query is missing"),
        ("q,a,0,0", "the position is no whole number from 1 to 255"),
        ("q,a,first,0", "the position is no whole number from 1 to 255"),
        ("q,a,1,2", "the outcome is not 0 or 1"),
        ("q,a,1", "wrong number of fields"),
        ('q,"a,1,0', "a quote is not closed"),
        ("q,a,1,0,9", "wrong number of fields"),
    ],
)
def test_bad_values_are_set_aside(row, reason, tmp_path):
    path = write(tmp_path / "log", f"query,item,position,clicked\nq,a,1,1\n{row}\nq,b,2,0\n".encode())
    report = clicks.read(path, max_bad=0.5).report
    assert report.reasons == {reason: 1}
    assert (report.rows, report.rows_read) == (3, 2)


def test_quotes_and_latin_1(tmp_path):
    data = 'query,item,position,clicked\n"a, b","say ""hi""",1,1\ncafé,x,1,0\n'
    counts = clicks.read(write(tmp_path / "utf", data.encode()))
    assert counts.cells["query"].to_list() == ["a, b", "café"]
    assert counts.cells["item"].to_list() == ['say "hi"', "x"]
    latin = write(tmp_path / "latin", data.encode("latin-1"))
    assert clicks.read(latin, max_bad=0.6).report.reasons == {"the row is not utf-8": 1}
    assert clicks.read(latin, encoding="latin-1").table.equals(counts.table)


def test_rows_beyond_the_last_position_are_counted(tmp_path):
    path = write(tmp_path / "log", b"query,item,position,clicked\nq,a,1,1\nq,b,11,0\n")
    assert clicks.read(path, positions=10).report["rows beyond the last position"] == 1
    counts = clicks.read(path)  # as of a frame, all count
    assert counts.positions == [1, 11]
    assert counts.table.equals(
        clicks.count(pl.read_csv(path), query="query", item="item", position="position", clicked="clicked").table
    )


def test_items_twice_and_rows_without_a_list_are_counted(tmp_path):
    path = write(
        tmp_path / "log", b"list,query,item,position,clicked\n1,q,a,1,0\n1,q,b,2,0\n1,q,a,3,1\n,q,b,1,0\n2,q,b,1,0\n"
    )
    counts = clicks.read(path, max_bad=0.2)
    assert counts.cells.rows() == [("q", "a", 1, 1, 1), ("q", "b", 1, 1, 0), ("q", "b", 2, 1, 0)]
    assert counts.report["duplicate items"] == 1
    assert counts.report.reasons == {"the list is missing": 1}


@pytest.mark.parametrize("separator", ["tab", "\\t", "\t", None])
def test_a_tab_can_be_named(separator, tmp_path):
    path = write(tmp_path / "log", b"query\titem\tposition\tclicked\nq\ta\t1\t1\n")
    assert clicks.read(path, "table", separator=separator).clicks == 1


@pytest.mark.parametrize(
    "wrong", [{"separator": ";;"}, {"separator": "é"}, {"encoding": "klingon"}, {"encoding": "utf-16"}]
)
def test_separators_and_encodings_that_cannot_be_are_refused(wrong, tmp_path):
    with pytest.raises(InputError, match=f"Expected an? {next(iter(wrong))}"):
        clicks.read(write(tmp_path / "log", clicks.FORMATS.get("table").example), "table", **wrong)


def test_damaged_parquet_is_refused(tmp_path):
    long_table(random_sessions(seed=3, lists=20)).write_parquet(tmp_path / "log.parquet")
    whole = (tmp_path / "log.parquet").read_bytes()
    for damaged in (whole[:-20], whole[:40] + b"x" * 40 + whole[80:]):
        (tmp_path / "log.parquet").write_bytes(damaged)
        with pytest.raises(InputError, match="as a whole Parquet file"):
            clicks.read(tmp_path / "log.parquet")


@pytest.mark.parametrize("order", [["position"], ["item"]])
def test_scattered_lists_are_sorted(order, sessions, tmp_path, monkeypatch):
    """A table sorted by position, in several batches, used to be counted as lists of one position each."""
    monkeypatch.setattr("rankone.clicks.logs.source._BLOCK", 3_000)
    table = long_table(sessions)
    together, scattered = tmp_path / "together.csv", tmp_path / "scattered.csv"
    table.write_csv(together)
    table.sort(order, maintain_order=True).write_csv(scattered)
    assert clicks.read(scattered).table.equals(clicks.read(together).table)
    assert clicks.read(scattered).report["lists"] == len(sessions)


def test_a_list_that_goes_on_much_later_is_refused(sessions, tmp_path, monkeypatch):
    monkeypatch.setattr("rankone.clicks.logs.source._BLOCK", 3_000)
    table = long_table(sessions)
    path = tmp_path / "log.csv"
    pl.concat([table.slice(1), table.head(1)]).write_csv(path)
    with pytest.raises(InputError, match=r"1 list that went on after others.*. Sort the log by its lists"):
        clicks.read(path)


def test_half_a_line_of_a_file_that_broke_off_is_not_read(tmp_path):
    rows = "query,item,position,clicked\n" + "".join(f"q,item{number},1,1\n" for number in range(20_000))
    whole = gzip.compress(rows.encode())
    (tmp_path / "log.csv.gz").write_bytes(whole[: len(whole) // 2])
    counts = clicks.read(tmp_path / "log.csv.gz")
    names = set(counts.cells["item"])
    assert names == {f"item{number}" for number in range(len(names))}, "the half of a name is no name"
    assert 100 < len(names) < 20_000
    assert "the compressed data ends early or is damaged" in counts.report.warnings()[0]


def test_open_bandit_names_the_campaign_after_the_file(tmp_path):
    path = write(tmp_path / "women.csv.gz", clicks.FORMATS.get("open-bandit").example)
    assert clicks.read(path).queries["query"].to_list() == ["women"]


@given(st.lists(st.lists(st.text("ab é\t1", max_size=3), min_size=2, max_size=4), min_size=1, max_size=6))
def test_fast_and_slow_splitting_agree(rows):
    block = Block("".join(",".join(row) + "\n" for row in rows).encode(), 7)
    header = ["x", "y", "z"]
    fast = _fast_fields(block, header, ",")
    collector = Collector(Rules(max_bad=1.0))
    slow = _slow_fields(block, header, ",", "utf-8", collector)
    if fast is None:
        assert any(len(row) != 3 for row in rows)
    else:
        assert fast.equals(slow)
        assert collector.report.rows_quarantined == 0


def test_split_without_lists_holds_out_rows(tmp_path):
    frame = long_table(random_sessions(seed=4)).drop("list")
    frame.write_csv(tmp_path / "log.csv")
    train, lists = clicks.read_split(tmp_path / "log.csv")
    assert train.impressions + len(lists) == len(frame)
    assert not train.has_lists
    assert isinstance(lists, pl.DataFrame)


def test_names_that_gaps_made_floats_are_whole_numbers(tmp_path):
    """As pandas writes a column of numbers where one is missing."""
    rows = {"item": [1.0, 2.0, float("nan"), None], "position": [1.0, 2.0, 1.0, 1.0], "clicked": [1, 0, 0, 0]}
    pl.DataFrame(rows).write_parquet(tmp_path / "log.parquet")
    counts = clicks.read(tmp_path / "log.parquet", max_bad=0.5)
    assert counts.cells.rows() == [("all", "1", 1, 1, 1), ("all", "2", 2, 1, 0)]
    assert counts.report.reasons == {"the item is missing": 2}


def test_columns_are_found_in_capitals_or_not(tmp_path):
    rows = "\nx,a,1,1\ny,b,2,0\n"
    plain = clicks.read(write(tmp_path / "plain", f"query,item,position,clicked{rows}".encode()))
    capitals = write(tmp_path / "capitals", f"Query, ITEM,Position,clicked{rows}".encode())
    assert clicks.read(capitals).table.equals(plain.table)
    pl.read_csv(tmp_path / "plain").rename({"query": "QUERY"}).write_parquet(tmp_path / "log.parquet")
    assert clicks.read(tmp_path / "log.parquet").table.equals(plain.table)
    assert not clicks.read(capitals).report.notes
    twice = write(tmp_path / "twice", f"Query,QUERY,item,position,clicked{rows}".encode())
    with pytest.raises(InputError, match="one column 'query'"):
        clicks.read(twice, "table")
    both = write(tmp_path / "both", b"Query,query,item,position,clicked\nX,x,a,1,1\n")
    assert clicks.read(both).queries["query"].to_list() == ["x"]


def test_rows_pooled_into_one_query_are_told(tmp_path):
    path = write(tmp_path / "log", b"q,item,position,clicked,serp\nx,a,1,1,5\ny,b,2,0,5\n")
    (note,) = clicks.read([path, path]).report.notes
    assert note.startswith("No column 'query': all rows are taken as one query, 'all'. Other columns: q, serp;")
    assert clicks.read(path, query="q").report.notes == []
    (note,) = clicks.count(pl.read_csv(path), item="item", position="position", clicked="clicked").report.notes
    assert "q, serp" in note
    assert not clicks.read(write(tmp_path / "men.csv", clicks.FORMATS.get("open-bandit").example)).report.notes


ODD_NAMES = ["", "-", "\\N", "NULL", "NaN", "NA", "nan"]


@pytest.mark.parametrize(
    ("missing", "kept"), [(None, {"a", "NA", "nan"}), ("NA", {"a", "-", "\\N", "NULL", "NaN", "nan"}), ("", None)]
)
def test_what_stands_for_a_missing_name_is_one_rule(missing, kept, tmp_path):
    frame = pl.DataFrame({"query": "q", "item": ["a", *ODD_NAMES], "position": 1, "clicked": 0})
    frame.write_csv(tmp_path / "log.csv")
    frame.write_parquet(tmp_path / "log.parquet")
    kept = kept or {"a", *ODD_NAMES} - {""}
    named = {name: name for name in frame.columns}
    for counts in (
        *(clicks.read(tmp_path / name, max_bad=1, missing=missing) for name in ("log.csv", "log.parquet")),
        clicks.count(frame, **named, max_bad=1, missing=missing),
        clicks.count(frame.with_columns(pl.col("item").cast(pl.Categorical)), **named, max_bad=1, missing=missing),
    ):
        assert set(counts.cells["item"]) == kept
        assert counts.report.reasons == {"the item is missing": 8 - len(kept)}


@pytest.mark.parametrize(
    ("row", "got", "do"),
    [
        ("q,a,1,yes", "the outcome is not 0 or 1 but 'yes'", "Write outcomes as 0/1"),
        ("q,a,0,1", "from 1 to 255 but '0'", "Count positions from 1"),
        ("q,-,1,1", "the item is missing \\('-'\\)", "missing=NULL"),
        ("q,é,1,1", "the row is not utf-8", "encoding=latin-1"),
    ],
)
def test_refusals_show_what_was_found_and_what_to_do(row, got, do, tmp_path):
    path = write(tmp_path / "log", f"query,item,position,clicked\n{row}\n".encode("latin-1"))
    for settings in ({}, {"strict": True}):
        with pytest.raises(InputError, match=f"{got}.*{do}") as raised:
            clicks.read(path, **settings)
        assert "quarantine" not in str(raised.value)
    with pytest.raises(InputError, match=r"look at .*bad\.tsv, or raise max_bad"):
        clicks.read(path, quarantine=tmp_path / "bad.tsv")


def test_a_column_that_is_not_there_is_named_by_its_option(tmp_path):
    path = write(tmp_path / "log", b"query,doc,position,clicked\nq,a,1,0\n")
    with pytest.raises(InputError, match="Name the column: item=doc"):
        clicks.read(path)


POSITIONS = "query,item,position,clicked\n" + "q,a,top,1\nq,a,side,0\nq,b,top,0\nq,b,side,1\n" * 3


def test_positions_may_be_names(tmp_path):
    path = write(tmp_path / "log.csv", POSITIONS.encode())
    counts = clicks.read(path)
    assert counts.position_names == ("side", "top")
    frame = pl.read_csv(path)
    same = clicks.count(frame, query="query", item="item", position="position", clicked="clicked")
    assert same.table.equals(counts.table)
    assert same.top(1).position_names == ("side", "top")
    model = clicks.PBM(min_impressions=0).fit(counts)
    assert model.problem("q").col_names == ["side", "top"]
    assert model.summary()["best_position"].item() in ("side", "top")
    assert set(model.examination_["position_name"]) == {"side", "top"}
    assert (
        rankone.check_rank1(counts, simulations=20).checks[0].cells["col"].sort().to_list()
        == ["side"] * 2 + ["top"] * 2
    )
    table, lists = clicks.read_split(path, holdout=0.5)
    assert set(lists["position"]) <= {1, 2}
    assert table.position_names == ("side", "top")


def test_a_name_among_numbers_is_set_aside(tmp_path):
    rows = "query,item,position,clicked\nq,a,1,1\nq,a,first,0\nq,b,2,1\n"
    counts = clicks.read(write(tmp_path / "log.csv", rows.encode()), max_bad=0.5)
    assert counts.report.reasons == {"the position is no whole number from 1 to 255": 1}
    missing = POSITIONS + "q,a,,1\n"
    counts = clicks.read(write(tmp_path / "named.csv", missing.encode()), max_bad=0.5)
    assert counts.report.reasons == {"the position is missing": 1}
    many = "query,item,position,clicked\n" + "".join(f"q,a,place {number},1\n" for number in range(256))
    path = write(tmp_path / "many.csv", many.encode())
    with pytest.raises(InputError, match="at most 255 positions"):
        clicks.read(path)


@pytest.mark.parametrize("names", ["impressions,clicks", "shown,clicked", "Impressions,Clicks"])
def test_an_aggregated_log_is_read_directly(tmp_path, names):
    rows = f"query,item,position,{names}\nq,a,1,90,30\nq,a,2,80,10\nq,b,1,70,20\nq,b,1,5,5\n"
    path = write(tmp_path / "log.csv", rows.encode())
    counts = clicks.read(path)
    assert counts.cells.rows() == [("q", "a", 1, 90, 30), ("q", "a", 2, 80, 10), ("q", "b", 1, 75, 25)]
    assert (counts.report["clicks"], counts.report["cells in several rows"]) == (65, 1)
    pl.read_csv(path).write_parquet(tmp_path / "log.parquet")
    assert clicks.read(tmp_path / "log.parquet").table.equals(counts.table)
    kept, lists = clicks.read_split(path, holdout=0.25)
    assert kept.impressions + len(lists) == 245
    assert kept.clicks + lists["clicked"].sum() == 65
    assert 30 < len(lists) < 95
    assert {"pbm", "ctr-global"} <= {name.partition(":")[0] for name in clicks.compare_models(kept, lists)["model"]}


def test_wrong_counts_are_set_aside(tmp_path):
    rows = "query,item,position,impressions,clicks\nq,a,1,90,30\nq,a,2,80,81\nq,b,1,7.5,1\nq,b,2,many,1\n"
    counts = clicks.read(write(tmp_path / "log.csv", rows.encode()), max_bad=0.9)
    assert (counts.impressions, counts.clicks, counts.report["cells clamped"]) == (170, 110, 1)  # 81 of 80 are 80
    assert counts.report.reasons == {"the counts are no whole numbers from 0 up": 2}
    with pytest.raises(InputError, match="no column of lists in an aggregated log"):
        clicks.read(tmp_path / "log.csv", list="item")
    named = "query,item,position,n,clicks\nq,a,1,90,30\n"
    assert clicks.read(write(tmp_path / "n.csv", named.encode()), impressions="n", clicked="clicks").clicks == 30
