"""The counts of one log are the same on every engine, read from the same Parquet files; only counts leave the engine."""

import shutil
import warnings

import duckdb
import pandas as pd
import polars as pl
import pytest

from rankone import clicks
from rankone.clicks import frames
from rankone.numerics.seeds import generator

COLUMNS = {"query": "q", "item": "doc", "position": "rank", "clicked": "click"}
LISTS, POSITIONS = 800, 6


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two Parquet files of one log: result lists in no order, some rows that cannot be used."""
    rng = generator(3)
    rows = [
        (number, f"q{number % 7}", int(item), rank, int(rng.random() < 0.5 / rank))
        for number in range(LISTS)
        for rank, item in enumerate(rng.permutation(20)[:POSITIONS].tolist(), start=1)
    ]
    rows += [(9_001, None, 3, 1, 0), (9_002, "q1", None, 1, 1), (9_003, "q1", 4, 0, 1), (9_004, "q1", 4, 1, None)]
    rng.shuffle(rows)
    table = pl.DataFrame(rows, schema={"serp": pl.Int64, "q": pl.String, "doc": pl.Int64, "rank": pl.Int64, "click": pl.Int64}, orient="row")  # fmt: skip
    folder = tmp_path_factory.mktemp("log")
    table.head(2_000).write_parquet(folder / "1.parquet")
    table.tail(-2_000).write_parquet(folder / "2.parquet")
    return [str(folder / "1.parquet"), str(folder / "2.parquet")]


def plain_cells(files):
    """Count in plain Python."""
    cells = {}
    for _, query, item, rank, click in pl.read_parquet(files).rows():
        if None not in (query, item, click) and rank >= 1:
            cell = cells.setdefault((query, str(item), rank), [0, 0])
            cell[0] += 1
            cell[1] += click
    return sorted((*key, *numbers) for key, numbers in cells.items())


def in_spark(files):
    if shutil.which("java") is None:
        pytest.skip("PySpark needs Java")
    sql = pytest.importorskip("pyspark.sql")
    builder = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    return builder.config("spark.sql.shuffle.partitions", "1").getOrCreate().read.parquet(*files)


ENGINES = {
    "polars": pl.read_parquet,
    "polars lazy": pl.scan_parquet,
    # Without nullable types pandas makes 1.0 of an item 1 in a column with gaps.
    "pandas": lambda files: pd.concat([pd.read_parquet(file, dtype_backend="numpy_nullable") for file in files]),
    "duckdb": duckdb.read_parquet,
    "pyspark": in_spark,
}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_files_give_the_same_counts(engine, files, monkeypatch):
    brought, polars = [], frames._polars
    monkeypatch.setattr(frames, "_polars", lambda table: brought.append(polars(table)) or brought[-1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # engines warn about one another's versions
        counts = clicks.count(ENGINES[engine](files), **COLUMNS)
        with_lists = clicks.count(ENGINES[engine](files), **COLUMNS, list="serp")
    assert counts.cells.rows() == plain_cells(files)
    assert with_lists.cells.rows() == plain_cells(files)
    expected = clicks.count(pl.read_parquet(files), **COLUMNS, list="serp")
    assert with_lists.table.equals(expected.table)
    assert (counts.report.rows, counts.report.rows_quarantined) == (LISTS * POSITIONS + 4, 4)
    heights = {table.height for table in brought}
    assert heights <= {1, len(counts.table), len(with_lists.table)}, "only counts leave the engine"
