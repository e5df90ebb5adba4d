"""Which columns of a table hold the factors, how often was shown and how often clicked: as named, or by themselves.

Counts with unusual names are found by comparing columns: clicks are never more than what was shown.
"""

import operator
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from rankone.clicks.counts.column_kinds import (
    AMOUNTS,
    CLICKED,
    SHOWN,
    WHEN,
    Kind,
    is_click_rate,
    kind_of,
    nearest,
    words_of,
)
from rankone.clicks.counts.column_values import days_of, is_measure, is_outcome, whole_numbers
from rankone.clicks.counts.factor_choice import choose_factors
from rankone.errors import InputError
from rankone.specs import did_you_mean

_OTHERWISE = "To change this: --factor for each factor (in Python factors=[...]), --shown and --clicked for the counts."


class FactorColumns(NamedTuple):
    """The columns of a table by what they hold; `shown` is None where a row is an impression."""

    factors: tuple[str, ...]
    shown: str | None
    clicked: str
    slice: str | None
    notes: tuple[str, ...]
    unused: tuple[str, ...] = ()  # columns that hold levels too and were not named as factors
    by_day: bool = False  # the slice is the day of a time
    visitor: tuple[str, ...] = ()  # columns that describe visitors and were not named as factors
    who: str | None = None  # column that tells visitors apart

    @property
    def sentence(self) -> str:
        """What was read as what, in one line."""
        shown = "one row per impression" if self.shown is None else self.shown
        return (
            f"Factors: {', '.join(self.factors)}; shown: {shown}; clicked: {self.clicked}; "
            f"date: {'none' if self.slice is None else self.slice}{', by day' if self.by_day else ''}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"factors": list(self.factors), "shown": self.shown, "clicked": self.clicked, "slice": self.slice}


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
    >>> find_factor_columns(table).sentence
    'Factors: headline, image; shown: Views; clicked: signups; date: none.'
    """
    named = [*factors, *(name for name in (shown, clicked, slice) if name is not None)]
    exact = {name: _named(table, name) for name in named}
    twice = [name for name in exact if list(exact.values()).count(exact[name]) > 1 or named.count(name) > 1]
    if twice:
        raise InputError("A column was named twice:", twice[0], "name another column, or leave one out")
    kinds = {name: kind_of(table[name]) for name in table.columns if name not in exact.values()}
    shown, clicked = _counts(table, kinds, exact.get(shown or ""), exact.get(clicked or ""))
    when = exact[slice] if slice is not None else _slice(table, kinds)
    kinds = {name: kind for name, kind in kinds.items() if name not in (shown, clicked, when)}
    who = next((name for name, kind in kinds.items() if kind.what == "who"), None)
    by_day = False  # of times only the day is used
    if when is not None and (days := days_of(times := table[when].unique())) is not None:
        by_day = days.n_unique() < len(times)
    picked, left = choose_factors(table, kinds, shown is None, one_table=not factors)
    of_visitors = [name for name, kind in kinds.items() if kind.what in ("visitor", "audience")]
    visitor = tuple(name for name in of_visitors if factors or name not in picked)
    if factors:
        unused = tuple(name for name in picked if name not in visitor and table[name].n_unique() > 1)
        rest = ", ".join(f"'{name}'" for name in kinds if name not in (*unused, *visitor))
        notes, chosen = [f"Not used: {rest}."] if rest else [], tuple(exact[name] for name in factors)
        return FactorColumns(chosen, shown, clicked, when, tuple(notes), unused, by_day, visitor, who)
    if not picked:
        left = ({} if when is None else {when: "it says when, not what was shown"}) | left
        whys = "; ".join(f"'{name}': {why}" for name, why in left.items())
        able = next(iter(left), "headline")
        do = f"name it: factors=['{able}'], for example"
        raise InputError("No column holds variants:", whys or _there(table), do)
    notes = [] if slice is not None or when is None else _unusual_times(table[when])
    for name, why in left.items():
        several = name in visitor and table[name].n_unique() > 1
        average = ", and the answer is an average over visitors" if several else ""
        notes.append(f"{'Not a factor' if name == who else 'Not used'}: '{name}' ({why}{average}).")
    if left:
        notes.append(_OTHERWISE)
    return FactorColumns(tuple(picked), shown, clicked, when, tuple(notes), (), by_day, visitor, who)


def _counts(
    table: pl.DataFrame, kinds: Mapping[str, Kind], shown: str | None, clicked: str | None
) -> tuple[str | None, str]:
    shown = shown or nearest([name for name, kind in kinds.items() if kind.what == "shown"], SHOWN)
    free = [name for name, kind in kinds.items() if kind.what == "levels"]
    if clicked is None:
        clicked = nearest([name for name, kind in kinds.items() if kind.what == "clicked"], CLICKED)
        clicked = clicked or clicks_by_contents(table, free, shown)
    if clicked is None:
        amount = next(
            (name for name, kind in kinds.items() if kind.why in AMOUNTS and not _is_share(table[name])), None
        )
        if (share := next((name for name in kinds if _is_share(table[name])), None)) is not None and amount is None:
            do = "add a column of how often each variant was shown"
            raise InputError("Rates alone cannot be compared:", f"column '{share}'", do)
        if (unread := nearest(list(kinds), CLICKED)) is not None:
            some = ", ".join(f"'{text}'" for text in table[unread].head(3))
            do = "keep one table in the file, or name clicked='...'"
            raise InputError(f"Column '{unread}' does not hold numbers:", some, do)
        if amount is not None:
            raise _of_amounts(table, amount)
        raise InputError("No column holds clicks:", _there(table), "name it: clicked='...'")
    if is_measure(table[clicked]):
        raise _of_amounts(table, clicked)
    if shown is None and not is_outcome(table[clicked]):
        shown = _only_counts(table, free, clicked, operator.ge)
        if shown is None:
            raise InputError("No column holds impressions:", _there(table), "name it: shown='...'")
    return shown, clicked


def _is_share(column: pl.Series) -> bool:
    signed = column.dtype == pl.String and bool(column.str.contains("%").any())
    return is_click_rate(column.name) or signed or "%" in column.name


def _of_amounts(table: pl.DataFrame, column: str) -> InputError:
    return InputError(f"Column '{column}' looks like an amount:", _there(table), f"use --revenue {shlex.quote(column)}")


def _slice(table: pl.DataFrame, kinds: Mapping[str, Kind]) -> str | None:
    def changes(name: str) -> bool:
        times = table[name].unique()
        days = days_of(times)
        return (times if days is None else days).drop_nulls().n_unique() > 1

    def unusual(name: str) -> int:
        return min((WHEN.index(word) for word in words_of(name) if word in WHEN), default=len(WHEN))

    able = [name for name, kind in kinds.items() if kind.what == "time" and changes(name)]
    return min(able, key=unusual, default=None)


def _unusual_times(column: pl.Series) -> list[str]:
    times = column.unique(maintain_order=True)
    if days_of(times) is not None or whole_numbers(times) is not None:
        return []
    some = f"Column '{column.name}' ({', '.join(map(str, times.head(3)))}, ...) was read as a date."
    return [f"{some} If it is a factor, name every factor (--factor, in Python factors=[...])."]


def _there(table: pl.DataFrame) -> str:
    return f"there are {', '.join(table.columns)}" if table.columns else "there are no columns"


def _named(table: pl.DataFrame, name: str) -> str:
    if name in table.columns:
        return name
    alike = [column for column in table.columns if column.strip().casefold() == name.strip().casefold()]
    if len(alike) != 1:
        raise InputError(f"No column '{name}':", _there(table), did_you_mean(name, table.columns, "name one of them"))
    return alike[0]


def clicks_by_contents(table: pl.DataFrame, free: Sequence[str], shown: str | None) -> str | None:
    """Return the one column that can only be the clicks."""
    if shown is None:
        outcomes = [name for name in free if is_outcome(table[name]) and table[name].n_unique() == 2]
        return outcomes[0] if len(outcomes) == 1 else None
    return _only_counts(table, free, shown, operator.le)


def _only_counts(
    table: pl.DataFrame, free: Sequence[str], other: str, compare: Callable[[pl.Series, pl.Series], pl.Series]
) -> str | None:
    """Return the one column of counts that compares so with another one, and does not look like levels."""
    limit, able = whole_numbers(table[other]), []
    for name in free:
        numbers = whole_numbers(table[name]) if limit is not None and name != other else None
        levels = table.height >= 4 and table[name].n_unique() <= table.height / 2  # few that come again and again
        if limit is not None and numbers is not None and not levels and compare(numbers, limit).all():
            able.append(name)
    return able[0] if len(able) == 1 else None
