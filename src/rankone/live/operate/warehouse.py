"""Tables of a warehouse: an experiment's decisions and its verdict go out, outcomes that come later come in.

Orders from elsewhere, say, are joined with decisions by visitor.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from rankone.clicks.counts.sql_tables import write_rows
from rankone.errors import InputError
from rankone.live.database import Database
from rankone.live.messages import MAX_BATCH, Request, Track
from rankone.live.operate.export import decisions_table
from rankone.live.report.report import Report
from rankone.writing import PRIVATE, whole_file

_SAID = ("name", "headline", "decided", "confidence", "stopped")
_SOURCE = "import-outcomes"


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


def import_outcomes(
    do: Callable[[Sequence[Request]], list[Any]],
    table: pl.DataFrame,
    goal: str,
    *,
    visitor: str,
    key: str,
    value: str | None = None,
    token: str | None = None,
) -> tuple[dict[str, int], list[str]]:
    """Tell the outcomes of a table, a row each; return how many got which status, and what was wrong with rows.

    A row counts for the latest decision of its visitor, once: its key makes an import safe to repeat.

    Args:
        do: carries out requests: `Experiment.do`.
        table: the rows.
        goal: what the outcomes are of: a goal of the experiment, or "click".
        visitor: column of the visitors, by the names with which decisions were asked.
        key: column that names each row, such as the order's number.
        value: column of amounts or counts; None: each row is one.
        token: the id of the token that asked a service for the decisions, if there was one.
    """
    columns = [visitor, key, *([] if value is None else [value])]
    if missing := [name for name in columns if name not in table.columns]:
        raise InputError(f"No column '{missing[0]}':", f"there are {', '.join(table.columns)}", "name one of them")
    statuses: Counter[str] = Counter()
    wrong: list[str] = []
    for first in range(0, table.height, MAX_BATCH):
        rows = table.select(columns)[first : first + MAX_BATCH].rows()
        read = [_track(row, columns, goal, token) for row in rows]
        answers = iter(do([each for each in read if isinstance(each, Track)]))
        for number, each in enumerate(read, start=first + 1):
            answer = next(answers) if isinstance(each, Track) else each
            statuses["refused" if isinstance(answer, Exception) else answer.status] += 1
            if isinstance(answer, Exception):
                wrong.append(f"Row {number}: {answer}")
    return dict(statuses), wrong


def _track(row: tuple[Any, ...], columns: Sequence[str], goal: str, token: str | None) -> Track | InputError:
    """Return what a row tells, or what is wrong with it."""
    visitor, key, *amount = row
    for name, told in zip(columns, (visitor, key), strict=False):
        if told is None or str(told) == "":
            return InputError(f"something in column '{name}'", "nothing", "fill it in, or leave out the row")
    try:
        said = float(amount[0]) if amount and amount[0] not in (None, "") else None
    except (TypeError, ValueError):
        return InputError(f"a number in column '{columns[2]}'", repr(amount[0]), "write it like 12.5")
    return Track(str(visitor), goal, said, str(key), _SOURCE, token)
