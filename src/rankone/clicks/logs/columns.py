"""Which column of a table holds what: as the caller names it, or by its usual name, in capitals or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankone.errors import InputError


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
