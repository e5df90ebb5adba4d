"""Any dataframe is counted by its own engine, with the same result."""

import json
import subprocess
import sys

import duckdb
import pandas as pd
import polars as pl
import pytest

from rankone import clicks
from rankone.errors import InputError
from tests.clicks.logs import long_table, random_sessions

COLUMNS = {"query": "q", "item": "doc", "position": "rank", "clicked": "click"}


@pytest.fixture(scope="module")
def frame():
    return long_table(random_sessions(seed=5)).rename(
        {"query": "q", "item": "doc", "position": "rank", "clicked": "click", "list": "serp"}
    )


ENGINES = {
    "polars": lambda frame: frame,
    "polars lazy": lambda frame: frame.lazy(),
    "pandas": lambda frame: pd.DataFrame(frame.to_dict(as_series=False)),
    "pyarrow": lambda frame: frame.to_arrow(),
    "duckdb": lambda frame: duckdb.from_arrow(frame.to_arrow()),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_same_counts(engine, frame):
    expected = clicks.count(frame, **COLUMNS, list="serp")
    counts = clicks.count(ENGINES[engine](frame), **COLUMNS, list="serp")
    assert counts.table.equals(expected.table)
    assert counts.report.rows == len(frame)


@pytest.mark.parametrize("engine", ENGINES)
def test_without_lists_every_engine_gives_the_cells(engine, frame):
    counts = clicks.count(ENGINES[engine](frame), **COLUMNS)
    assert counts.table.equals(clicks.count(frame, **COLUMNS, list="serp").cells)
    assert not counts.has_lists


def test_whole_numbers_may_come_as_floats_and_outcomes_as_numbers(frame):
    other = frame.with_columns(pl.col("rank").cast(pl.Float64), pl.col("click").cast(pl.Int8))
    assert clicks.count(other, **COLUMNS).table.equals(clicks.count(frame, **COLUMNS).table)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("listed", [True, False])
def test_names_that_gaps_made_floats_are_whole_numbers(engine, listed):
    """pandas turns a column of numbers into floats where one is missing: item 1 is still "1", and a gap is no item."""
    rows = {"q": [7, 7, 7, None], "doc": [1, 2, None, 1], "rank": [1, 2, 3, 1], "click": [1, 0, 0, 1], "serp": [4] * 4}
    floats = dict.fromkeys(("q", "doc", "serp"), pl.Float64)
    named = COLUMNS | ({"list": "serp"} if listed else {})
    counts = clicks.count(ENGINES[engine](pl.DataFrame(rows, schema_overrides=floats)), **named, max_bad=0.5)
    assert counts.cells.rows() == [("7", "1", 1, 1, 1), ("7", "2", 2, 1, 0)]
    assert counts.report.rows_quarantined == 2
    half = pl.DataFrame(rows | {"doc": [1.5, 1, 2, 3]}, strict=False)
    with pytest.raises(InputError, match="unusable"):
        clicks.count(ENGINES[engine](half), **named)


def test_counts_and_held_out_lists_take_such_names_too():
    table = pl.DataFrame({"query": 7.0, "item": [1.0, 2.0], "position": [1, 2], "impressions": 30, "clicks": [20, 5]})
    model = clicks.PBM().fit(clicks.Counts(table))
    assert model.problem(7).row_names == ["1", "2"]
    lists = pl.DataFrame({"list": 1, "query": 7.0, "item": [1.0, 2.0], "position": [1, 2], "clicked": [1, 0]})
    assert clicks.evaluate(model, lists).lists == 1
    with pytest.raises(InputError, match="missing values"):
        clicks.Counts(table.with_columns(item=pl.Series([1.0, float("nan")])))


@pytest.mark.parametrize(
    "bad", [{"rank": None}, {"rank": 0}, {"rank": 300}, {"doc": None}, {"q": None}, {"click": None}]
)
def test_rows_that_cannot_be_used_are_counted(bad, frame):
    wrong = frame.head(1).with_columns(
        pl.lit(value).cast(frame.schema[name]).alias(name) for name, value in bad.items()
    )
    counts = clicks.count(pl.concat([frame, wrong]), **COLUMNS)
    assert counts.report.rows_quarantined == 1
    assert counts.table.equals(clicks.count(frame, **COLUMNS).table)
    with pytest.raises(InputError, match="strict"):
        clicks.count(pl.concat([frame, wrong]), **COLUMNS, strict=True)
    with pytest.raises(InputError, match="at most 1% unusable"):
        clicks.count(pl.concat([frame.head(10), wrong]), **COLUMNS)


def test_wrong_columns_and_kinds_are_refused(frame):
    with pytest.raises(InputError, match="a column 'nope'"):
        clicks.count(frame, **COLUMNS | {"item": "nope"})
    with pytest.raises(InputError, match="numbers in column 'doc'"):
        clicks.count(frame, **COLUMNS | {"clicked": "doc"})
    with pytest.raises(InputError, match="numbers in column 'doc'"):
        clicks.count(frame, **COLUMNS | {"position": "doc", "list": "serp"})
    with pytest.raises(InputError, match="dataframe"):
        clicks.count([1, 2], **COLUMNS)
    with pytest.raises(InputError, match="max_bad"):
        clicks.count(frame, **COLUMNS, max_bad=5)


def test_an_item_twice_in_a_list_counts_at_its_first_place():
    frame = pl.DataFrame({"serp": [1, 1, 1], "doc": ["a", "b", "a"], "rank": [1, 2, 3], "click": [0, 0, 1]})
    counts = clicks.count(frame, item="doc", position="rank", clicked="click", list="serp")
    assert counts.cells.rows() == [
        ("all", "a", 1, 1, 1),
        ("all", "b", 2, 1, 0),
    ]  # a click on an item is one, as in a session
    assert counts.report["duplicate items"] == 1


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "pyspark"])
def test_lists_of_two_queries_may_have_the_same_name(engine, frame):
    numbered = frame.with_columns(pl.col("serp").rank("dense").over("q"))
    counts = clicks.count(ENGINES[engine](numbered), **COLUMNS, list="serp")
    assert counts.table.equals(clicks.count(frame, **COLUMNS, list="serp").table)


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "pyspark"])
def test_rows_without_a_list_and_rows_given_twice_are_counted(engine, frame):
    frame = frame.with_columns(pl.col("serp").cast(pl.String))
    lost = frame.head(1).with_columns(serp=pl.lit(None, pl.String))
    counts = clicks.count(ENGINES[engine](pl.concat([frame, lost, frame.head(3)])), **COLUMNS, list="serp")
    assert counts.table.equals(clicks.count(frame, **COLUMNS, list="serp").table)
    assert counts.report.rows_quarantined == 1
    assert counts.report["duplicate items"] == 3
    assert json.loads(json.dumps(counts.report.to_dict()))["rows_read"] == len(frame) + 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"position": 0}, {"position": 256}, {"position": 1.5}, {"clicks": -1}, {"clicks": 0.5}, {"query": None},
        {"impressions": None}, {"impressions": float("nan")}, {"impressions": -3}, {"impressions": "many"},
    ],
)  # fmt: skip
def test_tables_that_are_no_counts_are_refused(wrong, frame):
    table = clicks.count(frame, **COLUMNS).table.cast({"position": pl.Int64})
    with pytest.raises(InputError, match=r"counts of impressions and clicks.* rows, the first of them row 1 \(query "):
        clicks.Counts(table.with_columns(**{name: pl.lit(value) for name, value in wrong.items()}))
    with pytest.raises(InputError, match="a pandas, Polars"):
        clicks.Counts(table.to_dict(as_series=False))


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_of_a_cell_are_added_up_wherever_they_are(engine):
    """The second row of a cell used to take the place of the first in some models and not in others."""
    table = pl.DataFrame(
        {"query": "q", "item": ["a", "a", "a", "b", "b"], "position": [1, 1, 2, 1, 2], "impressions": [30, 70, 50, 0, 40],
         "clicks": [10, 20, 5, 0, 60]}
    )  # fmt: skip
    counts = clicks.Counts(ENGINES[engine](table))
    assert counts.cells.rows() == [("q", "a", 1, 100, 30), ("q", "a", 2, 50, 5), ("q", "b", 2, 40, 40)]
    told = ("cells in several rows", "cells without impressions", "cells clamped")
    assert [counts.report[tally] for tally in told] == [1, 1, 1]
    assert counts.cells.rows() == clicks.Counts(counts.cells).cells.rows()


def test_counts_say_what_is_in_them(frame):
    counts = clicks.count(frame, **COLUMNS)
    top = counts.top(1)
    assert top.queries["query"].to_list() == [counts.queries["query"][0]]
    assert counts.queries["lists"].is_sorted(descending=True)
    with pytest.raises(InputError, match="a query of the counts"):
        counts.only(["nope"])
    with pytest.raises(InputError, match="top as a whole number of at least 1"):
        counts.top(0)
    with pytest.raises(InputError, match="at least one impression"):
        clicks.Counts(counts.table.head(0))
    with pytest.raises(InputError, match="a column 'clicks', but got the columns"):
        clicks.Counts(counts.table.drop("clicks"))


def test_pandas_needs_no_pyarrow():
    """Where pyarrow is not installed, texts are of another kind, and Polars takes no frame over."""
    code = """
import sys
sys.modules["pyarrow"] = None
import pandas, rankone
rows = {"q": ["x"] * 4, "doc": ["a", "b", None, "a"], "rank": [1, 2, 1, 2], "click": [True, False, True, True]}
frame = pandas.DataFrame(rows | {"serp": [1, 1, 2, 3]})
named = dict(query="q", item="doc", position="rank", clicked="click", list="serp", max_bad=0.5)
print(rankone.clicks.count(frame, **named).cells.rows())
import duckdb
try:
    rankone.clicks.count(duckdb.from_df(frame.dropna()), **named)
except rankone.errors.MissingExtra as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    cells, error = done.stdout.splitlines()
    assert cells == "[('x', 'a', 1, 1, 1), ('x', 'a', 2, 1, 1), ('x', 'b', 2, 1, 0)]"
    assert error.startswith("a frame of duckdb needs the optional part 'frames'")


def test_held_out_lists_may_be_pandas(frame):
    names = {"q": "query", "doc": "item", "rank": "position", "click": "clicked", "serp": "list"}
    model = clicks.PBM(min_impressions=0).fit(clicks.count(frame, **COLUMNS))
    lists = frame.rename(names)
    expected, found = (clicks.evaluate(model, each) for each in (lists, ENGINES["pandas"](lists)))
    assert found.log_likelihood == expected.log_likelihood


@pytest.mark.parametrize("engine", ENGINES)
def test_refusals_say_which_values_and_why(engine):
    rows = {"q": ["x"] * 5, "doc": ["a", "-", "a", "a", None], "rank": [0, 1, 0, 2, 0], "click": [1, 0, 1, 3, 1]}
    frame = ENGINES[engine](pl.DataFrame(rows))
    with pytest.raises(InputError, match=r"5 of 5 rows \(mostly: the item is missing \('-'\)|from 1 to 255 but '0'"):
        clicks.count(frame, **COLUMNS)
    good = pl.DataFrame(rows | {"doc": ["a"] * 5, "rank": [1, 0, 1, 300, 1]})
    report = clicks.count(ENGINES[engine](good), **COLUMNS, max_bad=1).report
    assert report.reasons == {"the position is no whole number from 1 to 255": 2}
    with pytest.raises(InputError, match="Count positions from 1"):
        clicks.count(ENGINES[engine](good), **COLUMNS)
