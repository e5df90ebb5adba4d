"""Which columns hold what, and counts from whatever people have."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankone
from rankone.analysis.revenue import analyse_revenue
from rankone.clicks.counts.factor_columns import find_factor_columns
from rankone.clicks.counts.factor_counts import as_factor_counts
from rankone.clicks.counts.table_files import read_table
from rankone.errors import InputError

AB = {"headline": ["A", "A", "B", "B"], "image": [1, 2, 1, 2]}
COUNTS = {"shown": [100, 200, 300, 400], "clicked": [5, 6, 7, 8]}


@pytest.mark.parametrize("shown", ["shown", "Impressions", "views", "n", "visitors"])
@pytest.mark.parametrize("clicked", ["clicked", "CLICKS", "conversions", "successes", "k"])
def test_usual_names(shown, clicked):
    table = pl.DataFrame(AB | {clicked: COUNTS["clicked"], shown: COUNTS["shown"]})
    found = find_factor_columns(table)
    assert (found.factors, found.shown, found.clicked) == (("headline", "image"), shown, clicked)


def test_columns_by_what_they_hold():
    table = pl.DataFrame(AB | {"gesehen": COUNTS["shown"], "clicks": COUNTS["clicked"]})
    assert find_factor_columns(table).shown == "gesehen", "the one column that is never less than the clicks"
    impressions = pl.DataFrame({"page": ["x", "y", "x", "y"], "bought": ["true", "false", "false", "true"]})
    found = find_factor_columns(impressions)
    assert (found.factors, found.shown, found.clicked) == (("page",), None, "bought")


def test_columns_that_are_no_factors_are_left_out_and_named():
    days = pl.DataFrame({"day": [1, 2, 3]}).join(pl.DataFrame(AB | COUNTS), how="cross")
    table = days.with_columns(
        variant=pl.col("headline") + pl.col("image").cast(pl.String), site=pl.lit("home"), ctr=pl.lit(0.5),
        id=pl.Series([f"row {place}" for place in range(12)]),
    )  # fmt: skip
    found = find_factor_columns(table)
    assert (found.factors, found.slice) == (("headline", "image"), "day")
    assert [note.split("'")[1] for note in found.notes[:-1]] == ["ctr", "id", "site", "variant"]
    assert found.notes[-1].startswith("To change this: --factor for each factor")
    assert find_factor_columns(table, factors=["variant"]).factors == ("variant",)


def test_levels_that_differ_in_case_only_are_named():
    counts = as_factor_counts(pl.DataFrame({"headline": ["Sale", "sale ", "New"], "shown": 10, "clicked": 1}))
    assert counts.notes[-1] == "Counted as two levels of headline, as their spelling differs: 'Sale', 'sale'."


def impressions(**more):
    """800 rows, one per impression."""
    rng = np.random.default_rng(0)
    rows = {"headline": rng.choice(["A", "B"], 800), "image": rng.choice(["x", "y", "z"], 800)} | more
    return pl.DataFrame(rows | {"clicked": rng.choice(["yes", "no"], 800)})


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("user_id", [f"u{place % 7}" for place in range(800)], "it says who came"),
        ("sessionId", range(800), "it says who came"),
        ("widget", [f"w{place % 300}" for place in range(800)], "300 different values in 800 rows look like ids"),
        ("created_at", [f"2026-11-17 10:{place % 60:02}" for place in range(800)], "it says when, not what was shown"),
        ("cost", [place % 3 for place in range(800)], "an amount"),
        ("width", [place % 40 for place in range(800)], "40 different numbers look like a metric, not a variant"),
        ("opened", [place % 2 for place in range(800)], "another outcome"),
    ],
)
def test_who_when_and_how_much_are_no_factors(name, values, why):
    table = impressions(**{name: list(values)})
    found = find_factor_columns(table)
    assert found.factors == ("headline", "image")
    used = "Not a factor" if name in ("user_id", "sessionId") else "Not used"  # they tell how often visitors come
    assert found.notes[0].startswith(f"{used}: '{name}' ({why}")
    assert find_factor_columns(table, factors=["headline", name]).factors == ("headline", name), "unless it is named"


def test_dates_are_found_by_what_they_hold_and_cut_into_days():
    times = [f"2026-11-{1 + place % 9:02}T10:{place % 60:02}:00Z" for place in range(800)]
    counts = as_factor_counts(impressions(seen=times))
    assert counts.columns.sentence == (
        "Factors: headline, image; shown: one row per impression; clicked: clicked; date: seen, by day."
    )
    assert counts.repeats.freedom == 6 * 9 - 6 - 8
    seconds = [1.79e9 + 40_000.0 * place for place in range(800)]
    assert find_factor_columns(impressions(timestamp=seconds)).slice == "timestamp"


def test_a_factor_called_like_a_time_is_pointed_out():
    table = pl.DataFrame({"headline": ["A", "A", "B", "B"], "time": ["morning", "evening"] * 2} | COUNTS)
    found = find_factor_columns(table)
    assert found.slice == "time"
    assert "'time' (morning, evening, ...) was read as a date" in found.notes[0]
    assert find_factor_columns(table, factors=["headline", "time"]).slice is None


def test_factors_that_change_together_are_told_plainly():
    tied = pl.DataFrame({"headline": ["A", "B", "C"], "image": ["x", "y", "z"], "shown": [9] * 3, "clicked": [1, 2, 3]})
    found = find_factor_columns(tied)
    assert found.factors == ("headline",)
    assert "it changes together with 'headline', so the effect of 'headline' may be due to either" in found.notes[0]
    words = pl.DataFrame({"headline": ["Win it", "Try it", "See it", "Buy it"], "image": ["x", "y"] * 2} | COUNTS)
    found = find_factor_columns(words)
    assert found.factors == ("headline",), "a headline of its own in every row is no number of the row"
    assert "each 'headline' has only one 'image'" in found.notes[0]


def test_a_factor_that_was_not_named_counts_as_scatter_and_that_is_said():
    pages = pl.DataFrame({"page": ["home", "shop", "blog"]}).join(pl.DataFrame(AB | COUNTS), how="cross")
    counts = as_factor_counts(pages, factors=["headline", "image"])
    assert counts.repeats is not None
    assert counts.notes == (
        "'page' was not named as a factor: rows that differ in it count as repeats, and what it changes as scatter.",
    )


def test_kinds_of_visitors_are_no_repeats_of_one_another():
    devices = pl.DataFrame({"device": ["phone", "desk", "tablet"]}).join(pl.DataFrame(AB | COUNTS), how="cross")
    counts = as_factor_counts(devices, factors=["headline", "image"])
    assert (counts.shown.tolist(), counts.repeats) == ([300, 600, 900, 1200], None)
    assert counts.notes == (
        "'device' was not named as a factor: the answer is an average over the visitors there were.",
    )


def test_sums_are_no_levels():
    rows = [("A", "1", 100, 5), ("A", "2", 200, 6), ("B", "1", 300, 7), ("B", "2", 400, 8)]
    sums = [("A", "All", 300, 11), ("Total", "", 1000, 26), ("", "", 1000, 26)]
    names = ["headline", "image", "shown", "clicked"]
    counts = as_factor_counts(pl.DataFrame(rows + sums, names, orient="row"))
    assert (counts.levels, counts.shown.sum()) == ((("A", "B"), ("1", "2")), 1000)
    assert counts.notes == ("Left out because they are sums of other rows: row 5 ('A'), row 6 ('Total'), row 7.",)
    real = as_factor_counts(pl.DataFrame([*rows, ("All", "1", 50, 3)], names, orient="row"))
    assert real.levels[0] == ("A", "B", "All")
    assert "Counted as a level, because it is not the sum" in real.notes[0]


PLAIN = "headline,image,shown,clicked\nA,1,12100,5\nA,2,950,6\nB,1,13000,7\nB,2,14000,8\n"


@pytest.mark.parametrize(
    "content",
    [
        PLAIN.encode("utf-8-sig"), PLAIN.replace(",", "\t").encode("utf-16"), b"sep=;\r\n" + PLAIN.replace(",", ";").encode(),
        PLAIN.replace("\n", "\r\n\r\n").encode(), b"\n\n" + PLAIN.encode() + b",,,\n\n", PLAIN.replace("12100", '"12,100"').encode(),
        PLAIN.replace(",", ";").replace("12100", "12.100").replace("000", ".000").encode(), PLAIN.replace("12100", "12'100").encode(),
        PLAIN.replace("12100", "12 100").encode(), PLAIN.replace("shown", "Impr.").encode(),
        PLAIN.replace("shown", "shown,shown").replace("12100", "12100,12100").replace("950", "950,950")
        .replace("000", "000,000").replace("3000,000", "3000,13000").replace("4000,000", "4000,14000").encode(),
    ],
)  # fmt: skip
def test_files_as_programs_write_them(tmp_path, content):
    (tmp_path / "ab.csv").write_bytes(content)
    counts = as_factor_counts(read_table(tmp_path / "ab.csv"))
    assert counts.levels == (("A", "B"), ("1", "2"))
    assert (counts.shown.tolist(), counts.clicked.tolist()) == ([12100, 950, 13000, 14000], [5, 6, 7, 8])


def test_letters_of_windows(tmp_path):
    (tmp_path / "ab.csv").write_bytes("titel,shown,clicked\nGrüße,10,3\nÜber,10,1\n".encode("latin-1"))
    assert as_factor_counts(read_table(tmp_path / "ab.csv")).levels == (("Grüße", "Über"),)


@pytest.mark.parametrize(
    ("content", "got"),
    [
        ("headline;shown;clicked\nA;200.000;3.000\nB;150.000;4.000\n", "'200.000' may be 200 or 200,000"),
        ("headline,shown,clicked\nA,12,000,3\n", "Line 2 of ab.csv has 4 fields, the header 3."),
        ("headline,n,n,clicked\nA,9,8,3\nB,9,8,2\n", "n (column 2), n (column 3)"),
    ],
)
def test_what_can_be_read_in_two_ways_is_asked(tmp_path, content, got):
    (tmp_path / "ab.csv").write_text(content)
    with pytest.raises(InputError, match=re.escape(got)):
        as_factor_counts(read_table(tmp_path / "ab.csv"))


def test_levels_that_were_never_shown_are_left_out():
    counts = as_factor_counts(([[10, 20], [0, 0]], [[1, 2], [0, 0]]))
    assert counts.levels == (("row 1",), ("col 1", "col 2"))
    assert counts.notes == ("Never shown, and left out: row 'row 2'.",)


def test_any_table(tmp_path):
    table = pl.DataFrame(AB | COUNTS)
    table.write_csv(tmp_path / "comma.csv")
    table.write_csv(tmp_path / "semicolon.csv", separator=";")
    table.write_csv(tmp_path / "tab.tsv", separator="\t")
    table.write_parquet(tmp_path / "counts.parquet")
    table.write_ndjson(tmp_path / "counts.jsonl")
    frames = [read_table(path) for path in sorted(tmp_path.iterdir())]
    frames += [pd.DataFrame(AB | COUNTS), table.lazy()]
    for frame in frames:
        counts = as_factor_counts(frame)
        assert counts.levels == (("A", "B"), ("1", "2"))
        assert (counts.shown.tolist(), counts.clicked.tolist()) == (COUNTS["shown"], COUNTS["clicked"])


def test_arrays_of_any_dimension():
    shown = np.full((2, 3, 2), 50)
    counts = as_factor_counts((shown, shown // 10), factors=["headline", "image", "button"])
    assert counts.sizes == (2, 3, 2)
    named = pd.DataFrame([[10, 20], [30, 40]], index=["A", "B"], columns=["x", "y"])
    assert as_factor_counts((named, named // 10)).levels == (("A", "B"), ("x", "y"))


def test_rows_of_single_impressions_are_added_up():
    rows = pl.DataFrame({"page": ["x", "x", "y"], "clicked": [1, 0, 1]})
    counts = as_factor_counts(rows)
    assert (counts.shown.tolist(), counts.clicked.tolist(), counts.repeats) == ([2, 1], [1, 1], None)


def test_the_dispersion_of_repeats_and_of_slices():
    """Repeats tell how much clicks scatter; a rise of everything from day to day is no scatter."""
    rng = np.random.default_rng(0)
    rows = [
        {"page": page, "day": day, "shown": 2000, "clicked": int(rng.binomial(2000, rate * (1 + day / 10)))}
        for page, rate in (("a", 0.03), ("b", 0.02), ("c", 0.05))
        for day in range(20)
    ]
    by_day = as_factor_counts(pl.DataFrame(rows)).repeats
    assert by_day.origin == "slices"
    assert by_day.freedom == 60 - 3 - 20 + 1
    assert by_day.value == pytest.approx(1.0, abs=4.0 * np.sqrt(2.0 / by_day.freedom))
    plain = as_factor_counts(pl.DataFrame(rows).drop("day")).repeats
    assert (plain.origin, plain.freedom) == ("repeats", 57)
    assert plain.value > 3.0
    assert as_factor_counts(pl.DataFrame(rows[:3])).repeats is None, "too few to tell"


@pytest.mark.parametrize(
    ("table", "options", "got"),
    [
        (AB, {}, "there are headline, image"),
        (AB | {"clicks": [1, 2, 3, 4]}, {}, "No column holds impressions: there are headline, image, clicks."),
        (COUNTS, {}, "No column holds variants: there are shown, clicked"),
        (AB | COUNTS, {"factors": ["hedline"]}, "Did you mean headline"),
        (AB | COUNTS, {"shown": "clicked", "clicked": "clicked"}, "A column was named twice: clicked"),
        (AB | COUNTS, {"shown": "clicked", "clicked": "shown"}, "Row 1: more clicks (100) than impressions (5)"),
        (
            AB | {"shown": ["9", "many", "9", "9"], "clicked": ["1"] * 4},
            {},
            "Row 2: 'shown' is no whole number from 0: many.",
        ),
        (AB | {"shown": [9, None, 9, 9], "clicked": [1] * 4}, {}, "Row 2: 'shown' is empty."),
        ({"headline": ["A", None], "shown": [5, 6], "clicked": [1, 1]}, {}, "Row 2: 'headline' is empty."),
        (AB | {"shown": [9] * 4, "clicked": [0] * 4}, {}, "No clicks in 36 impressions."),
        (AB | COUNTS | {"query": ["q", "q", "r", "r"]}, {}, "This table holds several tables (2): column 'query'"),
    ],
)
def test_wrong_tables_are_sentences(table, options, got):
    with pytest.raises(InputError, match=re.escape(got)):
        as_factor_counts(pl.DataFrame(table), **options)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "The file is empty: file.csv."), (b"a,b\n", "The file has a header but no rows."),
        (b"\x00\x01\x02", "This is neither text nor Parquet: file.csv."), (b"a,b\n\x81,1\n", "Unknown encoding: file.csv."),
        (b"PAR1 no", "Cannot read file.csv as a table: "), (b"PK\x03\x04", "This is no workbook that can be read: file.csv."),
        (b"A,1\nB,2\n", "The first line is no header: A, 1."),
    ],
)  # fmt: skip
def test_files_that_hold_no_table_are_sentences(tmp_path, content, said):
    (tmp_path / "file.csv").write_bytes(content)
    with pytest.raises(InputError, match=f"^{re.escape(said)}"):
        read_table(tmp_path / "file.csv")


def test_errors_name_the_line_of_the_file(tmp_path):
    """A title, blank lines and a field of two lines: lines count as an editor counts them."""
    file = tmp_path / "ads.csv"
    file.write_text('Report\n\nheadline,shown,clicked\n"A\nB",9,1\n\nC,many,1\n')
    with pytest.raises(InputError, match=r"^Line 7 of ads.csv: 'shown' is no whole number from 0: many"):
        rankone.analyse(file)
    file.write_text("headline,revenue\nA,1\nB,2\n\nA,-5\n")
    with pytest.raises(InputError, match=r"^Line 5 of ads.csv: 'revenue' is no amount"):
        analyse_revenue(file, "revenue")
    with pytest.raises(InputError, match=r"^Row 2: 'shown' is empty"):  # a frame has rows only
        rankone.analyse(pl.DataFrame({"headline": ["A", "B"], "shown": [5, None], "clicked": [1, 1]}))
    file.write_text("Title\nheadline,shown,clicked\n\nA,9,1\nA,9,1,7\n")
    with pytest.raises(InputError, match=r"^Line 5 of ads.csv has 4 fields, the header 3"):
        rankone.analyse(file)


def test_points_between_thousands_are_told_by_the_other_numbers(tmp_path):
    """12.000 is 12 in a file that writes three decimals throughout; where other counts have none, it is 12,000."""
    file = tmp_path / "ads.csv"
    for rows in ("A;12.000;300\nB;9.000;200\n", "A;12.000;3.000\nB;9.000;200\n", "A;12.000;1.000\nB;2.000;950\n"):
        file.write_text(f"headline;shown;clicked\n{rows}")
        counts = as_factor_counts(read_table(file))
        assert counts.shown.max() == 12_000
        assert any("Read '12.000' in column 'shown' as 12,000." in each for each in counts.taken)
    file.write_text("headline;shown;clicked\nA;12.000;3.000\nB;9.000;2.000\n")
    with pytest.raises(InputError, match=r"'12\.000' may be 12 or 12,000"):
        as_factor_counts(read_table(file))
