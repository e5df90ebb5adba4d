"""Which columns of a table hold the factors, how often was shown and how often clicked: as named, or by themselves.

A column is recognised by its name if that is a usual one, and else by what it holds: outcomes are 0 and 1, clicks are
never more than what was shown, levels come again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from rankone.errors import InputError
from rankone.specs import did_you_mean

SHOWN = (
    "shown", "impressions", "views", "n", "outcomes", "trials", "visitors", "visits", "sessions", "users", "exposures",
    "sent", "delivered", "pulls", "total", "shows", "displays",
)  # fmt: skip
CLICKED = (
    "clicked", "clicks", "click", "conversions", "converted", "conversion", "successes", "success", "k", "hits",
    "opens", "opened", "orders", "signups", "purchases", "reward", "outcome",
)  # fmt: skip
SLICE = ("day", "date", "week", "hour", "month", "slice", "period", "time")
GROUP = ("query", "test", "experiment")
_TRUTHS = ["0", "1", "true", "false", "0.0", "1.0"]
_MOST_LEVELS = 1000


class FactorColumns(NamedTuple):
    """The columns of a table by what they hold; `shown` is None where a row is an impression."""

    factors: tuple[str, ...]
    shown: str | None
    clicked: str
    slice: str | None
    notes: tuple[str, ...]


def find_factor_columns(
    table: pl.DataFrame,
    factors: Sequence[str] = (),
    shown: str | None = None,
    clicked: str | None = None,
    slice: str | None = None,
) -> FactorColumns:
    """Find the columns; those that are named are taken as named.

    >>> levels = {"headline": ["A", "A", "B", "B"], "image": [1, 2, 1, 2]}
    >>> table = pl.DataFrame(levels | {"Views": [90, 80, 95, 90], "signups": [3, 4, 5, 3]})
    >>> find_factor_columns(table)[:3]
    (('headline', 'image'), 'Views', 'signups')
    """
    named = [*factors, *(name for name in (shown, clicked, slice) if name is not None)]
    exact = {name: _named(table, name) for name in named}
    twice = [name for name in exact if list(exact.values()).count(exact[name]) > 1 or named.count(name) > 1]
    if twice:
        raise InputError("each column for one thing", f"'{twice[0]}' twice", "name another column, or leave one out")
    free = [name for name in table.columns if name not in exact.values()]
    found_shown = exact[shown] if shown is not None else _usual(free, SHOWN)
    if clicked is not None:
        found_clicked: str | None = exact[clicked]
    else:
        found_clicked = _usual([name for name in free if name != found_shown and _is_whole(table[name])], CLICKED)
        found_clicked = found_clicked or _clicks_by_contents(table, free, found_shown)
    if found_clicked is None:
        raise InputError(
            f"a column of clicks (such as {', '.join(CLICKED[:4])}; or one of 0 and 1, with one row per impression)",
            _there(table),
            "name it: clicked='...'",
        )
    if found_shown is None and not _is_outcome(table[found_clicked]):
        found_shown = _shown_by_contents(table, free, found_clicked)
        if found_shown is None:
            raise InputError(
                f"a column of impressions (such as {', '.join(SHOWN[:4])}), as '{found_clicked}' holds counts",
                _there(table),
                "name it: shown='...'",
            )
    found_slice = exact[slice] if slice is not None else None
    free = [name for name in free if name not in (found_shown, found_clicked)]
    if slice is None:
        found_slice = _usual(free, SLICE)
        free = [name for name in free if name != found_slice]
    if factors:
        return FactorColumns(tuple(exact[name] for name in factors), found_shown, found_clicked, found_slice, ())
    chosen, notes = _factors_by_contents(table, free)
    return FactorColumns(tuple(chosen), found_shown, found_clicked, found_slice, notes)


def _there(table: pl.DataFrame) -> str:
    return f"the columns {', '.join(table.columns)}" if table.columns else "no columns"


def _named(table: pl.DataFrame, name: str) -> str:
    """Return the column of a name, in capitals or not."""
    if name in table.columns:
        return name
    alike = [column for column in table.columns if column.strip().casefold() == name.strip().casefold()]
    if len(alike) != 1:
        do = did_you_mean(name, table.columns, "name one of them")
        raise InputError(f"a column '{name}'", _there(table), do)
    return alike[0]


def _usual(columns: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the column with a usual name; the more usual one of several."""
    known = {column.strip().casefold(): column for column in reversed(columns)}
    return next((known[name] for name in names if name in known), None)


def _numbers(column: pl.Series) -> pl.Series | None:
    """Return a column of whole numbers from 0 as numbers, None if it is none."""
    if column.dtype == pl.Boolean:
        return column.cast(pl.Float64)
    if column.dtype == pl.String:
        texts = column.str.strip_chars().str.to_lowercase()
        if texts.is_in(_TRUTHS).all():
            return texts.replace({"true": "1", "false": "0"}).cast(pl.Float64)
        column = texts.cast(pl.Float64, strict=False)
    elif not column.dtype.is_numeric():
        return None
    numbers = column.cast(pl.Float64)
    whole = (numbers >= 0.0) & (numbers == numbers.floor())
    return numbers if numbers.null_count() == 0 and whole.all() else None


def _is_whole(column: pl.Series) -> bool:
    return _numbers(column) is not None


def _is_outcome(column: pl.Series) -> bool:
    """Whether a column holds nothing but 0 and 1."""
    numbers = _numbers(column)
    return numbers is not None and bool((numbers <= 1.0).all())


def _clicks_by_contents(table: pl.DataFrame, free: Sequence[str], shown: str | None) -> str | None:
    """Return the one column that can only be the clicks."""
    if shown is None:
        outcomes = [name for name in free if _is_outcome(table[name]) and table[name].n_unique() == 2]
        return outcomes[0] if len(outcomes) == 1 else None
    most = _numbers(table[shown])
    if most is None:
        return None
    able = [
        name
        for name in free
        if name != shown and (numbers := _numbers(table[name])) is not None and (numbers <= most).all()
        and not _looks_like_levels(table, name)
    ]  # fmt: skip
    return able[0] if len(able) == 1 else None


def _shown_by_contents(table: pl.DataFrame, free: Sequence[str], clicked: str) -> str | None:
    least = _numbers(table[clicked])
    if least is None:
        return None
    able = [
        name
        for name in free
        if name != clicked and (numbers := _numbers(table[name])) is not None and (numbers >= least).all()
        and not _looks_like_levels(table, name)
    ]  # fmt: skip
    return able[0] if len(able) == 1 else None


def _looks_like_levels(table: pl.DataFrame, name: str) -> bool:
    """Few different values that come again and again."""
    return table.height >= 4 and table[name].n_unique() <= table.height / 2


def _factors_by_contents(table: pl.DataFrame, free: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the columns that hold levels, and what is said of those that do not."""
    left: dict[str, str] = {}
    chosen: list[str] = []
    for name in free:
        column = table[name]
        if column.dtype.is_float() or (column.dtype == pl.String and _is_measure(column)):
            left[name] = "numbers with fractions"
        elif column.dtype.is_temporal() or column.dtype.is_nested():
            left[name] = "neither names nor whole numbers"
        elif column.n_unique() > _MOST_LEVELS:
            left[name] = f"more than {_MOST_LEVELS:,} different values"
        else:
            chosen.append(name)
    groups = [name for name in chosen if name.strip().casefold() in GROUP and table[name].n_unique() > 1]
    if groups and len(chosen) > 1:
        some = ", ".join(map(str, table[groups[0]].unique(maintain_order=True).head(3)))
        raise InputError(
            f"one table of counts, or its factors by name (factors=[...]), beside a column '{groups[0]}'",
            f"{table[groups[0]].n_unique():,} of them ({some}, ...)",
            f"pass the rows of one {groups[0]}, or name the factors",
        )
    for name, why in ((name, _idle(table, name, chosen)) for name in list(chosen)):
        if why and len(chosen) > 1:
            chosen.remove(name)
            left[name] = why
    while len(chosen) > 1 and (told := _told_by_others(table, chosen)) is not None:
        chosen.remove(told)
        left[told] = "the other columns tell it already"
    if not chosen:
        raise InputError("at least one column of levels", _there(table), "name it: factors=['headline'], for example")
    notes = tuple(f"The column '{name}' was left out: {why}." for name, why in left.items())
    return chosen, notes


def _is_measure(column: pl.Series) -> bool:
    """Texts that are all numbers, some of them with a fraction or all with a sign of percent or money."""
    plain = column.str.strip_chars()
    numbers = plain.str.strip_chars(" %$€£").cast(pl.Float64, strict=False)
    if numbers.null_count():
        return False
    return bool((numbers != numbers.floor()).any()) or bool(plain.str.contains("[%$€£]").all())


def _idle(table: pl.DataFrame, name: str, chosen: Sequence[str]) -> str:
    """Say why a column cannot be a factor beside others."""
    distinct = table[name].n_unique()
    if distinct == 1:
        return "it has one value only"
    others = [other for other in chosen if other != name]
    if distinct == table.height > 3 and any(table[other].n_unique() < table.height for other in others):
        return "every row has another value"
    return ""


def _told_by_others(table: pl.DataFrame, chosen: Sequence[str]) -> str | None:
    """Return a column that adds no combination to those of the others; of several the one with most values."""
    together = table.select(chosen).n_unique()
    able = [
        name for name in chosen if table.select([other for other in chosen if other != name]).n_unique() == together
    ]
    return max(reversed(able), key=lambda name: table[name].n_unique()) if able else None
