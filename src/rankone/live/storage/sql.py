"""All that is stored and asked for in SQL, written once for all databases: experiments, journals, snapshots, tokens."""
# ruff: noqa: S608 - statements are put together of constants; values are parameters

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from rankone.errors import InputError, JournalError
from rankone.live.journal.events import COLUMNS, LEARNED, MARKS, Kind, as_sql
from rankone.live.lists import CLICKED
from rankone.live.storage.driver import UNSURE, Driver, Row, placeholders
from rankone.registry import Registry

STORAGES: Registry[type[Storage]] = Registry("kind of database", "kinds of databases", __package__)
_NEWEST = 200_000  # events, among which the last decision is looked for
_SOUGHT_AT_ONCE = 500  # decisions looked for in one statement
_OF = "FROM rankone_journal WHERE experiment = {}"
_EVENTS = f"SELECT {', '.join(COLUMNS)} {_OF}"
_ASKED = f"{_OF} AND kind = {int(Kind.ASK)}"
_LAST = f"SELECT max(seq) {_OF}"
_END = f"({_LAST})"
# `at / width` divides whole numbers in SQLite and PostgreSQL alike.
_CLICKS = f"sum(CASE WHEN value & {CLICKED} <> 0 THEN 1 ELSE 0 END)"
_COURSE = f"""SELECT at / {{}}, kind, count(*), {_CLICKS}, sum(CASE WHEN source = {{}} THEN 1 ELSE 0 END)
    {_OF} AND seq > {{}} AND seq <= {{}} AND kind IN ({as_sql((Kind.ASK, *LEARNED))}) GROUP BY 1, 2"""
_TOKEN = "id, digest, note, scopes, experiment, rate, created, expires, revoked, made_by, revoked_by"  # noqa: S105


@functools.cache
def _insert(*columns: int) -> str:
    names = ["experiment", *(COLUMNS[column] for column in columns)]
    return f"INSERT INTO rankone_journal ({', '.join(names)}) VALUES ({placeholders(len(names))})"


class Storage(Driver):
    """A database that holds experiments. A subclass in a file of this folder is another kind of database."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "name" in cls.__dict__:
            STORAGES.add(cls.name, cls)

    def _value(self, statement: str, *parameters: Any) -> Any:
        """Return the only value of the only row, or None where there is no row."""
        rows = self.query(statement, parameters)
        return rows[0][0] if rows else None

    def names(self) -> dict[str, int]:
        """Return the experiments by name."""
        names: dict[str, int] = dict(self.query("SELECT name, id FROM rankone_experiments ORDER BY id"))
        if not all(isinstance(name, str) for name in names):  # as a damaged page has it
            raise JournalError("names of experiments", "what is no text", "restore the database from a backup")
        return names

    def find(self, name: str) -> int | None:
        """Return the number of an experiment, if there is one of that name."""
        if not name.isprintable():  # so there is none, and databases would stumble over some signs
            return None
        number = self._value("SELECT id FROM rankone_experiments WHERE name = {}", name)
        return None if number is None else int(number)

    def number(self, name: str) -> int:
        """Return the number of an experiment that there must be."""
        number = self.find(name)
        if number is None:
            known = ", ".join(self.names()) or "none"
            raise InputError("No such experiment:", name, f"this database has: {known}")
        return number

    def add(self, name: str) -> int:
        """Enter a new experiment inside a transaction; the caller knows that there is none of that name."""
        number = int(self._value("SELECT coalesce(max(id), 0) + 1 FROM rankone_experiments"))
        self.query("INSERT INTO rankone_experiments (id, name) VALUES ({}, {})", (number, name))
        return number

    def append(self, experiment: int, rows: Sequence[Row]) -> None:
        """Add events to the journal. Columns that are null in all of them are not named: nulls take time."""
        if not rows:
            return
        columns = list(zip(*rows, strict=True))
        null = (None,) * len(rows)
        named = tuple([column for column, values in enumerate(columns) if values != null])
        values = [columns[column] for column in named]
        self.insert_many(_insert(*named), list(zip((experiment,) * len(rows), *values, strict=True)))

    def tail(self, experiment: int, after: int, limit: int) -> list[Row]:
        """Return the events behind event `after`, oldest first."""
        return self._events("seq > {} ORDER BY seq LIMIT {}", experiment, after, limit)

    def upto(self, experiment: int, last: int) -> list[Row]:
        """Return the events up to event `last` that are there."""
        return self._events("seq <= {} ORDER BY seq", experiment, last)

    def of_decision(self, experiment: int, decision: int) -> list[Row]:
        """Return the events of one decision, oldest first."""
        return self._events("decision = {} ORDER BY seq", experiment, decision)

    def of_key(self, experiment: int, key: str) -> list[Row]:
        """Return the first decision that was asked with an idempotency key."""
        return self._events("key = {}", experiment, key)

    def marks(self, experiment: int) -> list[Row]:
        """Return the rare events that change what the others mean. They are those without a decision."""
        return self._events(f"decision = -1 AND kind IN ({as_sql(MARKS)}) ORDER BY seq", experiment)

    def _events(self, condition: str, *parameters: Any) -> list[Row]:
        return self.query(f"{_EVENTS} AND {condition}", parameters)

    def asked_by(
        self, experiment: int, decisions: Sequence[int], source: str | None = None, token: str | None = None
    ) -> list[int]:
        """Return those of the decisions that were asked with this source, and with this token."""
        given = {column: text for column, text in (("source", source), ("token", token)) if text is not None}
        conditions = "".join(f" AND {column} = {{}}" for column in given)
        result: list[int] = []
        for first in range(0, len(decisions), _SOUGHT_AT_ONCE):
            some = decisions[first : first + _SOUGHT_AT_ONCE]
            among = f"{conditions} AND decision IN ({placeholders(len(some))}) ORDER BY decision"
            rows = self.query(f"SELECT decision {_ASKED}{among}", (experiment, *given.values(), *some))
            result += [number for (number,) in rows]
        return result

    def decision_at(self, experiment: int, at: int) -> int:
        """Return the number of decisions asked before the time `at`."""
        return int(self._value(f"SELECT coalesce(max(decision), -1) {_ASKED} AND at < {{}}", experiment, at)) + 1

    def heads(self, experiment: int, after: int, last: int, limit: int) -> list[Row]:
        """Return (seq, kind, decision) of events behind `after`, up to `last`."""
        statement = f"SELECT seq, kind, decision {_OF} AND seq > {{}} AND seq <= {{}} ORDER BY seq LIMIT {{}}"
        return self.query(statement, (experiment, after, last, limit))

    def group_end(self, experiment: int, last: int) -> int:
        """Return the last event, up to event `last`, with which a commit ended."""
        ends = f"SELECT coalesce(max(seq), 0) {_OF} AND seq <= {{}} AND chain IS NOT NULL"
        return int(self._value(ends, experiment, last))

    def remove(self, experiment: int, events: Sequence[int]) -> None:
        """Take out events, by their numbers, in a transaction."""
        with self.transaction([experiment]):
            self.insert_many(f"DELETE {_OF} AND seq = {{}}", [(experiment, seq) for seq in events])

    def last_events(self) -> dict[str, int]:
        """Return the number of the last event of each experiment, by name: a look into an index for each."""
        result = self.query(f"SELECT name, {_END.format('id')} FROM rankone_experiments ORDER BY id")
        return {name: int(seq or 0) for name, seq in result}

    def last_event(self, experiment: int) -> int:
        """Return the number of the last event; 0: there is none."""
        return int(self._value(_LAST, experiment) or 0)

    def last_action(self, experiment: int) -> tuple[int, int]:
        """Return the number and time of the last decision asked or outcome told among the newest events; 0: none was.

        At the edge that is when rows were told that changed the sums. What ends with time alone (silence that counts,
        decisions that are closed for their age) is no action.
        """
        kinds = as_sql((Kind.ASK, Kind.TELL, Kind.HOLD, Kind.LATE, Kind.GOAL, Kind.SUMS))
        newest = self.last_event(experiment) - _NEWEST
        statement = f"SELECT seq, at {_OF} AND seq > {{}} AND kind IN ({kinds}) ORDER BY seq DESC LIMIT 1"
        found = self.query(statement, (experiment, newest))
        return (int(found[0][0]), int(found[0][1])) if found else (0, 0)

    def last_decision(self, experiment: int) -> int:
        """Return the number of the last decision, which is found in an index of its own; -1: there is none."""
        return int(self._value(f"SELECT coalesce(max(decision), -1) {_OF}", experiment))

    def span(self, experiment: int, after: int = 0) -> tuple[int, int]:
        """Return when the first event behind event `after` happened, and when the last one did."""
        statement = f"SELECT min(at), max(at) {_OF} AND seq IN ({{}}, {_END})"
        first, last = self.query(statement, (experiment, after + 1, experiment))[0]
        return first or 0, last or 0

    def course(self, experiment: int, after: int, upto: int, width: int, source: str) -> list[Row]:
        """Count events `after` to `upto` by time and kind: (stretch of `width`, kind, count, clicks, of `source`)."""
        return self.query(_COURSE, (width, source, experiment, after, upto))

    def base(self, experiment: int) -> tuple[int, Any] | None:
        """Return (seq, body) of what is known where the journal begins; None: it has all its events."""
        result = self.query("SELECT seq, body FROM rankone_snapshots WHERE experiment = {} AND base = 1", (experiment,))
        return (int(result[0][0]), result[0][1]) if result else None

    def base_seq(self, experiment: int) -> int:
        """Return the last event that was moved to a file; 0: none was."""
        return int(self._value("SELECT seq FROM rankone_snapshots WHERE experiment = {} AND base = 1", experiment) or 0)

    def put_base(self, experiment: int, seq: int, body: bytes) -> None:
        """Let the journal begin behind event `seq`. Snapshots of earlier events have nothing to be checked against."""
        self.query("DELETE FROM rankone_snapshots WHERE experiment = {} AND seq <= {}", (experiment, seq))
        statement = "INSERT INTO rankone_snapshots (experiment, seq, body, base) VALUES ({}, {}, {}, 1)"
        self.query(statement, (experiment, seq, body))

    def snapshots(self, experiment: int) -> list[tuple[int, Any]]:
        """Return (seq, body) of the snapshots behind the base, newest first."""
        statement = "SELECT seq, body FROM rankone_snapshots WHERE experiment = {} AND seq > {} ORDER BY seq DESC"
        return [(seq, body) for seq, body in self.query(statement, (experiment, self.base_seq(experiment)))]

    def keep_snapshot(self, experiment: int, seq: int, body: bytes) -> None:
        """Store a snapshot and forget all but the one before it, and the base."""
        self.drop_snapshots(experiment, "seq >= {}", seq)
        older = "seq < (SELECT max(seq) FROM rankone_snapshots WHERE experiment = {})"
        self.drop_snapshots(experiment, older, experiment)
        statement = "INSERT INTO rankone_snapshots (experiment, seq, body) VALUES ({}, {}, {})"
        self.query(statement, (experiment, seq, body))

    def drop_snapshots(self, experiment: int, condition: str = "seq > {}", value: int = 0) -> None:
        """Forget snapshots, all but the base: they are a convenience, the journal is the truth."""
        statement = "DELETE FROM rankone_snapshots WHERE experiment = {} AND base IS NULL"
        self.query(f"{statement} AND {condition}", (experiment, value))

    def tokens(self) -> list[Row]:
        """Return all tokens (`rankone.web.server.access.tokens` says what one is), oldest first.

        A row is (id, digest, note, scopes, experiment, rate, created, expires, revoked, made by, revoked by).
        """
        return self.query(f"SELECT {_TOKEN} FROM rankone_tokens ORDER BY created, id")

    def add_token(self, row: Row) -> None:
        """Enter a token."""
        self.query(f"INSERT INTO rankone_tokens ({_TOKEN}) VALUES ({placeholders(len(row))})", row)

    def revoke_token(self, id: str, at: int, by: str | None = None) -> None:
        """Say that a token was revoked, and by which other one, unless that was said before."""
        statement = "UPDATE rankone_tokens SET revoked = {}, revoked_by = {} WHERE id = {} AND revoked IS NULL"
        self.query(statement, (at, by, id))

    def write_and_forget(self, row: Row) -> None:
        """Enter a token and take it out again, in one durable transaction: to see whether that can be done."""
        with self.transaction():
            self.add_token(row)
            self.query("DELETE FROM rankone_tokens WHERE id = {}", (row[0],))


__all__ = ["STORAGES", "UNSURE", "Row", "Storage"]
