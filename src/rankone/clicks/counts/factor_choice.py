"""Which of a table's columns are factors, and why the others are not: each is named with its reason."""

import re
from collections.abc import Mapping, Sequence

import polars as pl

from rankone.clicks.counts.column_kinds import GOALS, GROUP, NUMBER_OF, PLACE, Kind, words_of
from rankone.clicks.counts.column_values import whole_numbers
from rankone.errors import InputError
from rankone.wording.lists import listed

MOST_LEVELS = 200  # of a factor that nobody named
_SOME_LEVELS = 20  # up to which a column is not suspected for their number
_LEAST_ROWS = 10  # impressions of a level, on average: of what comes more seldom little can be said
_SELDOM = "this looks like a metric, not a variant"
_CONSTANT = "it has only one value"
_AUDIENCE = "it says to whom something was shown, not what was shown"
_RUNNING = "it numbers the rows"
_NUMBERED = re.compile(r"\D*\d+|[0-9a-f]{8}[0-9a-f-]{8,}", re.IGNORECASE)  # "row 12", or a long hexadecimal number


def choose_factors(
    table: pl.DataFrame, kinds: Mapping[str, Kind], single: bool, one_table: bool = True
) -> tuple[list[str], dict[str, str]]:
    """Return the columns that hold levels, and of the others why they do not.

    `kinds` are those of the columns that hold neither clicks nor impressions nor slices of time; `single` says that a
    row is a single impression; `one_table` refuses rows of several tables, told apart by a column such as `query`
    (those of several goals are always refused).
    """
    left = {name: why for name, kind in kinds.items() if (why := kind.why or _no_factor(table[name], single))}
    chosen = [name for name in kinds if name not in left]
    if one_table:
        _refuse_tests(table, kinds)
    _refuse_groups(table, chosen, one_table)
    if any(table[name].n_unique() > 1 for name in chosen):
        left |= {name: _CONSTANT for name in chosen if table[name].n_unique() == 1}
    chosen = [name for name in chosen if name not in left]
    for name in list(chosen):
        if len(chosen) > 1 and _is_running(table, name, chosen):
            chosen.remove(name)
            left[name] = _RUNNING
    audiences = [name for name in chosen if kinds[name].what == "audience"]
    while len(chosen) > 1 and (redundant := _redundant(table, chosen, audiences)) is not None:
        chosen.remove(redundant)
        metric = not single and redundant not in audiences and _is_amount(table[redundant])
        left[redundant] = _SELDOM if metric else _confounded(table, redundant, chosen)
    if any(name not in audiences for name in chosen):
        left |= {name: _AUDIENCE for name in chosen if name in audiences}
        chosen = [name for name in chosen if name not in audiences]
    seldom = [name for name, why in left.items() if why == _SELDOM]
    if len(seldom) == 1 and all(table[name].n_unique() == 1 for name in chosen):
        left |= dict.fromkeys(chosen, _CONSTANT)  # positions 1 to 5, a row each: what else could they be
        return seldom, {name: why for name, why in left.items() if name not in seldom}
    return chosen, left


def _no_factor(column: pl.Series, single: bool) -> str:
    """Say why a column that may hold levels has too many of them."""
    distinct, rows = column.n_unique(), len(column)
    number = whole_numbers(column.unique()) is not None
    if single and distinct > _SOME_LEVELS and rows < _LEAST_ROWS * distinct:
        return f"{distinct:,} different values in {rows:,} rows look like ids, not variants"
    if number and not set(words_of(column.name)) & PLACE and single and distinct > _SOME_LEVELS:
        return f"{distinct} different numbers look like a metric, not a variant"
    if number and not single and rows >= 4 and distinct > rows / 2 and not _is_numbering(column):
        return _SELDOM
    if distinct > MOST_LEVELS:
        return f"{distinct:,} different values"
    return ""


def _is_amount(column: pl.Series) -> bool:
    """Whether a column that adds no combination holds counts of its own rather than names."""
    words = set(words_of(column.name))
    return not words & (PLACE | NUMBER_OF) and whole_numbers(column) is not None and not _is_numbering(column)


def _is_numbering(column: pl.Series) -> bool:
    """Whether whole numbers are those from 0 or 1 on, without a gap: names rather than amounts."""
    numbers = whole_numbers(column)
    if numbers is None or numbers.is_empty():
        return False
    known = numbers.unique().sort().to_list()
    return known[0] in (0.0, 1.0) and known[-1] - known[0] + 1.0 == len(known)


def _refuse_tests(table: pl.DataFrame, kinds: Mapping[str, Kind]) -> None:
    for name in kinds:
        words = set(words_of(name))
        if words & {"test", "experiment"} and words & NUMBER_OF and (tests := table[name].n_unique()) > 1:
            do = "keep the rows of one test, or name the factors: factors=['headline']"
            raise InputError(f"This table holds {tests:,} tests:", f"column '{name}'", do)


def _refuse_groups(table: pl.DataFrame, chosen: Sequence[str], one_table: bool) -> None:
    words = {name: set(words_of(name)) for name in chosen if table[name].n_unique() > 1}
    groups = [name for name, own in words.items() if own & GROUP and own <= GROUP | {"name", "id", "title"}]
    goals = [name for name in groups if words[name] & GOALS]
    name, what, do = "", "", ""
    if goals and (len(chosen) > 1 or not one_table):
        name, what, do = goals[0], "{:,} goals", "keep the rows of one, as all have the same visitors"
    elif one_table and groups and len(chosen) > 1:
        name, what = groups[0], "several tables ({:,})"
        do = f"keep the rows of one {name}, or name the factors: factors=['headline']"
    if name:
        known = table[name].unique(maintain_order=True)
        some = ", ".join(map(str, known.head(3))) + (", ..." if len(known) > 3 else "")
        raise InputError(f"This table holds {what.format(len(known))}:", f"column '{name}' ({some})", do)


def _is_running(table: pl.DataFrame, name: str, chosen: Sequence[str]) -> bool:
    column = table[name]
    others = [other for other in chosen if other != name]
    if not column.n_unique() == table.height > 3 or all(table[other].n_unique() == table.height for other in others):
        return False
    texts = column.cast(pl.String).str.strip_chars().to_list()
    return all(text is not None and _NUMBERED.fullmatch(text) for text in texts)


def _redundant(table: pl.DataFrame, chosen: Sequence[str], audiences: Sequence[str]) -> str | None:
    """Return a column that adds no combination to those of the others: an audience, a number, or one of most values."""
    together = table.select(chosen).n_unique()
    if together == 1:
        return None
    able = [
        name for name in chosen if table.select([other for other in chosen if other != name]).n_unique() == together
    ]

    def doubt(name: str) -> tuple[bool, int, bool, bool]:
        number = bool(set(words_of(name)) & NUMBER_OF)
        return name in audiences, table[name].n_unique(), number, whole_numbers(table[name]) is not None

    return max(reversed(able), key=doubt) if able else None


def _confounded(table: pl.DataFrame, factor: str, chosen: Sequence[str]) -> str:
    for other in chosen:
        pairs = table.select(factor, other).n_unique()
        if pairs == table[other].n_unique() == table[factor].n_unique():
            return f"it changes together with '{other}', so the effect of '{other}' may be due to either"
        if pairs == table[other].n_unique():
            return f"each '{other}' has only one '{factor}', so the effect of '{other}' may be due to either"
    return f"{listed(chosen)} determine it"
