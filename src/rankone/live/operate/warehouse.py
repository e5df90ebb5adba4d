"""An experiment as tables of a warehouse: its decisions with their outcomes, and its verdict, a row for each level."""

import re
from pathlib import Path

import polars as pl

from rankone.clicks.counts.sql_tables import write_rows
from rankone.errors import InputError
from rankone.live.database import Database
from rankone.live.operate.export import decisions_table
from rankone.live.report.report import Report
from rankone.writing import PRIVATE, whole_file

_SAID = ("name", "headline", "decided", "confidence", "stopped")


def verdict_table(report: Report) -> pl.DataFrame:
    """Return what is known of each level of an experiment, with its headline."""
    said = {"experiment" if field == "name" else field: pl.lit(getattr(report, field)) for field in _SAID}
    levels = pl.DataFrame(report._tables()["levels"], strict=False, infer_schema_length=None)
    return levels.select(*(value.alias(field) for field, value in said.items()), pl.all())


def write_tables(
    database: Database,
    report: Report,
    to: str,
    table: str | None = None,
    *,
    archive: Path | None = None,
    rest: bool = False,
) -> dict[str, int]:
    """Write an experiment to a database, or as Parquet files to a folder; return how many rows each table got.

    Tables of these names are replaced.
    """
    prefix = re.sub(r"\W+", "_", report.name) if table is None else table
    tables = {
        f"{prefix}_decisions": decisions_table(database, report.name, archive=archive, rest=rest),
        f"{prefix}_verdict": verdict_table(report),
    }
    for title, rows in tables.items():
        if "://" in to:
            write_rows(rows, to, title)
            continue
        if not Path(to).is_dir():
            raise InputError("a folder, or the address of a database", to, "make the folder, or try duckdb:///file")
        with whole_file(Path(to, f"{title}.parquet"), mode=PRIVATE) as part:
            rows.write_parquet(part)
    return {title: rows.height for title, rows in tables.items()}
