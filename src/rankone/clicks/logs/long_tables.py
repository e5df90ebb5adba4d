"""Which column of a long table holds what, and what its values must be, in the same words for files and dataframes."""

from collections.abc import Iterable, Mapping, Sequence

from rankone.clicks.counts.counts import MOST_POSITIONS
from rankone.errors import InputError

NO_POSITION = f"the position is no whole number from 1 to {MOST_POSITIONS}"
NO_PLACE = "the position is missing"
NO_COUNTS = "the counts are no whole numbers from 0 up"
NO_OUTCOME = "the outcome is not 0 or 1"
NOT_ENCODED = "the row is not "  # and the encoding
_SHOWN_VALUE = 40
#: Which value of a row a reason is about.
ABOUT = {f"the {name} is missing": name for name in ("query", "item", "list")}
ABOUT |= {NO_POSITION: "position", NO_PLACE: "position", NO_OUTCOME: "clicked", NO_COUNTS: "clicked"}
#: What databases, web servers and NumPy write for "nothing". Words that may be queries or items (NA, None, nan, null)
#: are not among them.
MISSING = ("", "-", "\\N", "NULL", "NaN")


def missing_texts(named: str | Iterable[str] | None) -> list[str]:
    """Return the texts that stand for a missing name, in capitals or not as written; nothing at all always does.

    >>> missing_texts(None), missing_texts("NA,None"), missing_texts("")
    (['', '-', '\\\\N', 'NULL', 'NaN'], ['', 'NA', 'None'], [''])
    """
    if named is None:
        return [*MISSING]
    return list(dict.fromkeys(["", *(named.split(",") if isinstance(named, str) else named)]))


def reason_text(reason: str, value: str | None) -> str:
    """Return a reason with a value that was found.

    >>> reason_text(NO_OUTCOME, "yes"), reason_text("the item is missing", "-")
    ("the outcome is not 0 or 1 but 'yes'", "the item is missing ('-')")
    """
    if not value:
        return reason
    shown = f"'{value[:_SHOWN_VALUE]}'"
    return f"{reason} ({shown})" if reason.endswith("is missing") else f"{reason} but {shown}"


def hint(reason: str, value: str | None) -> str:
    """Say what to do about values that cannot be used, of which one is given."""
    if reason == NO_POSITION and value in ("0", "0.0"):
        return "count positions from 1 (add 1 to those that start at 0)"
    if reason == NO_OUTCOME:
        return "write outcomes as 0/1 or true/false"
    if reason.startswith(NOT_ENCODED):
        return "name the encoding: encoding=latin-1, for example"
    if reason.endswith("is missing") and value:
        return f"if '{value}' is a name, say what stands for a missing one: missing=NULL, for example"
    return "check the format and the columns"


def find_columns(header: Sequence[str], named: Mapping[str, str | None]) -> dict[str, str]:
    """Return the columns of a header by what they hold; None stands for the usual name, if there is such a column.

    >>> find_columns(["Query", "doc", "rank"], {"query": None, "item": "doc", "position": "Rank", "list": None})
    {'query': 'Query', 'item': 'doc', 'position': 'rank'}
    """
    result = {}
    for what, name in named.items():
        exact = [column for column in header if column == (name or what)]
        alike = exact or [column for column in header if column.strip().casefold() == (name or what).casefold()]
        if len(alike) == 1:
            result[what] = alike[0]
        elif alike or name is not None:
            free = [column for column in header if column not in result.values() and column not in named.values()]
            do = f"name the column: {what}={free[0] if free else '...'}"
            raise InputError(f"one column '{name or what}' ({what})", f"the columns {', '.join(header)}", do)
    return result


def pooled(header: Sequence[str], columns: Mapping[str, str], query: str) -> str:
    """Say that all rows were taken as one query, and where their queries may be."""
    others = [column for column in header if column and column not in columns.values()]
    text = f"No column 'query': all rows are taken as one query, '{query}'."
    if not others:
        return text
    return f"{text} Other columns: {', '.join(others)}; if one holds the queries, name it: query={others[0]}."
