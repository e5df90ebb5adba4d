"""The table of visitors who were shown something at the edge, and of their clicks: to count each of them once.

A visitor is 64 bits of a hash. All of it can be thrown away once nothing more is told of an experiment: the sums are in
its journal.
"""
# ruff: noqa: S608 - statements are put together of constants; values are parameters

from collections.abc import Sequence

from rankone.live.storage.driver import Row, placeholders
from rankone.live.storage.sql import Storage

_AT_ONCE = 500  # visitors looked for in one statement
_EXPOSURES = ("visitor", "version", "at", "cell")
_CLICKS = ("visitor", "at")


def _known(storage: Storage, table: str, columns: Sequence[str], experiment: int, visitors: Sequence[int]) -> list[Row]:
    result: list[Row] = []
    for first in range(0, len(visitors), _AT_ONCE):
        some = visitors[first : first + _AT_ONCE]
        statement = f"SELECT {', '.join(columns)} FROM {table} WHERE experiment = {{}} AND visitor IN "
        result += storage.query(f"{statement}({placeholders(len(some))})", (experiment, *some))
    return result


def exposures_of(storage: Storage, experiment: int, visitors: Sequence[int]) -> list[Row]:
    """Return what visitors were shown: (visitor, version, at, cell)."""
    return _known(storage, "rankone_exposures", _EXPOSURES, experiment, visitors)


def clicks_of(storage: Storage, experiment: int, visitors: Sequence[int]) -> list[Row]:
    """Return when visitors clicked: (visitor, at)."""
    return _known(storage, "rankone_clicks", _CLICKS, experiment, visitors)


def keep(storage: Storage, experiment: int, exposures: Sequence[Row], clicks: Sequence[Row]) -> None:
    """Store what visitors were shown, in place of what is there of the same visitor and version; and clicks."""
    into = f"INSERT INTO rankone_exposures (experiment, {', '.join(_EXPOSURES)}) VALUES ({placeholders(5)})"
    again = "ON CONFLICT (experiment, visitor, version) DO UPDATE SET at = excluded.at, cell = excluded.cell"
    if exposures:
        storage.insert_many(f"{into} {again}", [(experiment, *row) for row in exposures])
    if clicks:
        into = f"INSERT INTO rankone_clicks (experiment, {', '.join(_CLICKS)}) VALUES ({placeholders(3)})"
        storage.insert_many(f"{into} ON CONFLICT DO NOTHING", [(experiment, *row) for row in clicks])
