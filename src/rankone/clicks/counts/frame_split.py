"""A dataframe as counts to fit on and lists to evaluate on, as `read_split` does it with files."""

from __future__ import annotations

from typing import Any

import polars as pl

from rankone.clicks.counts.counts import Counts, as_names
from rankone.clicks.counts.frames import ONLY_QUERY, count, known_frame, to_polars
from rankone.errors import InputError
from rankone.numerics.seeds import generator


def count_split(
    frame: Any,
    *,
    item: str,
    position: str,
    clicked: str,
    query: str | None = None,
    list: str | None = None,
    holdout: float = 0.25,
    seed: int = 0,
    max_bad: float = 0.01,
) -> tuple[Counts, pl.DataFrame]:
    """Count a part of a long table, and hold out the rest: whole lists, or single rows where no lists are named.

    The columns are named as in `count`; what is held out has the columns list, query, item, position and clicked, as
    `evaluate` and `compare_models` take it. Rows that cannot be used are in neither.

    >>> frame = pl.DataFrame({"serp": [1, 1, 2, 2, 3, 3, 4, 4], "doc": ["a", "b"] * 4, "rank": [1, 2] * 4,
    ...                       "click": [1, 0, 0, 1, 0, 0, 1, 0]})
    >>> counts, held_out = count_split(frame, item="doc", position="rank", clicked="click", list="serp")
    >>> counts.impressions, held_out["list"].n_unique()
    (6, 1)
    """
    if not 0.0 < holdout < 1.0:
        raise InputError("a holdout between 0 and 1", holdout, "try holdout=0.25")
    table = to_polars(known_frame(frame))
    wanted = {"query": query, "item": item, "position": position, "clicked": clicked, "list": list}
    named = {what: column for what, column in wanted.items() if column is not None}
    for what, column in named.items():
        if column not in table.columns:
            got = f"the columns {', '.join(table.columns)}"
            raise InputError(f"a column '{column}' ({what})", got, f"pass {what}='...'")
    keys = [column for column in (query, list) if column is not None] if list is not None else None
    number = pl.struct(keys).rank("dense") - 1 if keys else pl.int_range(pl.len())
    numbers = table.select(number.cast(pl.Int64).alias("number"))["number"]
    total = int(numbers.n_unique())
    chosen = generator(seed, "hold out of a frame").permutation(total)[: round(holdout * total)]
    if not 0 < len(chosen) < total:
        raise InputError("lists to fit on and lists to hold out", f"{total} in all", "take more, or another holdout")
    held = numbers.is_in(pl.Series(chosen).implode())
    columns: dict[str, Any] = {what: named.get(what) for what in ("item", "position", "clicked", "query", "list")}
    counts = count(table.filter(~held), **columns, max_bad=max_bad)
    rows = table.with_columns(numbers.alias("__list")).filter(held)
    rows = rows.select(
        pl.col("__list").alias("list"),
        *(expression.alias("query") for expression in as_names(table.schema, [query] if query else [])),
        *([] if query else [pl.lit(ONLY_QUERY).alias("query")]),
        *(expression.alias("item") for expression in as_names(table.schema, [item])),
        pl.col(position).alias("position"),
        pl.col(clicked).cast(pl.Int64, strict=False).alias("clicked"),
    )
    if counts.position_names:
        places = {name: place for place, name in enumerate(counts.position_names, 1)}
        rows = rows.with_columns(pl.col("position").replace_strict(places, default=None, return_dtype=pl.Int64))
    rows = rows.with_columns(pl.col("position").cast(pl.Int64, strict=False)).drop_nulls()
    return counts, rows.filter((pl.col("position") >= 1) & pl.col("clicked").is_between(0, 1))
