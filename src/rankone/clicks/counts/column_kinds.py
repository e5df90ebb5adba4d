"""What a column of a table is, by its name and what it holds: counts, a time, a measure, who came, or levels.

The one place that says so. Names are compared word by word, in the languages in which programs write exports.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from rankone.clicks.counts.column_values import (
    COLUMN_PERIODS,
    COLUMN_WORDS,
    days_of,
    is_measure,
    is_outcome,
    mostly_numbers,
    whole_numbers,
)


def entries(text: str) -> tuple[str, ...]:
    """Return the words and phrases of a text with commas between them."""
    return tuple(" ".join(entry.split()) for entry in text.split(","))


WORDS = {what: entries(text) for what, text in COLUMN_WORDS.items()}
PEOPLE, IMPRESSIONS = set(WORDS["people"]), set(WORDS["impressions"])
#: Usual names of columns, the more usual one first.
SHOWN = WORDS["shown"] + tuple(sorted(PEOPLE | IMPRESSIONS))
CLICKED, WHEN = WORDS["clicked"], WORDS["when"]
_VAGUE = {"results", "ergebnisse"}  # clicks only where nothing else is
_BESIDE_COUNTS = set(WORDS["beside-counts"])
PERIODS = {period: set(entries(text)) for period, text in COLUMN_PERIODS.items()}
_BESIDE_WHEN = set(WORDS["beside-when"])
GOALS = {"metric", "goal", "kpi"}  # each of which has the same visitors
GROUP = {"query", "test", "experiment", *GOALS}  # what makes several tables of one
_AUDIENCE = ({"campaign"}, {"adset"}, {"adgroup"}, {"ad", "set"}, {"ad", "group"}, {"kampagne"}, {"anzeigengruppe"})
_WHO = set(WORDS["who"])
NUMBER_OF = set(WORDS["number-of"])
_VISITOR = set(WORDS["visitor"])
_BESIDE_VISITOR = set(WORDS["beside-visitor"])
PLACE = set(WORDS["places"])
_AMOUNT = set(WORDS["amount"])
_RATES = {frozenset(name.split()) for name in WORDS["rates"]}
_BESIDE_RATES = set(WORDS["beside-rates"])
_RESULT = set(WORDS["result"])


AMOUNTS = ("numbers with fractions", "an amount")  # why a column holds no levels


class Kind(NamedTuple):
    """What a column is (shown, clicked, time, visitor, who, other, audience or levels), and why it holds no levels.

    Audiences hold levels where there is nothing else to compare.
    """

    what: str
    why: str = ""


def kind_of(column: pl.Series) -> Kind:
    """Say what a column is.

    >>> kind_of(pl.Series("Link clicks", ["12", "1,200"])).what, kind_of(pl.Series("Datum", ["1.10.2026", ""])).what
    ('clicked', 'time')
    >>> kind_of(pl.Series("Device category", ["mobile", "desktop"]))
    Kind(what='visitor', why='it describes visitors, not what was shown')
    """
    words = set(words_of(column.name))
    if column.dtype.is_nested():
        return Kind("other", "neither names nor whole numbers")
    rows, column = len(column), column.unique(maintain_order=True)  # of a log each value once
    if mostly_numbers(column) and "%" not in column.name:
        for what, names in (("shown", SHOWN), ("clicked", CLICKED)):
            if distance(column.name, names) is not None:
                return Kind(what, "another outcome" if is_outcome(column) else "another count")
    if days_of(column) is not None or column.dtype.is_temporal() or _is(words, set(WHEN), _BESIDE_WHEN):
        return Kind("time", "it says when, not what was shown")
    if is_measure(column):
        return Kind("other", AMOUNTS[0])
    if _is(words, _WHO, NUMBER_OF) or (words and words <= NUMBER_OF and 2 * len(column) > rows):
        return Kind("who", "it says who came, not what was shown")
    if _is(words, _VISITOR, _BESIDE_VISITOR | _WHO) or (words & _WHO and _is(words, _BESIDE_VISITOR, _WHO)):
        return Kind("visitor", "it describes visitors, not what was shown")
    if words & _AMOUNT and whole_numbers(column) is not None:
        return Kind("other", AMOUNTS[1])
    if words & _RESULT and is_outcome(column):
        return Kind("other", "a result, not a variant")
    audience = any(telling <= words <= telling | {"name", "id", "title"} for telling in _AUDIENCE)
    return Kind("audience" if audience else "levels")


def words_of(name: str) -> list[str]:
    """Return the words in a name.

    >>> words_of("user_id"), words_of("userId"), words_of("Größe (cm)")
    (['user', 'id'], ['user', 'id'], ['grösse', 'cm'])
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.findall(r"[^\W\d_]+|\d+", apart.casefold())


def distance(name: str, names: Sequence[str]) -> tuple[int, int] | None:
    """Return how far a name is from the usual ones, to compare: words that are left aside, then its place among them.

    >>> distance("Unique Clicks", CLICKED), distance("clicks", CLICKED), distance("headline", CLICKED)
    ((1, 1), (0, 1), None)
    """
    words = words_of(name)
    plain = [word for word in words if word not in _BESIDE_COUNTS]
    for phrase, aside in ((" ".join(words), 0), (" ".join(plain), len(words) - len(plain))):
        if phrase in names:
            return aside + len(_BESIDE_COUNTS) * (phrase in _VAGUE), names.index(phrase)
    return None


def nearest(columns: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the column whose name is nearest to the usual ones, None if there is none."""
    able = [(far, index) for index, name in enumerate(columns) if (far := distance(name, names)) is not None]
    return columns[min(able)[1]] if able else None


def is_click_rate(name: str) -> bool:
    """Whether a column is called a click rate.

    >>> is_click_rate("Avg. CTR"), is_click_rate("conversion (%)"), is_click_rate("Probability to win (%)")
    (True, True, False)
    """
    words = frozenset(words_of(name))
    return words - _BESIDE_RATES in _RATES or ("%" in name and distance(name, CLICKED) is not None)


def _is(words: set[str], telling: set[str], beside: set[str]) -> bool:
    """Whether words hold one that tells, and no other than those that may stand beside it."""
    return bool(words & telling) and words <= telling | beside
