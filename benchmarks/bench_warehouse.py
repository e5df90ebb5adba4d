"""`rankone.analyse` of rows in a DuckDB file: time and memory beside the plain GROUP BY, each in a process of its own.

``python -m benchmarks.bench_warehouse 100000000`` takes as many rows. Both commands begin with an empty cache of DuckDB,
and both times are of the counting, without what Python takes to start.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

ROWS, TRIES = 10_000_000, 3
_MAKE = """create table visits as select 'headline ' || (hash(i) % 8) as headline, 'image ' || (hash(i + 1) % 5) as image,
    hash(i + 2) % 1000 < 50 + hash(i) % 8 as clicked, timestamp '2026-01-01' + to_milliseconds(i * 100) as seen
    from range({rows}) t(i)"""
_START = """
import json, sys, time
from benchmarks.usage import peak_megabytes
import duckdb, rankone
from rankone.clicks.counts.factor_counts import as_factor_counts
as_factor_counts(([[10, 20], [30, 40]], [[1, 2], [3, 4]]))
import narwhals, polars, pyarrow
before, began = peak_megabytes(), time.perf_counter()
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    connection.execute("set enable_progress_bar = false")
"""
_GROUP_BY = """
    query = "select headline, image, seen::date, count(*), sum(clicked::int) from visits group by all"
    found = sum(row[3] for row in connection.sql(query).fetchall())
"""
_ANALYSE = """
    found = int(as_factor_counts(connection.sql("from visits")).shown.sum())
"""
_WHOLE = """
    found = int(rankone.analyse(connection.sql("from visits")).counts.shown.sum())
"""
_END = """
print(json.dumps([found, time.perf_counter() - began, peak_megabytes(), before]))
"""


def run(job: str, file: Path) -> tuple[float, float, float]:
    """Return seconds, the peak of memory and what of it Python and its modules took, the quickest of some tries."""
    tries = []
    for _ in range(TRIES):
        done = subprocess.run(
            [sys.executable, "-c", _START + job + _END, file], capture_output=True, check=True, text=True
        )
        tries.append(json.loads(done.stdout))
    return min((seconds, peak, before) for _, seconds, peak, before in tries)


def report(rows: int = ROWS) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "visits.duckdb")
        with duckdb.connect(file) as connection:
            connection.execute(_MAKE.format(rows=rows))
        jobs = {"plain GROUP BY": _GROUP_BY, "counts of `analyse`": _ANALYSE, "`analyse`, with its tests": _WHOLE}
        measured = {name: run(job, file) for name, job in jobs.items()}
        size = file.stat().st_size / 2**20
    first = measured["plain GROUP BY"][0]
    lines = [f"{rows:,} rows in DuckDB ({size:,.0f} MB), 8 x 5 levels, by day:", ""]
    lines += ["| what | seconds | of GROUP BY's | MB at most | of these before it began |", "|---|---|---|---|---|"]
    lines += [
        f"| {name} | {seconds:.2f} | {seconds / first:.2f} | {peak:,.0f} | {before:,.0f} |"
        for name, (seconds, peak, before) in measured.items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS))
