"""Which columns of a table hold the factors, how often was shown and how often clicked: as named, or by themselves.

A column is recognised by its name if that is a usual one, and else by what it holds: outcomes are 0 and 1, clicks are
never more than what was shown, levels come again and again (`rankone.clicks.counts.factor_choice`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from rankone.clicks.counts.column_values import days_of, is_outcome, mostly_numbers, whole_numbers
from rankone.clicks.counts.factor_choice import choose_factors
from rankone.errors import InputError
from rankone.specs import did_you_mean

SHOWN = (
    "shown", "impressions", "views", "n", "outcomes", "trials", "visitors", "visits", "sessions", "users", "exposures",
    "sent", "delivered", "pulls", "total", "shows", "displays", "impr",
)  # fmt: skip
CLICKED = (
    "clicked", "clicks", "click", "conversions", "converted", "conversion", "successes", "success", "k", "hits",
    "opens", "opened", "orders", "signups", "purchases", "reward", "outcome",
)  # fmt: skip
SLICE = ("day", "date", "week", "hour", "month", "slice", "period", "time")
_OTHERWISE = "To read it otherwise name every factor (--factor, in Python factors=[...])."


class FactorColumns(NamedTuple):
    """The columns of a table by what they hold; `shown` is None where a row is an impression."""

    factors: tuple[str, ...]
    shown: str | None
    clicked: str
    slice: str | None
    notes: tuple[str, ...]
    unused: tuple[str, ...] = ()  # columns that hold levels too and were not named as factors
    by_day: bool = False  # the slice is the day of a time

    @property
    def sentence(self) -> str:
        """What was read as what, in one line."""
        shown = "one row per impression" if self.shown is None else self.shown
        return (
            f"Factors: {', '.join(self.factors)}; shown: {shown}; clicked: {self.clicked}; "
            f"slice: {'none' if self.slice is None else self.slice}{', by day' if self.by_day else ''}."
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
    'Factors: headline, image; shown: Views; clicked: signups; slice: none.'
    """
    named = [*factors, *(name for name in (shown, clicked, slice) if name is not None)]
    exact = {name: _named(table, name) for name in named}
    twice = [name for name in exact if list(exact.values()).count(exact[name]) > 1 or named.count(name) > 1]
    if twice:
        raise InputError("each column for one thing", f"'{twice[0]}' twice", "name another column, or leave one out")
    free = [name for name in table.columns if name not in exact.values()]
    found_shown, found_clicked = _counts(
        table, free, exact[shown] if shown is not None else None, exact[clicked] if clicked is not None else None
    )
    free = [name for name in free if name not in (found_shown, found_clicked)]
    found_slice, told = (exact[slice], ()) if slice is not None else _slice(table, free)
    free = [name for name in free if name != found_slice]
    by_day = found_slice is not None and _by_day(table[found_slice])
    picked, left = choose_factors(table, free, found_shown is None, (*SHOWN, *CLICKED), one_table=not factors)
    if factors:
        chosen, unused = tuple(exact[name] for name in factors), [name for name in picked if table[name].n_unique() > 1]
        return FactorColumns(chosen, found_shown, found_clicked, found_slice, (), tuple(unused), by_day)
    if not picked:
        whys = "; ".join(f"'{name}': {why}" for name, why in left.items())
        got = f"{_there(table)} ({whys})" if whys else _there(table)
        raise InputError("at least one column of levels", got, "name it: factors=['headline'], for example")
    notes = [*told, *(f"The column '{name}' was left out: {why}." for name, why in left.items())]
    if left:
        notes.append(_OTHERWISE)
    return FactorColumns(tuple(picked), found_shown, found_clicked, found_slice, tuple(notes), (), by_day)


def _by_day(column: pl.Series) -> bool:
    """Whether a column holds times, of which only the day is used."""
    days = days_of(column)
    return days is not None and days.n_unique() < column.n_unique()


def _counts(table: pl.DataFrame, free: Sequence[str], shown: str | None, clicked: str | None) -> tuple[str | None, str]:
    """Return the columns of impressions and of clicks."""
    able = [name for name in free if mostly_numbers(table[name])]
    shown = shown or _usual(able, SHOWN)
    if clicked is None:
        clicked = _usual([name for name in able if name != shown], CLICKED) or _clicks_by_contents(table, free, shown)
    if clicked is None:
        raise InputError(
            f"a column of clicks (such as {', '.join(CLICKED[:4])}; or one of 0 and 1, with one row per impression)",
            _there(table),
            "name it: clicked='...'",
        )
    if shown is None and not is_outcome(table[clicked]):
        shown = _shown_by_contents(table, free, clicked)
        if shown is None:
            raise InputError(
                f"a column of impressions (such as {', '.join(SHOWN[:4])}), as '{clicked}' holds counts",
                _there(table),
                "name it: shown='...'",
            )
    return shown, clicked


def _slice(table: pl.DataFrame, free: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    """Return the column that says when, and what is said of it: by its name, or the first one of dates."""
    found = _usual(free, SLICE)
    if found is None:
        dated = ((name, days_of(table[name])) for name in free)
        found = next((name for name, days in dated if days is not None and days.n_unique() > 1), None)
    if found is None or days_of(table[found]) is not None or whole_numbers(table[found]) is not None:
        return found, ()
    some = ", ".join(map(str, table[found].unique(maintain_order=True).head(3)))
    return found, (
        f"The column '{found}' ({some}, ...) was taken for when a row was counted, not for a factor. If it is a "
        "factor, name every factor (--factor, in Python factors=[...]).",
    )


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
    known = {column.strip(" .#").casefold(): column for column in reversed(columns)}
    return next((known[name] for name in names if name in known), None)


def _clicks_by_contents(table: pl.DataFrame, free: Sequence[str], shown: str | None) -> str | None:
    """Return the one column that can only be the clicks."""
    if shown is None:
        outcomes = [name for name in free if is_outcome(table[name]) and table[name].n_unique() == 2]
        return outcomes[0] if len(outcomes) == 1 else None
    most = whole_numbers(table[shown])
    if most is None:
        return None
    able = [
        name
        for name in free
        if name != shown and (numbers := whole_numbers(table[name])) is not None and (numbers <= most).all()
        and not _looks_like_levels(table, name)
    ]  # fmt: skip
    return able[0] if len(able) == 1 else None


def _shown_by_contents(table: pl.DataFrame, free: Sequence[str], clicked: str) -> str | None:
    least = whole_numbers(table[clicked])
    if least is None:
        return None
    able = [
        name
        for name in free
        if name != clicked and (numbers := whole_numbers(table[name])) is not None and (numbers >= least).all()
        and not _looks_like_levels(table, name)
    ]  # fmt: skip
    return able[0] if len(able) == 1 else None


def _looks_like_levels(table: pl.DataFrame, name: str) -> bool:
    """Few different values that come again and again."""
    return table.height >= 4 and table[name].n_unique() <= table.height / 2
