"""Outcomes and clicks of every pair of a table: from arrays, from a query of a click log, from a file of counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from rankone.clicks.counts.counts import Counts, as_names, position_title
from rankone.clicks.counts.dispersion import Dispersion, estimated_dispersion
from rankone.clicks.counts.frames import ONLY_QUERY
from rankone.clicks.counts.table_files import header_of, read_table
from rankone.errors import InputError
from rankone.notebook import index_names
from rankone.numerics.arrays import Ints

#: Names that the columns of a file of counts may have.
COLUMNS = {
    "query": ("query",),
    "row": ("row", "item"),
    "col": ("col", "column", "position"),
    "shown": ("shown", "impressions", "outcomes"),
    "clicks": ("clicks", "clicked"),
}


class PairCounts(NamedTuple):
    """How often each pair was shown (and its outcome known) and clicked, (K, L) arrays, with names of the levels."""

    name: str
    row_names: Sequence[str]
    col_names: Sequence[str]
    pulls: Ints
    clicks: Ints
    repeats: Dispersion | None = None  # as estimated from rows of the same pair


def as_pair_counts(
    shown: object,
    clicked: object,
    *,
    row_names: Sequence[str] | None = None,
    col_names: Sequence[str] | None = None,
    name: str = ONLY_QUERY,
) -> PairCounts:
    """Name the levels of two (K, L) arrays of counts; frames of pandas are named by their index and columns.

    >>> as_pair_counts([[10, 20]], [[1, 5]]).col_names
    ['col 1', 'col 2']
    """
    try:
        pulls, clicks = np.asarray(shown, np.float64), np.asarray(clicked, np.float64)
    except (TypeError, ValueError):
        raise InputError("two tables of numbers", "something else", "pass lists of lists or (K, L) arrays") from None
    if pulls.ndim != 2 or pulls.shape != clicks.shape or not pulls.size:
        shapes = f"shapes {pulls.shape} and {clicks.shape}"
        raise InputError("two tables of the same K rows and L columns", shapes, "count every pair in both")
    row_names = row_names or index_names(shown) or [f"row {place + 1}" for place in range(pulls.shape[0])]
    col_names = col_names or index_names(shown, "columns") or [f"col {place + 1}" for place in range(pulls.shape[1])]
    whole = (pulls == np.floor(pulls)) & (clicks == np.floor(clicks))  # NaN is not
    wrong = np.argwhere(~(whole & (clicks >= 0) & (clicks <= pulls)))
    if len(wrong):
        row, col = wrong[0]
        got = f"{clicks[row, col]:g} of {pulls[row, col]:g} for '{row_names[row]}' with '{col_names[col]}'"
        raise InputError("whole numbers with 0 <= clicked <= shown", got, "pass counts, shown first")
    if not pulls.any():
        raise InputError("at least one outcome", "none" if name == ONLY_QUERY else f"none of '{name}'", "wait for some")
    return PairCounts(name, row_names, col_names, pulls.astype(np.int64), clicks.astype(np.int64))


def query_counts(counts: Counts, query: str) -> PairCounts:
    """Return one query of a click log: rows are its items, columns its positions."""
    cells = counts.cells.filter(pl.col("query") == query)
    titles = {place: position_title(counts.position_names, place) for place in cells["position"].unique()}
    named = cells.with_columns(pl.col("position").replace_strict(titles, return_dtype=pl.String))
    return _pivoted(query, named["item"], named["position"], cells["impressions"], cells["clicks"])


def read_pair_counts(path: str | Path) -> list[PairCounts]:
    """Read a file of counts (.csv, .tsv or .parquet), one row per pair: row, col, shown, clicks and perhaps query.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "counts.csv")
    >>> _ = file.write_text("row,col,shown,clicks\\nA,x,10,3\\nA,y,20,4\\nB,x,5,0\\n")
    >>> read_pair_counts(file)[0].pulls.tolist()
    [[10, 20], [5, 0]]
    """
    path = Path(path)
    table = read_table(path)
    found = _columns(table.columns)
    lacking = [f"{what} ({' or '.join(COLUMNS[what])})" for what in COLUMNS if what not in found and what != "query"]
    if lacking:
        do = "name the columns row, col, shown, clicks"
        raise InputError(f"a column of {lacking[0]}", f"none in {path.name}", do)
    table = table.select(pl.col(column).alias(what) for what, column in found.items())
    table = table.with_columns(
        *as_names(table.schema, [what for what in ("query", "row", "col") if what in found]),
        pl.col("shown", "clicks").cast(pl.Float64, strict=False),
    )
    if "query" not in found:
        table = table.with_columns(query=pl.lit(ONLY_QUERY))
    if sum(table.null_count().row(0)):
        raise InputError(
            "a name and a number in every row", f"missing ones in {path.name}", "fill in or leave out rows"
        )
    return [_added_up(str(query), part) for (query,), part in table.group_by("query", maintain_order=True)]


def _added_up(name: str, rows: pl.DataFrame) -> PairCounts:
    """Add up the rows of each pair; how much they scatter is the dispersion."""
    pair = rows.select(pl.struct("row", "col").rank("dense") - 1).to_series().to_numpy().astype(np.int64)
    scatter = estimated_dispersion(pair, None, rows["shown"].to_numpy(), rows["clicks"].to_numpy())
    table = rows.group_by("row", "col", maintain_order=True).agg(pl.col("shown", "clicks").sum())
    found = _pivoted(name, table["row"], table["col"], table["shown"], table["clicks"])
    return found._replace(repeats=scatter)


def holds_pair_counts(path: str | Path) -> bool:
    """Whether a file looks like counts of pairs, perhaps incomplete, rather than like a log of impressions."""
    plain = Path(path).suffix in (".csv", ".tsv", ".parquet")
    return plain and {"row", "col", "shown"} <= _columns(header_of(path)).keys()


def _pivoted(name: str, rows: pl.Series, cols: pl.Series, shown: pl.Series, clicks: pl.Series) -> PairCounts:
    """Lay counts of pairs out as a table; levels stand in the order in which they come."""
    names = [side.unique(maintain_order=True) for side in (rows, cols)]
    places = tuple(
        side.replace_strict(known, np.arange(len(known)), return_dtype=pl.Int64).to_numpy()
        for side, known in zip((rows, cols), names, strict=True)
    )
    tables = np.zeros((2, len(names[0]), len(names[1])))
    for table, numbers in zip(tables, (shown, clicks), strict=True):
        table[places] = numbers.to_numpy()
    row_names, col_names = (side.to_list() for side in names)
    return as_pair_counts(tables[0], tables[1], row_names=row_names, col_names=col_names, name=name)


def _columns(header: Sequence[str]) -> dict[str, str]:
    """Return which column of a file holds what."""
    return {
        what: next(name for name in names if name in header)
        for what, names in COLUMNS.items()
        if any(name in header for name in names)
    }
