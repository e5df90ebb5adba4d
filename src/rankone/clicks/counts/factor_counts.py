"""Impressions and clicks of every combination of levels, of any number of factors: from any table or arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Floats, Ints
from rankone.clicks.counts.counts import Counts
from rankone.clicks.counts.dispersion import Dispersion, estimated_dispersion
from rankone.clicks.counts.factor_columns import FactorColumns, find_factor_columns
from rankone.clicks.counts.factor_rows import check_rows, level_names, read_rows, without_totals
from rankone.clicks.counts.frames import known_frame, to_polars
from rankone.clicks.counts.pair_counts import PairCounts, as_pair_counts
from rankone.clicks.counts.table_files import header_of
from rankone.errors import InputError
from rankone.notebook import index_names

#: What `rankone export` writes of a decision, as far as it is counted, besides what was shown.
_EXPORT = {"clicked", "learned", "outcome"}
_QUOTED = r"""((?:^|;)[" ]*)'([=+\-@\t\r])"""  # what `rankone export` puts in front of formulas


class FactorCounts(NamedTuple):
    """Counts of combinations: `cells` (combinations, factors) numbers the levels of each factor from 0."""

    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    cells: Ints
    shown: Ints
    clicked: Ints
    repeats: Dispersion | None = None  # as estimated from rows of the same combination
    adaptive: bool = False  # a policy chose what was shown by what had been clicked
    notes: tuple[str, ...] = ()
    columns: FactorColumns | None = None  # of the table they were read from

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each factor."""
        return tuple(len(names) for names in self.levels)

    def pair(self, name: str) -> PairCounts:
        """Two factors as a table of pairs."""
        pulls, clicks = np.zeros((2, *self.sizes), np.int64)
        pulls[tuple(self.cells.T)], clicks[tuple(self.cells.T)] = self.shown, self.clicked
        return PairCounts(name, self.levels[0], self.levels[1], pulls, clicks, self.repeats)


def as_factor_counts(
    data: Any,
    *,
    factors: Sequence[str] = (),
    shown: str | None = None,
    clicked: str | None = None,
    slice: str | None = None,
) -> FactorCounts:
    """Return the counts in a dataframe, a pair of arrays (shown, clicked), or what other functions counted.

    >>> counts = as_factor_counts(([[10, 20], [30, 40]], [[1, 2], [3, 4]]))
    >>> counts.factors, counts.levels[0], counts.clicked.tolist()
    (('row', 'col'), ('row 1', 'row 2'), [1, 2, 3, 4])
    """
    if isinstance(data, FactorCounts):
        return data
    if isinstance(data, PairCounts):
        return _of_arrays(
            data.pulls.astype(np.float64), data.clicks.astype(np.float64), [data.row_names, data.col_names]
        )
    if isinstance(data, Counts):
        return _of_frame(_one_query(data), ("item", "position"), "impressions", "clicks", None)
    if isinstance(data, tuple | list) and len(data) == 2 and not isinstance(data[0], str):
        return _of_pair(data[0], data[1], factors)
    table = data if isinstance(data, pl.DataFrame) else to_polars(known_frame(data))
    return _of_frame(table, factors, shown, clicked, slice)


def holds_factors(path: str) -> bool:
    """Whether a file is a table of factors rather than a log of items at positions."""
    names = {name.casefold() for name in header_of(path)}
    return bool(names) and not {"item", "position"} & names


def counts_of_arrays(pulls: Ints, clicks: Ints, levels: Mapping[str, Sequence[str]]) -> FactorCounts:
    """Return the counts of arrays with an axis for each factor; `levels` are its names of levels, by its name."""
    return _of_arrays(pulls.astype(np.float64), clicks.astype(np.float64), list(levels.values()), tuple(levels))


def _one_query(counts: Counts) -> pl.DataFrame:
    if len(counts.queries) > 1:
        some = ", ".join(counts.queries["query"].head(3))
        raise InputError("counts of one query", f"{len(counts.queries):,} queries", f"try counts.only(['{some}'])")
    return counts.cells.drop("query")


def _of_pair(shown: Any, clicked: Any, factors: Sequence[str]) -> FactorCounts:
    """Take two arrays of the same shape; frames among them give their names to the levels."""
    named = [index_names(shown), index_names(shown, "columns")]
    try:
        pulls, clicks = np.asarray(shown, np.float64), np.asarray(clicked, np.float64)
    except (TypeError, ValueError):
        raise InputError("two arrays of numbers (shown, clicked)", "something else", "pass counts") from None
    if pulls.ndim == 2:  # with its own checks
        as_pair_counts(pulls, clicks)
    if pulls.ndim == 0 or pulls.shape != clicks.shape or not pulls.size:
        raise InputError("two arrays of one shape", f"{pulls.shape} and {clicks.shape}", "count every pair in both")
    usual = ("row", "col", "layer") if pulls.ndim <= 3 else tuple(f"factor {d + 1}" for d in range(pulls.ndim))
    titles = tuple(factors) or usual[: pulls.ndim]
    if len(titles) != pulls.ndim:
        raise InputError(f"{pulls.ndim} names of factors", f"{len(titles)}", "name each side of the arrays once")
    names = [
        (named[place] if place < 2 else None) or [f"{title} {number + 1}" for number in range(size)]
        for place, (title, size) in enumerate(zip(titles, pulls.shape, strict=True))
    ]
    return _of_arrays(pulls, clicks, names, titles)


def _of_arrays(
    pulls: Floats, clicks: Floats, names: Sequence[Sequence[str]], factors: Sequence[str] = ("row", "col")
) -> FactorCounts:
    cells = np.argwhere(pulls > 0)
    if not len(cells):
        raise InputError("at least one impression", "none", "wait for some")
    where = tuple(cells.T)
    levels = tuple(tuple(map(str, side)) for side in names)
    return _checked(
        FactorCounts(tuple(factors), levels, cells, _whole(pulls[where]), _whole(clicks[where])),
    )


def _whole(numbers: Any) -> Ints:
    if not (np.asarray(numbers) == np.floor(numbers)).all():
        raise InputError("whole numbers of impressions and clicks", "fractions", "pass counts, not rates")
    return np.asarray(numbers).astype(np.int64)


def _of_frame(
    table: pl.DataFrame, factors: Sequence[str], shown: str | None, clicked: str | None, slice: str | None
) -> FactorCounts:
    adaptive = False
    notes: tuple[str, ...] = ()
    exported = _exported_levels(table.columns)
    if not factors and clicked is None and exported:
        table, notes = _of_export(table, exported)
        factors, shown, clicked, slice, adaptive = tuple(exported), None, "clicked", None, True
    found = find_factor_columns(table, factors, shown, clicked, slice)
    rows, told = without_totals(read_rows(table, found), found)
    check_rows(rows, table, found)
    names = level_names(found)
    levels = [rows[name].unique(maintain_order=True) for name in names]
    numbered = rows.with_columns(
        pl.col(name).replace_strict(known, np.arange(len(known)), return_dtype=pl.Int64)
        for name, known in zip(names, levels, strict=True)
    )
    cells = numbered.group_by(names, maintain_order=True).agg(pl.col("shown", "clicked").sum())
    slices = numbered  # one row per impression repeats nothing unless it says when: then each slice is counted first
    if found.shown is None:
        slices = numbered.group_by([*names, "slice"], maintain_order=True).agg(pl.col("shown", "clicked").sum())
    repeats = None if found.shown is None and found.slice is None else _repeats(slices, names)
    return _checked(
        FactorCounts(
            found.factors, tuple(tuple(known.to_list()) for known in levels), cells.select(names).to_numpy(),
            _whole(cells["shown"].to_numpy()), _whole(cells["clicked"].to_numpy()),
            repeats, adaptive, (*notes, *told, *found.notes, *_repeated(table, found, repeats)), found,
        )
    )  # fmt: skip


def _repeated(table: pl.DataFrame, found: FactorColumns, repeats: Dispersion | None) -> tuple[str, ...]:
    """Name the columns that make rows of one combination differ, where these rows tell the dispersion."""
    if not found.unused or (repeats is None and found.shown is not None):
        return ()
    names = " and ".join(f"'{name}'" for name in found.unused)
    what = "were not named as factors" if len(found.unused) > 1 else "was not named as a factor"
    if repeats is None:
        return (f"{names} {what}: the answer is an average over the visitors there were.",)
    return (f"{names} {what}: rows that differ in it count as repeats, and what it changes as scatter.",)


def _exported_levels(columns: Sequence[str]) -> dict[str, str]:
    """Return the columns with names of levels, by factor, of what `rankone export` wrote; none if it did not.

    >>> _exported_levels(["id", "number", "headline", "image", "filler", "outcome", "clicked", "learned"])
    {'headline': 'headline', 'image': 'image'}
    """
    if not set(columns) >= _EXPORT:
        return {}
    if {"row_name", "col_name"} <= set(columns):
        return {"row": "row_name", "col": "col_name"}
    ours = list(columns[:2]) == ["id", "number"] and "filler" in columns
    return {name: name for name in columns[2 : columns.index("filler")]} if ours else {}


def _of_export(table: pl.DataFrame, levels: Mapping[str, str]) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The decisions of an exported experiment whose outcome counts, with the names of their levels."""
    learned = table["learned"].cast(pl.String).str.to_lowercase() == "true"
    kept = table.filter(learned).select(
        *(
            pl.col(column).cast(pl.String).str.replace_all(_QUOTED, "$1$2").alias(name)
            for name, column in levels.items()
        ),
        "clicked",
    )
    if kept.is_empty():
        raise InputError("decisions with outcomes that count", f"none of {len(table):,}", "wait for some")
    left = len(table) - len(kept)
    return kept, (f"{left:,} decisions were left out: open, void, held, late or excluded.",) if left else ()


def _repeats(rows: pl.DataFrame, names: Sequence[str]) -> Dispersion | None:
    """Estimate the dispersion from rows of the same combination, or from slices of time."""
    combination = rows.select(pl.struct(names).rank("dense") - 1).to_series().to_numpy().astype(np.int64)
    shown, clicked = rows["shown"].to_numpy(), rows["clicked"].to_numpy()
    when = None
    if rows["slice"].null_count() == 0:
        when = (rows["slice"].rank("dense") - 1).to_numpy().astype(np.int64)
    return estimated_dispersion(combination, when, shown, clicked)


def _checked(counts: FactorCounts) -> FactorCounts:
    wrong = np.flatnonzero((counts.clicked > counts.shown) | (counts.clicked < 0))
    if len(wrong):
        got = f"{counts.clicked[wrong[0]]} of {counts.shown[wrong[0]]}"
        raise InputError("whole numbers with 0 <= clicked <= shown", got, "pass counts, shown first")
    kept = counts.shown > 0
    if not kept.any():
        raise InputError("at least one impression", "none", "wait for some")
    if not counts.clicked.any():
        got = f"none in {int(counts.shown.sum()):,} impressions"
        raise InputError("at least one click", got, "wait for some, or check the column of clicks")
    return _without_unseen(
        counts._replace(cells=counts.cells[kept], shown=counts.shown[kept], clicked=counts.clicked[kept])
    )


def _without_unseen(counts: FactorCounts) -> FactorCounts:
    """Leave out levels that were never shown: nothing can be said of them."""
    cells, levels, notes = counts.cells.copy(), list(counts.levels), []
    for place, (factor, names) in enumerate(zip(counts.factors, counts.levels, strict=True)):
        seen, cells[:, place] = np.unique(cells[:, place], return_inverse=True)
        if len(seen) < len(names):
            levels[place] = tuple(names[number] for number in seen)
            unseen = [name for number, name in enumerate(names) if number not in set(seen.tolist())]
            some = ", ".join(f"'{name}'" for name in unseen[:5]) + (", ..." if len(unseen) > 5 else "")
            notes.append(f"Never shown, and left out: {factor} {some}.")
    return counts._replace(cells=cells, levels=tuple(levels), notes=(*counts.notes, *notes))
