"""Outcomes and clicks of every pair of two factors: from a query of a click log, from a file of counts."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from rankone.clicks.counts.counts import Counts, as_names, position_title
from rankone.clicks.counts.dispersion import estimated_dispersion
from rankone.clicks.counts.factor_counts import FactorCounts, as_pair_counts
from rankone.clicks.counts.frames import ONLY_QUERY
from rankone.clicks.counts.table_files import header_of, read_table
from rankone.errors import InputError

#: Names that the columns of a file of counts may have.
COLUMNS = {
    "query": ("query",),
    "row": ("row", "item"),
    "col": ("col", "column", "position"),
    "shown": ("shown", "impressions", "outcomes"),
    "clicks": ("clicks", "clicked"),
}


def query_counts(counts: Counts, query: str) -> FactorCounts:
    """Return one query of a click log: rows are its items, columns its positions."""
    cells = counts.cells.filter(pl.col("query") == query)
    titles = {place: position_title(counts.position_names, place) for place in cells["position"].unique()}
    named = cells.with_columns(pl.col("position").replace_strict(titles, return_dtype=pl.String))
    return _pivoted(query, named["item"], named["position"], cells["impressions"], cells["clicks"])


def read_pair_counts(path: str | Path) -> list[FactorCounts]:
    """Read a file of counts (.csv, .tsv or .parquet), one row per pair: row, col, shown, clicks and perhaps query.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "counts.csv")
    >>> _ = file.write_text("row,col,shown,clicks\\nA,x,10,3\\nA,y,20,4\\nB,x,5,0\\n")
    >>> read_pair_counts(file)[0].shown.tolist()
    [10, 20, 5]
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


def _added_up(name: str, rows: pl.DataFrame) -> FactorCounts:
    """Add up the rows of each pair; how much they scatter is the dispersion."""
    pair = rows.select(pl.struct("row", "col").rank("dense") - 1).to_series().to_numpy().astype(np.int64)
    scatter = estimated_dispersion(pair, None, rows["shown"].to_numpy(), rows["clicks"].to_numpy())
    table = rows.group_by("row", "col", maintain_order=True).agg(pl.col("shown", "clicks").sum())
    return _pivoted(name, table["row"], table["col"], table["shown"], table["clicks"])._replace(repeats=scatter)


def holds_pair_counts(path: str | Path) -> bool:
    """Whether a file looks like counts of pairs, perhaps incomplete, rather than like a log of impressions."""
    plain = Path(path).suffix in (".csv", ".tsv", ".parquet")
    return plain and {"row", "col", "shown"} <= _columns(header_of(path)).keys()


def _pivoted(name: str, rows: pl.Series, cols: pl.Series, shown: pl.Series, clicks: pl.Series) -> FactorCounts:
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
