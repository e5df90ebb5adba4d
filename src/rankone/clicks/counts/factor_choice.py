"""Which of a table's columns are factors, and why the others are not.

Levels come again and again and are few. A column that says who came, when, or how much is no factor; one that changes
together with others cannot be told apart from them. Each column that is left out is named with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from rankone.clicks.counts.column_values import days_of, is_measure, is_outcome, whole_numbers
from rankone.errors import InputError

GROUP = ("query", "test", "experiment")
MOST_LEVELS = 200  # of a factor that nobody named
_SOME_LEVELS = 20  # up to which a column is not suspected for their number
_LEAST_ROWS = 10  # impressions of a level, on average: of what comes more seldom little can be said
_WHO = {
    "user", "users", "visitor", "session", "customer", "client", "cookie", "member", "person", "subscriber",
    "recipient", "account", "request", "uid", "userid", "sessionid", "visitorid", "uuid", "guid", "ip", "email",
}  # fmt: skip
_NUMBER_OF = {"id", "ids", "no", "nr", "number", "key", "hash", "token", "address", "uuid", "index"}
_PLACE = {
    "position",
    "pos",
    "rank",
    "slot",
    "place",
    "row",
    "col",
    "column",
    "variant",
    "version",
}  # may be many numbers
_AMOUNT = {
    "cost", "costs", "spend", "spent", "revenue", "sales", "turnover", "profit", "budget", "amount", "value",
    "duration", "seconds", "minutes", "ms", "bounces", "likes", "shares", "comments", "quantity", "score", "age",
    "weight",
}  # fmt: skip
_SELDOM = "whole numbers that hardly come twice are more like an amount than like levels"
_CONSTANT = "it has one value only"
_RUNNING = "every row has another value, as numbers of rows have"
_NUMBERED = re.compile(r"\D*\d+|[0-9a-f]{8}[0-9a-f-]{8,}", re.IGNORECASE)  # "row 12", or a long hexadecimal number


def choose_factors(
    table: pl.DataFrame, free: Sequence[str], single: bool, counts: Sequence[str], one_table: bool = True
) -> tuple[list[str], dict[str, str]]:
    """Return the columns that hold levels, and of the others why they do not.

    Args:
        table: the rows.
        free: columns that hold neither clicks nor impressions nor slices of time.
        single: whether a row is a single impression.
        counts: usual names of counts: another column of that name is another count.
        one_table: whether to refuse rows of several tables, told apart by a column such as `query`.
    """
    left = {name: why for name in free if (why := _no_factor(table[name], single, counts))}
    chosen = [name for name in free if name not in left]
    if one_table:
        _refuse_groups(table, chosen)
    for why, useless in ((_CONSTANT, _is_constant), (_RUNNING, _is_running)):
        for name in list(chosen):
            if len(chosen) > 1 and useless(table, name, chosen):
                chosen.remove(name)
                left[name] = why
    while len(chosen) > 1 and (told := _told_by_others(table, chosen)) is not None:
        chosen.remove(told)
        left[told] = _confounded(table, told, chosen)
    seldom = [name for name, why in left.items() if why == _SELDOM]
    if len(seldom) == 1 and all(table[name].n_unique() == 1 for name in chosen):
        left |= dict.fromkeys(chosen, _CONSTANT)  # positions 1 to 5, a row each: what else could they be
        return seldom, {name: why for name, why in left.items() if name not in seldom}
    return chosen, left


def _no_factor(column: pl.Series, single: bool, counts: Sequence[str]) -> str:
    """Say why a column cannot hold levels, whatever the others hold."""
    distinct, rows = column.n_unique(), len(column)
    words = _words(column.name)
    number = whole_numbers(column) is not None
    if is_measure(column):
        return "numbers with fractions"
    if column.dtype.is_nested():
        return "neither names nor whole numbers"
    if days_of(column) is not None or column.dtype.is_temporal():
        return "dates"
    if words and set(words) <= _WHO | _NUMBER_OF and (set(words) & _WHO or distinct > rows / 2):
        return "it says who came, not what was shown"
    if number and column.name.strip().casefold() in counts:
        return "another outcome" if is_outcome(column) else "another count"
    if number and set(words) & _AMOUNT:
        return "an amount"
    if single and distinct > _SOME_LEVELS and rows < _LEAST_ROWS * distinct:
        return f"{distinct:,} different values in {rows:,} rows are more like ids than like levels"
    if number and not set(words) & _PLACE and single and distinct > _SOME_LEVELS:
        return f"{distinct} different numbers are more like an amount than like levels"
    if number and not single and rows >= 4 and distinct > rows / 2 and not _is_numbering(column):
        return _SELDOM
    if distinct > MOST_LEVELS:
        return f"{distinct:,} different values"
    return ""


def _is_numbering(column: pl.Series) -> bool:
    """Whether whole numbers are those from 0 or 1 on, without a gap: names rather than amounts."""
    numbers = whole_numbers(column)
    if numbers is None or numbers.is_empty():
        return False
    known = numbers.unique().sort().to_list()
    return known[0] in (0.0, 1.0) and known[-1] - known[0] + 1.0 == len(known)


def _words(name: str) -> list[str]:
    """Return the words in a name: user_id, userId and User-ID are user and id."""
    return [word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name)]


def _refuse_groups(table: pl.DataFrame, chosen: Sequence[str]) -> None:
    """Ask for one table where the rows are those of several."""
    groups = [name for name in chosen if name.strip().casefold() in GROUP and table[name].n_unique() > 1]
    if groups and len(chosen) > 1:
        some = ", ".join(map(str, table[groups[0]].unique(maintain_order=True).head(3)))
        raise InputError(
            f"one table of counts, or its factors by name (factors=[...]), beside a column '{groups[0]}'",
            f"{table[groups[0]].n_unique():,} of them ({some}, ...)",
            f"pass the rows of one {groups[0]}, or name the factors",
        )


def _is_constant(table: pl.DataFrame, name: str, chosen: Sequence[str]) -> bool:
    return table[name].n_unique() == 1 and len(chosen) > 1


def _is_running(table: pl.DataFrame, name: str, chosen: Sequence[str]) -> bool:
    """Whether a column numbers the rows, beside others that come again and again."""
    column = table[name]
    others = [other for other in chosen if other != name]
    if not column.n_unique() == table.height > 3 or all(table[other].n_unique() == table.height for other in others):
        return False
    texts = column.cast(pl.String).str.strip_chars().to_list()
    return all(text is not None and _NUMBERED.fullmatch(text) for text in texts)


def _told_by_others(table: pl.DataFrame, chosen: Sequence[str]) -> str | None:
    """Return a column that adds no combination to those of the others: a number of something, or one of most values."""
    together = table.select(chosen).n_unique()
    able = [
        name for name in chosen if table.select([other for other in chosen if other != name]).n_unique() == together
    ]

    def doubt(name: str) -> tuple[int, bool, bool]:
        number = bool(set(_words(name)) & _NUMBER_OF)
        return table[name].n_unique(), number, whole_numbers(table[name]) is not None

    return max(reversed(able), key=doubt) if able else None


def _confounded(table: pl.DataFrame, told: str, chosen: Sequence[str]) -> str:
    """Say with which columns one changes together."""
    for other in chosen:
        pairs = table.select(told, other).n_unique()
        if pairs == table[other].n_unique() == table[told].n_unique():
            return f"it changes together with '{other}', so what is said of '{other}' may be due to either"
        if pairs == table[other].n_unique():
            return f"each '{other}' comes with one '{told}' only, so what is said of '{other}' may be due to either"
    return f"{' and '.join(chosen)} together tell it already"
