"""What the database itself counts in a journal, which neither holds up this program nor its writers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankone.live.journal.events import LEARNED, Kind, as_sql
from rankone.live.journal.packing import pack_shown
from rankone.live.storage.driver import Driver, Row

# `at / width` divides whole numbers in SQLite and PostgreSQL alike.
_COURSE = f"""SELECT at / {{}}, kind, count(*), sum(value), sum(CASE WHEN source = {{}} THEN 1 ELSE 0 END)
    FROM rankone_journal WHERE experiment = {{}} AND seq > {{}} AND seq <= {{}}
    AND kind IN ({as_sql((Kind.ASK, *LEARNED))}) GROUP BY 1, 2"""  # noqa: S608 - constants
_END = "(SELECT max(seq) FROM rankone_journal WHERE experiment = {})"
_SPAN = f"SELECT min(at), max(at) FROM rankone_journal WHERE experiment = {{}} AND seq IN ({{}}, {_END})"  # noqa: S608 - constants
_RECOUNT = f"""SELECT shown, count(*), sum(value) FROM rankone_journal
    WHERE experiment = {{}} AND seq > {{}} AND kind IN ({as_sql(LEARNED)})"""  # noqa: S608 - constants
_ASKED_BY = (
    f"""SELECT decision FROM rankone_journal WHERE experiment = {{}} AND kind = {int(Kind.ASK)} AND token = {{}}"""  # noqa: S608 - constants
)


class Counting(Driver):
    """Counts of a journal's events."""

    def last_events(self) -> dict[str, int]:
        """Return the number of the last event of each experiment, by name: a look into an index for each."""
        end = "(SELECT max(seq) FROM rankone_journal WHERE experiment = id)"
        found = self.query(f"SELECT name, {end} FROM rankone_experiments ORDER BY id")  # noqa: S608 - constants
        return {name: int(seq or 0) for name, seq in found}

    def last_event(self, experiment: int) -> int:
        """Return the number of the last event; 0: there is none."""
        return int(self.query(f"SELECT {_END}", (experiment,))[0][0] or 0)

    def last_decision(self, experiment: int) -> int:
        """Return the number of the last decision, which is found in an index of its own; -1: there is none."""
        found = self.query("SELECT max(decision) FROM rankone_journal WHERE experiment = {}", (experiment,))[0][0]
        return -1 if found is None else int(found)

    def span(self, experiment: int, after: int = 0) -> tuple[int, int]:
        """Return when the first event behind event `after` happened, and when the last one did."""
        first, last = self.query(_SPAN, (experiment, after + 1, experiment))[0]
        return first or 0, last or 0

    def course(self, experiment: int, after: int, upto: int, width: int, source: str) -> list[Row]:
        """Count events `after` to `upto` by time and kind: (stretch of `width`, kind, count, clicks, of `source`)."""
        return self.query(_COURSE, (width, source, experiment, after, upto))

    def recount(self, experiment: int, exclusions: Sequence[Mapping[str, Any]], after: int = 0) -> list[Row]:
        """Count (shown, outcomes that count, clicks), but for those that fit all that an exclusion names.

        Only events behind event `after` are counted.
        """
        conditions = [_excluded(experiment, exclusion) for exclusion in exclusions]
        statement = "".join([_RECOUNT, *(f" AND NOT ({text})" for text, _ in conditions), " GROUP BY shown"])
        return self.query(statement, (experiment, after, *(value for _, values in conditions for value in values)))


def _excluded(experiment: int, exclusion: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Return the condition under which the database finds an outcome excluded, and its values."""
    parts = ["seq < {}", "seq > {}", "decision >= {}", "decision <= {}"]
    values = [exclusion["seq"], exclusion["after"], exclusion["first"], exclusion["last"]]
    if exclusion["source"] is not None:
        parts.append("source IS NOT NULL AND source = {}")
        values.append(exclusion["source"])
    for factor, level in (exclusion["levels"] or {}).items():
        end, cell = 2 * (int(factor) + 1), pack_shown([level])
        first = " OR length(shown) < {}" if level == 0 else ""  # what came before the factor
        parts.append(f"(substr(shown, {{}}, 2) = {{}}{first})")
        values += [end - 1, cell, *([end] if level == 0 else [])]
    if exclusion["token"] is not None:  # who told it, or who asked for the decision
        parts.append(f"((token IS NOT NULL AND token = {{}}) OR decision IN ({_ASKED_BY}))")
        values += [exclusion["token"], experiment, exclusion["token"]]
    return " AND ".join(parts), values
