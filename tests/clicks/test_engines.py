"""The counts of one log are the same on every engine, read from the same Parquet files; only counts leave the engine."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys

import duckdb
import pandas as pd
import polars as pl
import pytest

from rankone.numerics.seeds import generator
from tests.clicks import engine_counts as spark_script
from tests.clicks.engine_counts import engine_counts

LISTS, POSITIONS = 800, 6
UNUSABLE = [(9_001, None, 3, 1, 0), (9_002, "q1", None, 1, 1), (9_003, "q1", 4, 0, 1), (9_004, "q1", 4, 1, None)]
WITHOUT_LIST = [(None, "q1", 5, 1, 1), (None, "q2", 5, 2, 0)]
# Two items at one position, an item twice at one position, and a list whose name another query uses too.
ODD = [(9_010, "q1", 6, 1, 1), (9_010, "q1", 7, 1, 0), (9_010, "q1", 7, 1, 1), (9_010, "q1", 8, 2, 0)]
ODD += [(9_010, "q2", 6, 1, 0), (9_010, "q2", 9, 2, 1)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two Parquet files of one log, its rows in no order."""
    rng = generator(3)
    rows = [
        (number, f"q{number % 7}", int(item), rank, int(rng.random() < 0.5 / rank))
        for number in range(LISTS)
        for rank, item in enumerate(rng.permutation(20)[:POSITIONS].tolist(), start=1)
    ]
    rows += UNUSABLE + WITHOUT_LIST + ODD
    rng.shuffle(rows)
    table = pl.DataFrame(rows, schema={"serp": pl.Int64, "q": pl.String, "doc": pl.Int64, "rank": pl.Int64, "click": pl.Int64}, orient="row")  # fmt: skip
    folder = tmp_path_factory.mktemp("log")
    table.head(2_000).write_parquet(folder / "1.parquet")
    table.tail(-2_000).write_parquet(folder / "2.parquet")
    return [str(folder / "1.parquet"), str(folder / "2.parquet")]


def plain_rows(files):
    """Usable rows as (list, query, item, position, click)."""
    rows = pl.read_parquet(files).rows()
    return [row for row in rows if None not in row[1:] and row[3] >= 1]


def plain_cells(rows):
    """Count in plain Python."""
    cells = {}
    for _, query, item, rank, click in rows:
        cell = cells.setdefault((query, str(item), rank), [0, 0])
        cell[0] += 1
        cell[1] += click
    return sorted([*key, *numbers] for key, numbers in cells.items())


def once_a_list(rows):
    """Rows of lists; an item that a list shows twice is there once, at its first place, clicked if either was."""
    items = {}
    for serp, query, item, rank, click in rows:
        if serp is not None:
            first, clicked = items.get((serp, query, item), (rank, 0))
            items[serp, query, item] = min(first, rank), max(clicked, click)
    return [(*key, *value) for key, value in items.items()]


def plain_lists(rows):
    """Count in plain Python, each list for itself: the click before, at or above the last click, the last click."""
    lists = {}
    for serp, query, item, rank, click in once_a_list(rows):
        lists.setdefault((serp, query), []).append((rank, str(item), click))
    cells = {}
    for (_, query), shown in lists.items():
        last = max(rank * click for rank, _, click in shown)
        previous = 0
        for rank, item, click in sorted(shown):
            cell = cells.setdefault((query, item, rank, previous), [0, 0, 0, 0])
            for place, number in enumerate((1, click, last == 0 or rank <= last, last > 0 and rank == last)):
                cell[place] += number
            previous = max(previous, rank * click)
    return sorted([*key, *numbers] for key, numbers in cells.items())


def in_spark(files):
    """Count in a real Spark session, in a process of its own."""
    missing = [name for name, found in {"Java": shutil.which("java"), "PySpark": importlib.util.find_spec("pyspark")}.items() if not found]  # fmt: skip
    if missing and os.environ.get("RANKONE_REQUIRE_SPARK") == "1":
        pytest.fail(f"RANKONE_REQUIRE_SPARK=1, but {' and '.join(missing)} is not installed")
    if missing:
        pytest.skip(f"{' and '.join(missing)} is not installed")
    command = [sys.executable, "-m", spark_script.__name__, *files]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


ENGINES = {
    "polars": pl.read_parquet,
    "polars lazy": pl.scan_parquet,
    # Without nullable types pandas makes 1.0 of an item 1 in a column with gaps.
    "pandas": lambda files: pd.concat([pd.read_parquet(file, dtype_backend="numpy_nullable") for file in files]),
    "duckdb": duckdb.read_parquet,
}


@pytest.mark.parametrize("engine", [*ENGINES, "pyspark"])
def test_the_same_files_give_the_same_counts(engine, files):
    found = in_spark(files) if engine == "pyspark" else engine_counts(ENGINES[engine](files))
    rows = plain_rows(files)
    assert found["cells"] == plain_cells(rows)
    assert found["lists"] == plain_lists(rows)
    assert found["cells of lists"] == plain_cells(once_a_list(rows))
    total = LISTS * POSITIONS + len(UNUSABLE + WITHOUT_LIST + ODD)
    assert found["rows"] == [[total, len(UNUSABLE)], [total, len(UNUSABLE + WITHOUT_LIST)]]
    if engine in {"polars", "pandas"}:  # in memory as it is: what stood below the last click is counted there
        return
    assert set(found["brought"]) <= {1, len(found["cells"]), len(found["lists"])}, "only counts leave the engine"
