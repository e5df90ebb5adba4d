"""The rows of a table as levels and numbers: sums among them are left out, what cannot be counted is refused."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rankone.clicks.counts.column_values import days_of, numbers_of, unclear_number
from rankone.clicks.counts.counts import as_names
from rankone.clicks.counts.factor_columns import FactorColumns
from rankone.errors import InputError

_TOTALS = (
    "total", "totals", "grand total", "subtotal", "all", "(all)", "sum", "overall", "gesamt", "summe", "insgesamt",
)  # fmt: skip


def level_names(found: FactorColumns) -> list[str]:
    """Return what the columns of levels are called in the rows, whatever they are called in the table."""
    return [f"factor {place}" for place in range(len(found.factors))]


def read_rows(table: pl.DataFrame, found: FactorColumns) -> pl.DataFrame:
    """Return levels as texts ("factor 0", ...), clicks and impressions as numbers, and when a row was counted."""
    for column in (found.shown, found.clicked):
        if column is not None and (unclear := unclear_number(table[column])) is not None:
            got = f"'{unclear}', which may be {unclear.partition('.')[0]} or {unclear.replace('.', ',')}"
            raise InputError(f"whole numbers in column '{column}'", got, "write them without points")
    levels = [
        expression.str.strip_chars().fill_null("").alias(name)
        for name, expression in zip(level_names(found), as_names(table.schema, found.factors), strict=True)
    ]
    when: pl.Series | pl.Expr = pl.lit(None, pl.String)
    if found.slice is not None:
        days = days_of(table[found.slice])
        when = table[found.slice].cast(pl.String) if days is None else days
    return table.select(
        *levels,
        numbers_of(table[found.clicked]).alias("clicked"),
        (pl.lit(1.0) if found.shown is None else numbers_of(table[found.shown])).alias("shown"),
        when.alias("slice"),
        pl.int_range(1, pl.len() + 1).alias("row"),
    )


def without_totals(rows: pl.DataFrame, found: FactorColumns) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Leave out rows that are sums of others, called Total or without levels; only if their numbers add up."""
    if found.shown is None:
        return rows, ()
    names = level_names(found)
    called = [pl.col(name).str.to_lowercase().str.strip_chars(" :").is_in(_TOTALS) for name in names]
    empty = [pl.col(name) == "" for name in names]
    marked = rows.with_columns(sum=pl.any_horizontal(called) | pl.all_horizontal(empty))
    sums, others = marked.filter(pl.col("sum")), marked.filter(~pl.col("sum"))
    if sums.is_empty() or others.is_empty():
        return rows, ()
    right = pl.Series([_adds_up(row, others, names) for row in sums.to_dicts()])
    added, wrong = sums.filter(right), sums.filter(~right).filter(pl.any_horizontal(called))
    notes = []
    if not added.is_empty():
        notes.append(f"Left out because it is the sum of other rows: {_some(added, names)}.")
    if not wrong.is_empty():
        notes.append(f"Taken as a level, as it is not the sum of the other rows: {_some(wrong, names)}.")
    return marked.filter(~pl.col("row").is_in(added["row"].to_list())).drop("sum"), tuple(notes)


def _adds_up(row: dict[str, object], others: pl.DataFrame, names: Sequence[str]) -> bool:
    """Whether a row has the sums of those that share its levels."""
    same = [
        pl.col(name) == row[name]
        for name in names
        if row[name] != "" and str(row[name]).lower().strip(" :") not in _TOTALS
    ]
    part = others.filter(same) if same else others
    whole = part["shown"].sum() == row["shown"] and part["clicked"].sum() == row["clicked"]
    return bool(whole) and part.height > 0


def _some(rows: pl.DataFrame, names: Sequence[str]) -> str:
    """Name rows by their number and the first level they have."""
    told = [
        f"row {row['row']}" + next((f" ('{row[name]}')" for name in names if row[name]), "")
        for row in rows.head(3).to_dicts()
    ]
    return ", ".join(told) + (", ..." if rows.height > 3 else "")


def check_rows(rows: pl.DataFrame, table: pl.DataFrame, found: FactorColumns) -> None:
    """Refuse the first row that cannot be counted."""

    def first(wrong: pl.Series) -> int | None:
        return int(rows["row"].filter(wrong)[0]) if wrong.any() else None

    for place, name in enumerate(found.factors):
        if (wrong := first(rows[f"factor {place}"] == "")) is not None:
            raise InputError(f"a level in column '{name}' of every row", f"none in row {wrong}", "fill it in")
    for what, column in (("shown", found.shown), ("clicked", found.clicked)):
        wrong = first(~((rows[what] >= 0.0) & (rows[what] == rows[what].floor())).fill_null(False))
        if wrong is not None and column is not None:
            got = f"'{table[column][wrong - 1]}' in row {wrong}"
            raise InputError(f"whole numbers from 0 in column '{column}'", got, "correct it, or name another column")
    if (wrong := first(rows["clicked"] > rows["shown"])) is not None:
        counts = rows.filter(pl.col("row") == wrong).row(0, named=True)
        got = f"{counts['clicked']:g} of {counts['shown']:g} in row {wrong}"
        do = (
            "check which column is which"
            if found.shown
            else f"name the column of impressions: shown='...' ({found.clicked} holds counts)"
        )
        raise InputError("at most as many clicks as impressions", got, do)
