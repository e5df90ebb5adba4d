"""Counting any dataframe where it lives: pandas, Polars (eager or lazy), DuckDB relations, PySpark, through narwhals.

Only the counts leave the engine; the rows stay where they are.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import narwhals as nw
import polars as pl

from rankone.clicks.counts.counter import tails_of_rows
from rankone.clicks.counts.counts import CELL, MOST_POSITIONS, Counts
from rankone.clicks.logs.long_tables import (
    NO_OUTCOME,
    NO_PLACE,
    NO_POSITION,
    hint,
    missing_texts,
    pooled,
    reason_text,
)
from rankone.clicks.logs.read_report import ReadReport
from rankone.errors import InputError, MissingExtra
from rankone.specs import number_in
from rankone.wording.numbers import percent

#: The query of a log that has none.
ONLY_QUERY = "all"
_TOO_LARGE = 2.0**63  # for a whole number of 64 bits


def count(
    frame: Any,
    *,
    item: str,
    position: str,
    clicked: str,
    query: str | None = None,
    list: str | None = None,
    strict: bool = False,
    max_bad: float = 0.01,
    missing: str | Iterable[str] | None = None,
) -> Counts:
    """Count a long table with one row per impression.

    Args:
        frame: any dataframe that narwhals knows; it is counted by its own engine.
        item: column of the item shown.
        position: column of the position: whole numbers from 1, or names, if no lists are named.
        clicked: column of the outcome, 0/1 or true/false.
        query: column of the query; without one, all rows are one query.
        list: column that names the result list of a row (of its query: two queries may use the same name); needed by
            the models that look at the clicks above (`ClickModel.needs_lists`). An item that a list shows twice counts
            at its first place. Of frames in memory the tails of lists are counted too.
        strict: refuse the first row that cannot be used.
        max_bad: refuse a frame with a larger share of rows that cannot be used (missing values, positions below 1).
        missing: texts that stand for a missing query, item or list; by default ``-``, ``\\N``, ``NULL`` and ``NaN``, as
            in files. Nothing at all is always missing.

    >>> frame = pl.DataFrame({"doc": ["a", "b", "a"], "rank": [1, 2, 2], "click": [1, 0, 1]})
    >>> count(frame, item="doc", position="rank", clicked="click").cells.rows()
    [('all', 'a', 1, 1, 1), ('all', 'a', 2, 1, 1), ('all', 'b', 2, 1, 0)]
    """
    columns = {"query": query, "item": item, "position": position, "clicked": clicked, "list": list}
    wanted = {name: column for name, column in columns.items() if column is not None}
    table = nw.maybe_reset_index(known_frame(frame))  # pandas joins by its index, and labels may repeat
    if table.implementation.is_pyarrow():  # has no window functions; Polars takes its memory over as it is
        table = nw.from_native(pl.from_arrow(frame))
    schema = table.collect_schema()
    _check_columns(schema, wanted, ())
    named = schema[position] in (nw.String, nw.Categorical, nw.Enum) and list is None
    _check_columns(schema, {}, (clicked,) if named else (position, clicked))
    table = table.select(**{name: nw.col(column) for name, column in wanted.items()})
    if query is None:
        table = table.with_columns(query=nw.lit(ONLY_QUERY))
    if schema[clicked] == nw.Boolean:
        table = table.with_columns(clicked=nw.when(~nw.col("clicked").is_null()).then(as_number(nw.col("clicked"))))
    number_in("max_bad", max_bad, "[0, 1]", example=0.01)
    report = ReadReport(format="dataframe")
    if query is None:
        report.note(pooled([*schema], wanted, ONLY_QUERY))
    kinds = table.collect_schema()
    conditions = _conditions(kinds, missing_texts(missing))
    table = table.with_columns(usable=nw.all_horizontal(*(fine for _, fine in conditions.values()), ignore_nulls=False))
    totals = to_polars(table.select(rows=nw.len(), good=as_number(nw.col("usable")).sum()))
    report.rows, good = (int(number or 0) for number in totals.row(0))  # sums are decimals in DuckDB
    report.rows_quarantined = report.rows - good
    if report.rows_quarantined:
        report.reasons = _reasons(table, conditions)
        if strict or report.bad_share > max_bad:
            limit = "no unusable rows (strict)" if strict else f"at most {percent(max_bad)} unusable rows"
            worst = report.worst
            what, fine = conditions[worst]
            first = to_polars(table.filter(~fine).select(what).head(1)).item()
            value = None if first is None else str(first)
            got = f"{report.rows_quarantined:,} of {report.rows:,} rows (mostly: {reason_text(worst, value)})"
            raise InputError(limit, got, f"{hint(worst, value)}, or raise max_bad")
    numbered = [name for name in ("query", "item") if _has_fractions(kinds[name])]
    table = table.filter(nw.col("usable")).with_columns(nw.col(name).cast(nw.Int64) for name in numbered)
    table = table.with_columns(nw.col("query", "item", *(["position"] if named else [])).cast(nw.String))
    cells = count_rows(table, with_lists=list is not None)
    report.add("duplicate items", good - int(cells["impressions"].sum()))
    if list is None:
        return Counts(cells, report)
    add_lists(table, report)
    return Counts(cells, report, tails=tails_of_rows(to_polars(table)) if isinstance(table, nw.DataFrame) else None)


def _check_columns(schema: Mapping[str, Any], wanted: Mapping[str, str], numbers: Iterable[str]) -> None:
    for name, column in wanted.items():
        if column not in schema:
            raise InputError(f"a column '{column}' ({name})", f"the columns {', '.join(schema)}", f"pass {name}='...'")
    for column in numbers:
        if not (schema[column].is_numeric() or schema[column] == nw.Boolean):
            raise InputError(f"numbers in column '{column}'", str(schema[column]), "cast it to whole numbers")


def add_lists(table: Any, report: ReadReport) -> None:
    """Add to an account how many lists there are, and how many show an item below a place that has no row."""
    table = table.with_columns(nw.col("position").cast(nw.Int64))
    last, places = nw.col("position").max().alias("last"), nw.col("position").n_unique().alias("places")
    lists = table.group_by("query", "list").agg(last, places)
    gaps = as_number(nw.col("last") > nw.col("places")).sum()
    sums = to_polars(lists.select(nw.len(), gaps=gaps)).row(0)
    for name, number in zip(("lists", "lists with gaps"), sums, strict=True):
        report.add(name, int(number or 0))


def known_frame(frame: Any) -> Any:
    """Return any dataframe that narwhals knows, as one of narwhals'."""
    try:
        return nw.from_native(frame)
    except TypeError:
        kinds = "a pandas, Polars, DuckDB or PySpark frame"
        raise InputError(kinds, type(frame).__name__, "make it a dataframe first") from None


def _conditions(kinds: Mapping[str, Any], missing: list[str]) -> dict[str, tuple[str, nw.Expr]]:
    """What a row needs in order to be counted: by the reason to set it aside, the column and its condition.

    Numbers that are names may be floats (as pandas has them beside gaps), but whole ones.
    """
    needed: dict[str, tuple[str, nw.Expr]] = {}
    for name in ("query", "item", "list"):
        if name in kinds:
            value, fractions = nw.col(name), _has_fractions(kinds[name])
            there = ~value.is_null()
            if fractions:
                there &= value.abs() < _TOO_LARGE  # which a NaN is not
            elif not kinds[name].is_numeric():
                there &= ~(value if kinds[name] == nw.String else value.cast(nw.String)).is_in(missing)
            needed[f"the {name} is missing"] = (name, there)
            if fractions and name in ("query", "item"):
                needed[f"the {name} is no whole number"] = (name, value == value.round(0))
    position, outcome = nw.col("position"), nw.col("clicked")
    if not kinds["position"].is_numeric() and kinds["position"] != nw.Boolean:  # names
        needed[NO_PLACE] = ("position", ~position.cast(nw.String).is_in(missing) & ~position.is_null())
    else:
        inside = (position >= 1) & (position <= MOST_POSITIONS)
        if _has_fractions(kinds["position"]):
            inside &= position == position.round(0)
        needed[NO_POSITION] = ("position", inside)
    needed[NO_OUTCOME] = ("clicked", (outcome == 0) | (outcome == 1))
    return {reason: (name, fine.fill_null(False)) for reason, (name, fine) in needed.items()}


def _reasons(table: Any, conditions: Mapping[str, tuple[str, nw.Expr]]) -> dict[str, int]:
    so_far, numbers = nw.lit(True), {}
    for index, (_, fine) in enumerate(conditions.values()):
        numbers[f"reason {index}"] = as_number(so_far & ~fine).sum()
        so_far = so_far & fine
    sums = to_polars(table.select(**numbers)).row(0)
    return {reason: int(number) for reason, number in zip(conditions, sums, strict=True) if number}


def _has_fractions(kind: Any) -> bool:
    return bool(kind.is_numeric() and not kind.is_integer())


def count_rows(table: Any, with_lists: bool) -> pl.DataFrame:
    """Count usable rows (query, item, position, clicked and, with lists, list) by the engine that holds them."""
    numbers = ["clicked"] if table.collect_schema()["position"] == nw.String else ["position", "clicked"]
    table = table.with_columns(nw.col(*numbers).cast(nw.Int64))
    keys = CELL
    sums = [nw.len().alias("impressions"), nw.col("clicked").sum().alias("clicks")]
    if with_lists:
        table = _with_neighbours(table)
        keys = [*CELL, "previous"]
        sums += [nw.col("examined").sum(), nw.col("last_click").sum().alias("last_clicks")]
    return to_polars(table.group_by(keys).agg(*sums))


def _with_neighbours(table: Any) -> Any:
    """Add to each row the position of the click before it in its list, and whether it is at or above the last click."""
    whole_list = ("query", "list")
    in_order = ("position", "item")  # two items at one position: the same order on every engine
    one_item = [*whole_list, "item"]
    table = table.with_columns(
        position=nw.col("position").min().over(*one_item), clicked=nw.col("clicked").max().over(*one_item)
    ).unique(one_item, keep="any")
    table = table.with_columns(mark=nw.col("clicked") * nw.col("position"))
    table = table.with_columns(
        before=nw.col("mark").shift(1).over(*whole_list, order_by=in_order).fill_null(0),
        last=nw.col("mark").max().over(*whole_list),
    )
    table = table.with_columns(previous=nw.col("before").cum_max().over(*whole_list, order_by=in_order))
    position, last = nw.col("position"), nw.col("last")
    return table.with_columns(
        examined=as_number((last == 0) | (position <= last)),
        last_click=as_number((last > 0) & (position == last)),
    )


def as_number(true: nw.Expr) -> nw.Expr:
    """Return 1 where something is true, and else 0; PostgreSQL casts no truth to a number."""
    return nw.when(true).then(nw.lit(1)).otherwise(nw.lit(0))


def to_polars(table: Any) -> pl.DataFrame:
    """Return a frame of narwhals' as one of Polars'."""
    if isinstance(table, pl.DataFrame):
        return table
    if table.implementation.is_pandas():  # Polars would ask for pyarrow, which pandas does without
        return pl.DataFrame([_column(table[name]) for name in table.columns])
    pieces = {"engine": "streaming"} if table.implementation.is_polars() else {}  # a log may be larger than memory
    try:
        return (table.collect("polars", **pieces) if isinstance(table, nw.LazyFrame) else table).to_polars()
    except ImportError:
        raise MissingExtra(f"a frame of {table.implementation.value}", "frames") from None


def _column(series: Any) -> pl.Series:
    """Copy a column of pandas; its gaps have many values (None, NaN, NA) and are all None here."""
    gaps = series.is_null()
    if series.dtype.is_numeric() and not gaps.any():
        return pl.Series(series.name, series.to_numpy())
    values = [None if gap else value for value, gap in zip(series.to_list(), gaps.to_list(), strict=True)]
    text = series.dtype in (nw.String, nw.Categorical)
    return pl.Series(series.name, values, pl.String if text else None, strict=False)
