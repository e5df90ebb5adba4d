"""The statements on experiments, their journals and their snapshots."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

from rankone.errors import InputError, JournalError
from rankone.live.journal.events import COLUMNS, MARKS, NUMBERS, Kind, as_sql
from rankone.live.storage.dialect import places
from rankone.live.storage.driver import Driver, Row

_ALWAYS, _SOMETIMES = range(len(NUMBERS)), range(len(NUMBERS), len(COLUMNS))  # columns of an event
_SOUGHT_AT_ONCE = 500  # decisions looked for in one statement


@functools.cache
def _insert(*named: int) -> str:
    columns = ["experiment", *(COLUMNS[place] for place in named)]
    return f"INSERT INTO rankone_journal ({', '.join(columns)}) VALUES ({places(len(columns))})"  # noqa: S608 - constants


_SELECT = f"SELECT {', '.join(COLUMNS)} FROM rankone_journal WHERE experiment = {{}}"  # noqa: S608 - constants
_ASKED = "SELECT decision FROM rankone_journal WHERE experiment = {} AND kind = {}"
_LAST_ASKED = "SELECT coalesce(max(decision), -1) FROM rankone_journal WHERE experiment = {} AND kind = {}"


class JournalTables(Driver):
    """Experiments, journals, snapshots."""

    def names(self) -> dict[str, int]:
        """Return the experiments by name."""
        found: dict[str, int] = dict(self.query("SELECT name, id FROM rankone_experiments ORDER BY id"))
        if not all(isinstance(name, str) for name in found):  # as a damaged page has it
            raise JournalError("names of experiments", "what is no text", "restore the database from a backup")
        return found

    def find(self, name: str) -> int | None:
        """Return the number of an experiment, if there is one of that name."""
        if not name.isprintable():  # so there is none, and databases would stumble over some signs
            return None
        found = self.query("SELECT id FROM rankone_experiments WHERE name = {}", (name,))
        return int(found[0][0]) if found else None

    def number(self, name: str) -> int:
        """Return the number of an experiment that there must be."""
        number = self.find(name)
        if number is None:
            known = ", ".join(self.names()) or "none"
            raise InputError(f"an experiment of this database ({known})", name, "see `rankone experiments`")
        return number

    def add(self, name: str) -> int:
        """Enter a new experiment inside a transaction; the caller knows that there is none of that name."""
        number = int(self.query("SELECT coalesce(max(id), 0) + 1 FROM rankone_experiments")[0][0])
        self.query("INSERT INTO rankone_experiments (id, name) VALUES ({}, {})", (number, name))
        return number

    def append(self, experiment: int, rows: Sequence[Row]) -> None:
        """Add events to the journal. Columns that are null in all of them are not named: nulls take time."""
        if not rows:
            return
        columns = list(zip(*rows, strict=True))
        named = [*_ALWAYS, *(place for place in _SOMETIMES if columns[place].count(None) < len(rows))]
        values = zip(itertools.repeat(experiment, len(rows)), *[columns[place] for place in named], strict=True)
        self.insert_many(_insert(*named), list(values))

    def tail(self, experiment: int, after: int, limit: int) -> list[Row]:
        """Return the events behind event `after`, oldest first."""
        return self._events("seq > {} ORDER BY seq LIMIT {}", (experiment, after, limit))

    def of_decision(self, experiment: int, decision: int) -> list[Row]:
        """Return the events of one decision, oldest first."""
        return self._events("decision = {} ORDER BY seq", (experiment, decision))

    def of_key(self, experiment: int, key: str) -> list[Row]:
        """Return the first decision that was asked with an idempotency key."""
        return self._events("key = {}", (experiment, key))

    def marks(self, experiment: int) -> list[Row]:
        """Return the rare events that change what the others mean. They are those without a decision."""
        return self._events(f"decision = -1 AND kind IN ({as_sql(MARKS)}) ORDER BY seq", (experiment,))

    def _events(self, condition: str, parameters: Row) -> list[Row]:
        return self.query(f"{_SELECT} AND {condition}", parameters)

    def asked_by(
        self, experiment: int, decisions: Sequence[int], source: str | None = None, token: str | None = None
    ) -> list[int]:
        """Return those of the decisions that were asked with this source, and with this token."""
        given = {column: text for column, text in (("source", source), ("token", token)) if text is not None}
        statement = _ASKED + "".join(f" AND {column} = {{}}" for column in given)
        found: list[int] = []
        for first in range(0, len(decisions), _SOUGHT_AT_ONCE):
            some = decisions[first : first + _SOUGHT_AT_ONCE]
            among = f"{statement} AND decision IN ({places(len(some))}) ORDER BY decision"
            values = (experiment, int(Kind.ASK), *given.values(), *some)
            found += [number for (number,) in self.query(among, values)]
        return found

    def decision_at(self, experiment: int, at: int) -> int:
        """Return the number of decisions asked before the time `at`."""
        found = self.query(f"{_LAST_ASKED} AND at < {{}}", (experiment, int(Kind.ASK), at))
        return int(found[0][0]) + 1

    def base(self, experiment: int) -> tuple[int, Any] | None:
        """Return (seq, body) of what is known where the journal begins; None: it has all its events."""
        found = self._base("seq, body", experiment)
        return (int(found[0][0]), found[0][1]) if found else None

    def base_seq(self, experiment: int) -> int:
        """Return the last event that was moved to a file; 0: none was."""
        found = self._base("seq", experiment)
        return int(found[0][0]) if found else 0

    def _base(self, columns: str, experiment: int) -> list[Row]:
        statement = f"SELECT {columns} FROM rankone_snapshots WHERE experiment = {{}} AND base IS NOT NULL"  # noqa: S608 - constants
        return self.query(statement, (experiment,))

    def put_base(self, experiment: int, seq: int, body: bytes) -> None:
        """Let the journal begin behind event `seq`. Snapshots of earlier events have nothing to be checked against."""
        self.query("DELETE FROM rankone_snapshots WHERE experiment = {} AND seq <= {}", (experiment, seq))
        statement = "INSERT INTO rankone_snapshots (experiment, seq, body, base) VALUES ({}, {}, {}, 1)"
        self.query(statement, (experiment, seq, body))

    def upto(self, experiment: int, last: int) -> list[Row]:
        """Return the events up to event `last` that are there."""
        return self._events("seq <= {} ORDER BY seq", (experiment, last))

    def heads(self, experiment: int, after: int, last: int, limit: int) -> list[Row]:
        """Return (seq, kind, decision) of events behind `after`, up to `last`."""
        statement = "SELECT seq, kind, decision FROM rankone_journal WHERE experiment = {} AND seq > {} AND seq <= {}"
        return self.query(f"{statement} ORDER BY seq LIMIT {{}}", (experiment, after, last, limit))

    def group_end(self, experiment: int, last: int) -> int:
        """Return the last event, up to event `last`, with which a commit ended."""
        statement = "SELECT coalesce(max(seq), 0) FROM rankone_journal WHERE experiment = {} AND seq <= {}"
        return int(self.query(f"{statement} AND chain IS NOT NULL", (experiment, last))[0][0])

    def remove(self, experiment: int, events: Sequence[int]) -> None:
        """Take out events, by their numbers."""
        statement = "DELETE FROM rankone_journal WHERE experiment = {} AND seq = {}"
        self.insert_many(statement, [(experiment, seq) for seq in events])

    def snapshots(self, experiment: int) -> list[tuple[int, Any]]:
        """Return (seq, body) of the snapshots behind the base, newest first."""
        statement = "SELECT seq, body FROM rankone_snapshots WHERE experiment = {} AND seq > {} ORDER BY seq DESC"
        return [(seq, body) for seq, body in self.query(statement, (experiment, self.base_seq(experiment)))]

    def keep_snapshot(self, experiment: int, seq: int, body: bytes) -> None:
        """Store a snapshot and forget all but the one before it, and the base."""
        self._forget("seq >= {}", experiment, seq)
        older = "seq < (SELECT max(seq) FROM rankone_snapshots WHERE experiment = {})"
        self._forget(older, experiment, experiment)
        statement = "INSERT INTO rankone_snapshots (experiment, seq, body) VALUES ({}, {}, {})"
        self.query(statement, (experiment, seq, body))

    def drop_snapshots(self, experiment: int) -> None:
        """Forget all snapshots but the base: they count what is excluded now."""
        self._forget("seq > {}", experiment, 0)

    def drop_snapshot(self, experiment: int, seq: int) -> None:
        """Set a bad snapshot aside: it is a convenience, the journal is the truth."""
        self._forget("seq = {}", experiment, seq)

    def _forget(self, condition: str, experiment: int, value: int) -> None:
        statement = "DELETE FROM rankone_snapshots WHERE experiment = {} AND base IS NULL"
        self.query(f"{statement} AND {condition}", (experiment, value))
