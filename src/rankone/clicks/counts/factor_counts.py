"""Impressions and clicks of every combination of levels, of any number of factors: from any table or arrays."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl

from rankone.clicks.counts.column_kinds import IMPRESSIONS, PEOPLE, PERIODS, words_of
from rankone.clicks.counts.counts import Counts
from rankone.clicks.counts.dispersion import Dispersion, estimated_dispersion
from rankone.clicks.counts.engine_counts import CLICKED, FIRST, SHOWN, engine_counts, first_rows
from rankone.clicks.counts.factor_columns import FactorColumns, find_factor_columns
from rankone.clicks.counts.factor_rows import (
    check_rows,
    countable_rows,
    level_names,
    nameless_rows,
    read_rows,
    total_words,
)
from rankone.clicks.counts.frames import ONLY_QUERY, known_frame, to_polars
from rankone.clicks.counts.table_files import header_of
from rankone.clicks.counts.table_shapes import with_clicks
from rankone.errors import InputError
from rankone.notebook import index_names
from rankone.numerics.arrays import Ints
from rankone.wording.lists import listed, quoted

#: What `rankone export` writes of a decision, as far as it is counted, besides what was shown.
_EXPORT = {"clicked", "learned", "outcome"}
_QUOTED = r"""((?:^|;)[" ]*)'([=+\-@\t\r])"""  # what `rankone export` puts in front of formulas

_COME_AGAIN = 3.0  # scatter of sessions and the like: visitors who come twice on average, some of them more often


class Slices(NamedTuple):
    """Counts by slices of time, such as days: an entry for each combination and slice that it was shown in."""

    names: tuple[str, ...]
    cell: Ints  # number of the combination
    when: Ints  # number of the slice
    shown: Ints
    clicked: Ints


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
    slices: Slices | None = None  # where every row says when it was counted, and there are at least two slices
    name: str = ONLY_QUERY  # of the query that they are counts of
    per_visitor: float | None = None  # how much more than single visitors `shown` may scatter; None: it is no split

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each factor."""
        return tuple(len(names) for names in self.levels)

    def named(self, cell: Iterable[int]) -> dict[str, str]:
        """Return the levels of a combination, by factor."""
        each = zip(self.factors, self.levels, cell, strict=True)
        return {factor: names[level] for factor, names, level in each}

    def numbered(self, levels: Mapping[str, str]) -> list[int]:
        """Return the numbers of named levels, one of each factor."""
        return [names.index(levels[factor]) for factor, names in zip(self.factors, self.levels, strict=True)]

    def name_columns(self, cells: Ints) -> dict[str, list[str]]:
        """Return the names of the levels of many combinations, a column for each factor."""
        each = zip(self.factors, self.levels, cells.T.tolist(), strict=True)
        return {factor: [names[level] for level in column] for factor, names, column in each}

    @property
    def period(self) -> str:
        """What a slice of time is called: a day, unless its column says otherwise."""
        if self.columns is None or self.columns.slice is None or self.columns.by_day or self.slices is None:
            return "day"
        words = {*words_of(self.columns.slice), *words_of(self.slices.names[0])}
        return next((word for word, names in PERIODS.items() if words & names), "day")

    @property
    def taken(self) -> list[str]:
        """What was read as what, and what was left out."""
        return [*([] if self.columns is None else [self.columns.sentence]), *self.notes]


def as_factor_counts(
    data: Any,
    *,
    factors: Sequence[str] = (),
    shown: str | None = None,
    clicked: str | None = None,
    slice: str | None = None,
    all_rows: bool = False,
) -> FactorCounts:
    """Return the counts in a dataframe, a pair of arrays (shown, clicked), or what other functions counted.

    With `all_rows`, rows called a total and rows that name no level, such as "(not set)", are counted as levels, too;
    true sums of other rows are not.

    >>> counts = as_factor_counts(([[10, 20], [30, 40]], [[1, 2], [3, 4]]))
    >>> counts.factors, counts.levels[0], counts.clicked.tolist()
    (('row', 'col'), ('row 1', 'row 2'), [1, 2, 3, 4])
    """
    if isinstance(data, FactorCounts):
        return _checked(data)
    if isinstance(data, Counts):
        named = ("item", "position"), "impressions", "clicks", None
        return _of_frame(_one_query(data), *named, every=True)._replace(per_visitor=None)
    if isinstance(data, tuple | list) and len(data) == 2 and not isinstance(data[0], str):
        return _checked(_of_tables(data[0], data[1], factors))._replace(per_visitor=_COME_AGAIN)
    table = data if isinstance(data, pl.DataFrame) else known_frame(data)
    if not isinstance(table, nw.LazyFrame):
        return _of_frame(to_polars(table), factors, shown, clicked, slice, all_rows)
    first = first_rows(table)
    counted = None
    if first.height == FIRST and shown is None:
        counted = _of_engine(table, first, factors, clicked, slice, all_rows)
    return counted or _of_frame(to_polars(table), factors, shown, clicked, slice, all_rows)


def holds_factors(path: str) -> bool:
    """Whether a file is a table of factors rather than a log of items at positions."""
    names = {name.casefold() for name in header_of(path)}
    return bool(names) and not {"item", "position"} <= names


def counts_of_arrays(
    pulls: Ints, clicks: Ints, levels: Mapping[str, Sequence[str]], name: str = ONLY_QUERY
) -> FactorCounts:
    """Return the counts of arrays with an axis for each factor; `levels` are its names of levels, by its name.

    Levels without outcomes are kept.
    """
    if not pulls.any():
        raise InputError("at least one outcome", "none" if name == ONLY_QUERY else f"none of '{name}'", "wait for some")
    cells = np.argwhere(pulls > 0)
    where, names = tuple(cells.T), tuple(tuple(map(str, side)) for side in levels.values())
    return FactorCounts(tuple(levels), names, cells, pulls[where], clicks[where], name=name)


def as_pair_counts(
    shown: object,
    clicked: object,
    *,
    row_names: Sequence[str] | None = None,
    col_names: Sequence[str] | None = None,
    name: str = ONLY_QUERY,
) -> FactorCounts:
    """Name the levels of two (K, L) arrays of counts; frames of pandas are named by their index and columns.

    >>> as_pair_counts([[10, 20]], [[1, 5]]).levels[1]
    ('col 1', 'col 2')
    """
    return _of_tables(shown, clicked, ("row", "col"), (row_names, col_names), name)


def _of_tables(
    shown: Any, clicked: Any, factors: Sequence[str] = (), names: Sequence[Any] = (), name: str = ONLY_QUERY
) -> FactorCounts:
    """Take two arrays of one shape; frames among them give their names to the levels."""
    try:
        pulls, clicks = np.asarray(shown, np.float64), np.asarray(clicked, np.float64)
    except (TypeError, ValueError):
        raise InputError("two arrays of numbers (shown, clicked)", "something else", "pass counts") from None
    if pulls.ndim == 0 or pulls.shape != clicks.shape or not pulls.size:
        raise InputError("two arrays of one shape", f"{pulls.shape} and {clicks.shape}", "count every pair in both")
    usual = ("row", "col", "layer") if pulls.ndim <= 3 else tuple(f"factor {d + 1}" for d in range(pulls.ndim))
    titles = tuple(factors) or usual[: pulls.ndim]
    if len(titles) != pulls.ndim:
        raise InputError(f"{len(titles)} factors, as there are names", f"arrays of {pulls.ndim}", "name each side once")
    known = [*names, *[None] * pulls.ndim], [index_names(shown), index_names(shown, "columns"), *[None] * pulls.ndim]
    levels = {
        title: given or own or [f"{title} {number + 1}" for number in range(size)]
        for title, size, given, own in zip(titles, pulls.shape, *known, strict=False)
    }
    whole = (pulls == np.floor(pulls)) & (clicks == np.floor(clicks))  # NaN is not
    wrong = np.argwhere(~(whole & (clicks >= 0) & (clicks <= pulls)))
    if len(wrong):
        where = tuple(wrong[0])
        combination = " with ".join(quoted([side[at] for side, at in zip(levels.values(), where, strict=True)]))
        got = f"{clicks[where]:g} of {pulls[where]:g} for {combination}"
        raise InputError("whole numbers with 0 <= clicked <= shown", got, "pass counts, shown first")
    return counts_of_arrays(pulls.astype(np.int64), clicks.astype(np.int64), levels, name=name)


def _one_query(counts: Counts) -> pl.DataFrame:
    if len(counts.queries) > 1:
        some = ", ".join(counts.queries["query"].head(3))
        raise InputError("counts of one query", f"{len(counts.queries):,} queries", f"try counts.only(['{some}'])")
    return counts.cells.drop("query")


def _of_frame(
    table: pl.DataFrame,
    factors: Sequence[str],
    shown: str | None,
    clicked: str | None,
    slice: str | None,
    all_rows: bool = False,
    every: bool = False,  # there are no totals in it
) -> FactorCounts:
    notes: tuple[str, ...] = ()
    exported = _exported_factors(table.columns)
    adaptive = not factors and clicked is None and bool(exported)
    if adaptive:
        table, notes = _of_export(table, exported)
        factors, shown, clicked, slice, every = exported, None, "clicked", None, True
    elif clicked is None and shown is None and not every:
        table, notes = with_clicks(table)
    totals = total_words(table)
    told = table.filter(totals.is_null() & ~nameless_rows(table))
    columns = find_factor_columns(table if told.is_empty() else told, factors, shown, clicked, slice)
    rows, left_out = (read_rows(table, columns), ()) if every else countable_rows(table, columns, totals, all_rows)
    check_rows(rows, table, columns)
    per_visitor = None if adaptive else _per_visitor(table, columns)
    return _of_rows(rows, columns, (*notes, *left_out), adaptive, per_visitor, bool(factors))


def _of_engine(
    table: Any, first: pl.DataFrame, factors: Sequence[str], clicked: str | None, slice: str | None, all_rows: bool
) -> FactorCounts | None:
    """Let the engine that holds the rows count them; None: it cannot."""
    exported = _exported_factors(first.columns)
    adaptive = not factors and clicked is None and bool(exported)
    if adaptive:
        if first["learned"].dtype != pl.Boolean:
            return None
        kept = [*exported, "clicked"]
        table, first = table.filter(nw.col("learned")).select(*kept), first.filter("learned").select(kept)
        factors, clicked, slice = exported, "clicked", None
    found = engine_counts(table, first, factors, clicked, slice)
    if found is None:
        return None
    columns = found.columns._replace(shown=SHOWN, clicked=CLICKED)
    none = pl.Series([None], dtype=pl.String).new_from_index(0, found.table.height)
    rows, left_out = countable_rows(found.table, columns, none, all_rows)
    check_rows(rows, found.table, columns)
    notes = [*left_out, *([] if factors else [f"What the columns hold was told by the first {FIRST:,} rows."])]
    visits = found.visits
    each = _COME_AGAIN if visits is None else visits[1] / visits[0]
    return _of_rows(rows, found.columns, tuple(notes), adaptive, None if adaptive else each, bool(factors))


def _of_rows(
    rows: pl.DataFrame,
    columns: FactorColumns,
    notes: tuple[str, ...],
    adaptive: bool,
    per_visitor: float | None,
    named: bool,
) -> FactorCounts:
    """Count what was read of a table's rows."""
    names = level_names(columns)
    levels = [rows[name].unique(maintain_order=True) for name in names]
    numbered = rows.with_columns(
        pl.col(name).replace_strict(known, np.arange(len(known)), return_dtype=pl.Int64)
        for name, known in zip(names, levels, strict=True)
    )
    cells = numbered.group_by(names, maintain_order=True).agg(pl.col("shown", "clicked").sum())
    slices = numbered  # one row per impression repeats nothing unless it says when: then each slice is counted first
    if columns.shown is None or (
        columns.visitor and not columns.unused
    ):  # kinds of visitors are no repeats of one another
        slices = numbered.group_by([*names, "slice"], maintain_order=True).agg(pl.col("shown", "clicked").sum())
    repeats = None if columns.shown is None and columns.slice is None else _repeats(slices, names)
    unnamed = _unnamed(columns, repeats) if named else ()
    return _checked(
        FactorCounts(
            columns.factors,
            tuple(tuple(known.to_list()) for known in levels),
            cells.select(names).to_numpy(),
            cells["shown"].to_numpy().astype(np.int64),
            cells["clicked"].to_numpy().astype(np.int64),
            repeats,
            adaptive,
            (*notes, *unnamed, *columns.notes),
            columns,
            _slices(numbered, cells.select(names)),
            per_visitor=per_visitor,
        )
    )


def _per_visitor(table: pl.DataFrame, columns: FactorColumns) -> float | None:
    """Say how much more numbers shown scatter than those of visitors who come once: by how often they come.

    That is an average over visits, not over visitors. None of impressions: ad platforms hand them out as they like.
    """
    if columns.shown is None and columns.who is not None:
        visits = table[columns.who].value_counts()["count"].to_numpy().astype(np.float64)
        return float((visits**2).sum() / visits.sum())
    words = set(words_of(columns.shown or ""))
    if words & IMPRESSIONS:
        return None
    return 1.0 if words & PEOPLE and columns.slice is None else _COME_AGAIN


def _slices(rows: pl.DataFrame, cells: pl.DataFrame) -> Slices | None:
    """Count each combination in each slice; None where there is nothing to tell apart."""
    rows = rows.filter(pl.col("shown") > 0)
    if rows["slice"].null_count() or rows["slice"].n_unique() < 2:
        return None
    names = sorted(rows["slice"].unique().to_list())
    sums = rows.group_by([*cells.columns, "slice"], maintain_order=True).agg(pl.col("shown", "clicked").sum())
    numbered = sums.join(cells.with_row_index("cell"), on=cells.columns, maintain_order="left").with_columns(
        when=pl.col("slice").replace_strict(names, np.arange(len(names)), return_dtype=pl.Int64)
    )
    return Slices(
        tuple(names), *(numbered[name].to_numpy().astype(np.int64) for name in ("cell", "when", "shown", "clicked"))
    )


def _unnamed(columns: FactorColumns, repeats: Dispersion | None) -> tuple[str, ...]:
    """Name the columns that make rows of one combination differ and were not named as factors."""
    scatter = "rows that differ in it count as repeats, and what it changes as scatter"
    added = "its rows were added up" if repeats is None else scatter
    average = "the answer is an average over the visitors there were"
    return tuple(
        f"{listed(list(map(repr, names)))} {'were' if len(names) > 1 else 'was'} not named as "
        f"{'factors' if len(names) > 1 else 'a factor'}: {then}."
        for names, then in ((columns.unused, added), (columns.visitor, average))
        if names
    )


def _exported_factors(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the factors of what `rankone export` wrote; none if it did not.

    >>> _exported_factors(["id", "number", "headline", "image", "filler", "outcome", "clicked", "learned"])
    ('headline', 'image')
    """
    ours = list(columns[:2]) == ["id", "number"] and "filler" in columns and set(columns) >= _EXPORT
    return tuple(columns[2 : columns.index("filler")]) if ours else ()


def _of_export(table: pl.DataFrame, factors: Sequence[str]) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The decisions of an exported experiment whose outcome counts, with the names of their levels."""
    learned = table["learned"].cast(pl.String).str.to_lowercase() == "true"
    kept = table.filter(learned).select(
        *(pl.col(name).cast(pl.String).str.replace_all(_QUOTED, "$1$2") for name in factors), "clicked"
    )
    if kept.is_empty():
        raise InputError("decisions with outcomes that count", f"none of {len(table):,}", "wait for some")
    left = len(table) - len(kept)
    return kept, (f"{left:,} decisions were left out: open, cancelled, held, late or excluded.",) if left else ()


def _repeats(rows: pl.DataFrame, names: Sequence[str]) -> Dispersion | None:
    combination, when = (
        rows.select(key.rank("dense") - 1).to_series().to_numpy() for key in (pl.struct(names), pl.col("slice"))
    )
    timed = rows["slice"].null_count() == 0
    counts = rows["shown"].to_numpy(), rows["clicked"].to_numpy()
    return estimated_dispersion(combination.astype(np.int64), when.astype(np.int64) if timed else None, *counts)


def _checked(counts: FactorCounts) -> FactorCounts:
    """Leave out combinations and levels that were never shown: nothing can be said of them."""
    kept = counts.shown > 0
    if not kept.any():
        raise InputError("Nothing was shown yet.", "", "wait for some visitors")
    if not counts.clicked.any():
        none = f"No clicks in {int(counts.shown.sum()):,} impressions."
        raise InputError(none, "", "wait for some, or check the column of clicks")
    slices = counts.slices
    if slices is not None:  # they hold only what was shown
        slices = slices._replace(cell=(np.cumsum(kept) - 1)[slices.cell])
    cells, levels, notes = counts.cells[kept], list(counts.levels), []
    for index, (factor, names) in enumerate(zip(counts.factors, counts.levels, strict=True)):
        seen, cells[:, index] = np.unique(cells[:, index], return_inverse=True)
        if len(seen) < len(names):
            levels[index] = tuple(names[number] for number in seen)
            unseen = [name for number, name in enumerate(names) if number not in set(seen.tolist())]
            some = ", ".join(f"'{name}'" for name in unseen[:5]) + (", ..." if len(unseen) > 5 else "")
            notes.append(f"Never shown, and left out: {factor} {some}.")
        once: dict[str, str] = {}
        for name in levels[index]:
            if (other := once.setdefault(" ".join(name.casefold().split()), name)) != name:
                notes.append(f"Counted as two levels of {factor}, as their spelling differs: '{other}', '{name}'.")
    counts = counts._replace(cells=cells, shown=counts.shown[kept], clicked=counts.clicked[kept], slices=slices)
    return counts._replace(levels=tuple(levels), notes=(*counts.notes, *notes))
