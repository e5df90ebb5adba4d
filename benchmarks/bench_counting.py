"""Counting a long table by the engine that holds it: processor time and memory a million sessions, ten rows each.

Each engine counts the same Parquet files in a process of its own, once on a part and once on all, so that what it costs
to start and what it costs a million sessions come apart. Processor time, because the cores are shared: the cores that
work for you divide it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from rankone.numerics.seeds import generator

FILES, LISTS_A_FILE, POSITIONS = 4, 250_000, 10

_READ = "`clicks.read`"  # the reader of files, batch by batch
_OPEN = {
    "Polars, lazy": "import polars; frame = polars.scan_parquet(FILES)",
    "DuckDB": "import duckdb; frame = duckdb.read_parquet(FILES)",
    "pandas": "import pandas; frame = pandas.concat([pandas.read_parquet(file) for file in FILES])",
    "PySpark, local": """
from pyspark.sql import SparkSession
builder = SparkSession.builder.master('local[2]').config('spark.ui.enabled', 'false')
for key in ('spark.driver.bindAddress', 'spark.driver.host'):
    builder = builder.config(key, '127.0.0.1')
session = builder.config('spark.sql.shuffle.partitions', '8').getOrCreate()
frame = session.read.parquet(*FILES)
""",
    _READ: "frame = None",
}
_JOB = """
import glob, hashlib, json, sys, warnings
from benchmarks.usage import cpu_seconds, peak_megabytes
warnings.simplefilter("ignore")
from rankone import clicks
FILES = sorted(glob.glob(sys.argv[1] + "/*.parquet"))[: int(sys.argv[2])]
OPEN
columns = {"query": "query", "item": "item", "position": "position", "clicked": "clicked"}
columns |= {"list": "list"} if sys.argv[3] == "lists" else {}
counts = clicks.read(FILES, "table") if frame is None else clicks.count(frame, **columns)
print(json.dumps({
    "seconds": cpu_seconds(), "peak": peak_megabytes(with_children=True),
    "rows": counts.report.rows, "digest": hashlib.sha256(counts.table.write_csv().encode()).hexdigest(),
}))
"""


def write_tables(folder: Path) -> None:
    """Result lists of 200 queries with 50 items each, one row an impression."""
    for number in range(FILES):
        rng = generator(7, "lists", number)
        query = (200 * rng.random(LISTS_A_FILE) ** 2).astype(np.int64)
        items = (rng.integers(0, 50, LISTS_A_FILE)[:, None] + 3 * np.arange(POSITIONS)) % 50
        position = np.tile(np.arange(1, POSITIONS + 1), LISTS_A_FILE)
        rows = np.repeat(query, POSITIONS)
        table = pl.DataFrame(
            {
                "list": np.repeat(np.arange(LISTS_A_FILE) + number * LISTS_A_FILE, POSITIONS),
                "query": rows,
                "item": rows * 50 + items.ravel(),
                "position": position,
                "clicked": (rng.random(len(rows)) < 0.4 / position).astype(np.int64),
            }
        )
        table.write_parquet(folder / f"{number}.parquet")


def job(engine: str, folder: Path, files: int, kind: str) -> dict[str, float]:
    """Count some of the files in a fresh process."""
    command = [sys.executable, "-c", _JOB.replace("OPEN", _OPEN[engine]), str(folder), str(files), kind]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])  # Spark talks before


def report() -> str:
    """Return the figures as Markdown."""
    millions = FILES * LISTS_A_FILE / 1e6
    lines = [
        f"{millions:g}M sessions of {POSITIONS} rows in Parquet, in seconds of processor time; the cost a million is that of "
        "three quarters of them.",
        "",
        "| engine | what | start and all files | a million sessions more | peak memory: a quarter, all | 35M sessions |",
        "|---|---|---|---|---|---|",
    ]
    digests: dict[str, set[str]] = {"cells": set(), "lists": set()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder)
        for engine in _OPEN:
            if "Spark" in engine and shutil.which("java") is None:
                continue
            for kind in ("cells", "lists") if engine != _READ else ("lists",):
                part, whole = (job(engine, folder, files, kind) for files in (FILES // 4, FILES))
                digests[kind].add(str(whole["digest"]))
                slope = (whole["seconds"] - part["seconds"]) / (0.75 * millions)
                lines.append(
                    f"| {engine} | {kind} | {whole['seconds']:.1f} s | {slope:.2f} s | {part['peak']:.0f}, "
                    f"{whole['peak']:.0f} MB | {whole['seconds'] + slope * (35 - millions):.0f} s |"
                )
    same = all(len(found) == 1 for found in digests.values())
    lines += ["", f"Counts identical on every engine: {'yes' if same else 'NO'}."]
    return "\n".join(lines)
