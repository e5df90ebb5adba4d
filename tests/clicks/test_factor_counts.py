"""Which columns hold what, and counts from whatever people have."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

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
    assert [note.split("'")[1] for note in found.notes] == ["ctr", "site", "id", "variant"]
    assert find_factor_columns(table, factors=["variant"]).factors == ("variant",)


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
        (AB, {}, "the columns headline, image"),
        (AB | {"clicks": [1, 2, 3, 4]}, {}, "the columns headline, image, clicks"),
        (COUNTS, {}, "the columns shown, clicked"),
        (AB | COUNTS, {"factors": ["hedline"]}, "did you mean headline"),
        (AB | COUNTS, {"shown": "clicked", "clicked": "clicked"}, "twice"),
        (AB | COUNTS, {"shown": "clicked", "clicked": "shown"}, "100 of 5 in row 1"),
        (AB | {"shown": ["9", "many", "9", "9"], "clicked": ["1"] * 4}, {}, "'many' in row 2"),
        (AB | {"shown": [9, None, 9, 9], "clicked": [1] * 4}, {}, "'None' in row 2"),
        ({"headline": ["A", None], "shown": [5, 6], "clicked": [1, 1]}, {}, "none in row 2"),
        (AB | {"shown": [9] * 4, "clicked": [0] * 4}, {}, "none in 36 impressions"),
        (AB | COUNTS | {"query": ["q", "q", "r", "r"]}, {}, "2 of them"),
    ],
)
def test_wrong_tables_are_sentences(table, options, got):
    with pytest.raises(InputError, match=r"expected .* - got .* - ") as error:
        as_factor_counts(pl.DataFrame(table), **options)
    assert got in str(error.value)


@pytest.mark.parametrize("content", [b"", b"a,b\n", b"\x00\x01\x02", b"a,b\n\xff\xfe,1\n", b"PAR1 no"])
def test_files_that_hold_no_table_are_sentences(tmp_path, content):
    (tmp_path / "file.csv").write_bytes(content)
    with pytest.raises(InputError, match=r"expected .* - got .* - "):
        read_table(tmp_path / "file.csv")
