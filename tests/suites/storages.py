"""What every kind of database must do that holds experiments, and what an experiment in it must do."""

import contextlib
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rankone.errors import ConformanceError, RankoneError, StorageError
from rankone.live import Experiment
from rankone.live.journal.events import COLUMNS, Kind
from rankone.live.storage import Storage, open_storage
from rankone.numerics.seeds import generator
from rankone.testing.suite import Suite, expect, expect_refusal

_EVENT: dict[str, Any] = {"kind": int(Kind.ASK), "tag": 2**62, "value": -1}
_EVENT |= {"secret": b"\0\xff'\"?%", "source": "é?%{}"}  # what drivers may take for something else
_EVENT |= {"shown": b"\0{}", "context": '{"a": "%s"}', "chance": 1 / 3, "token": "?"}
_SHORT = 0.2  # seconds of patience, where somebody waits for a lock in vain
_ALL = 1_000


def event(seq: int, **changed: Any) -> tuple[Any, ...]:
    """Return a row of a journal, with values that are not easy to keep."""
    values = _EVENT | {"seq": seq, "at": seq, "decision": seq} | changed
    return tuple(values.get(column) for column in COLUMNS)


class StorageSuite(Suite):
    """Tests of a kind of database.

    Set `db` to the address of a database for tests. Each test enters experiments of its own in it, under new names.
    """

    db: str | Path

    def test_what_is_committed_stays(self) -> None:
        """Every value, in the order of events, also for who opens the database later."""
        with self.open() as storage:
            number, rows = self._experiment(storage), [event(1), event(2, key="a", note="[1]", chain=b""), event(3)]
            with storage.transaction([number]):
                storage.append(number, rows[:2])
                storage.append(number, rows[2:])
            _expect_rows(storage, number, rows, "after `commit`")
        with self.open() as storage:
            _expect_rows(storage, number, rows, "when the database is opened again")
            got = storage.tail(number, 1, 1)
            expect(_values(got) == [rows[1]], "one event behind the first", got, "keep ORDER BY and LIMIT")

    def test_what_is_rolled_back_is_gone_and_nothing_else(self) -> None:
        """Events of earlier transactions stay, and later ones get in."""
        with self.open() as storage:
            number = self._experiment(storage, event(1))
            storage.begin([number])
            storage.append(number, [event(2), event(3)])
            storage.rollback()
            _expect_rows(storage, number, [event(1)], "after `rollback`")
            with storage.transaction([number]):
                storage.append(number, [event(2, col=0)])
            _expect_rows(storage, number, [event(1), event(2, col=0)], "in the transaction after `rollback`")
            storage.rollback()  # of nothing: no error
        with self.open() as storage:
            _expect_rows(storage, number, [event(1), event(2, col=0)], "when the database is opened again")

    def test_a_failed_transaction_leaves_nothing(self) -> None:
        """An event that is there already is refused, with all that came with it; the connection goes on."""
        with self.open() as storage:
            number = self._experiment(storage, event(1, key="a"))
            for wrong in (event(1), event(3, key="a")):

                def append(wrong: Any = wrong) -> None:
                    with storage.transaction([number]):
                        storage.append(number, [event(2)])
                        storage.append(number, [wrong])

                expect_refusal(append, "an event or a key that is there already", error=StorageError)
                _expect_rows(storage, number, [event(1, key="a")], "after a transaction that failed")

    def test_a_reader_sees_what_is_committed(self) -> None:
        """At once, and nothing else; and it cannot write."""
        with self.open() as storage:
            number = self._experiment(storage, event(1))
            with contextlib.closing(storage.reader()) as reader:
                storage.begin([number])
                storage.append(number, [event(2)])
                _expect_rows(reader, number, [event(1)], "for a reader before `commit`")
                storage.commit()
                _expect_rows(reader, number, [event(1), event(2)], "for a reader after `commit`")
                expect_refusal(lambda: reader.append(number, [event(3)]), "a reader's event", error=StorageError)

    def test_what_is_held_still_does_not_move(self) -> None:
        """A reader that holds still sees one moment, until it rolls back."""
        with self.open() as storage:
            number = self._experiment(storage, event(1))
            with contextlib.closing(storage.reader()) as reader:
                reader.hold_still()
                with storage.transaction([number]):
                    storage.append(number, [event(2)])
                _expect_rows(reader, number, [event(1)], "for a reader after `hold_still`")
                reader.rollback()
                _expect_rows(reader, number, [event(1), event(2)], "for a reader after its `rollback`")

    def test_writers_take_turns(self) -> None:
        """Who has begun is alone; who comes after sees what it left."""
        with self.open() as storage, self.open(patience=_SHORT) as other:
            number = self._experiment(storage)
            storage.begin([number])
            storage.append(number, [event(1)])
            expect_refusal(lambda: other.begin([number]), "a second writer of an experiment", error=StorageError)
            other.rollback()
            storage.commit()
            other.begin([number])
            _expect_rows(other, number, [event(1)], "for the next writer")
            other.rollback()

    def test_a_closed_connection_is_opened_again(self) -> None:
        """A process that was idle gives its connection back, and goes on when it is asked."""
        with self.open() as storage:
            number = self._experiment(storage, event(1))
            storage.close()
            _expect_rows(storage, number, [event(1)], "after `close`")

    def test_the_tables_are_there_and_whole(self) -> None:
        """They are made when a database is first opened, and found after that, also by who only reads."""
        with self.open() as storage:
            expect(storage.has("rankone_journal"), "the table rankone_journal", "none", "make the tables in __init__")
            expect(not storage.has("no_such_table"), "no table no_such_table", "one", "look for the name in `has`")
            got = storage.damage()
            expect(not got, "no damage to a database that is used as usual", got, "see `damage`")
            number = self._experiment(storage, event(1))
        with self.open(read_only=True) as storage:
            _expect_rows(storage, number, [event(1)], "for who only reads")

    def test_snapshots_are_kept_as_they_are(self) -> None:
        """Any bytes; the newest and the one before."""
        with self.open() as storage:
            number, bodies = self._experiment(storage), {seq: bytes(range(256)) * seq for seq in (1, 2, 3)}
            for seq, body in bodies.items():
                with storage.transaction([number]):
                    storage.keep_snapshot(number, seq, body)
            got = [(seq, bytes(body)) for seq, body in storage.snapshots(number)]
            kept = [(seq, bodies[seq]) for seq in (3, 2)]
            expect(got == kept, "the newest snapshot and the one before", got, "keep bytes as they are")

    def test_an_experiment_goes_on_as_in_any_other_database(self) -> None:
        """The same seed and the same visitors give the same decisions, also after a restart."""
        with tempfile.TemporaryDirectory(prefix="rankone-testing-") as folder:
            expected = self._decisions(Path(folder) / "rankone.db")
        got = self._decisions(self.db)
        expect(got == expected, f"the decisions {expected[-3:]} at the end", got[-3:], "keep events in their order")

    def _decisions(self, db: str | Path) -> list[dict[str, str]]:
        """Ask, tell and void, opened three times; return what was decided."""
        name, rng, decisions = _new_name(), generator(1, "conformance"), []
        for _ in range(3):
            with Experiment(name, rows=3, cols=2, policy="ucb1", db=db, seed=7, durability="off") as experiment:
                for _ in range(20):
                    decision = experiment.ask()
                    decisions.append(decision.levels)
                    if rng.random() < 0.1:
                        experiment.void(decision.id)
                    else:
                        experiment.tell(decision.id, bool(rng.random() < 0.5))
        return decisions

    @contextlib.contextmanager
    def open(self, patience: float = 30.0, read_only: bool = False) -> Iterator[Storage]:
        """Open the database, and close it at the end of the block."""
        with contextlib.closing(open_storage(self.db, "off", patience, read_only)) as storage:
            yield storage

    def _experiment(self, storage: Storage, *rows: tuple[Any, ...]) -> int:
        """Enter a new experiment with these events."""
        with storage.transaction():
            number = storage.add(_new_name())
        with storage.transaction([number]):
            storage.append(number, rows)
        return number


def _new_name() -> str:
    return f"conformance {secrets.token_hex(8)}"


def _values(rows: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Drivers may return bytes as something that only behaves like them."""
    return [tuple(bytes(value) if isinstance(value, memoryview) else value for value in row) for row in rows]


def _expect_rows(storage: Storage, experiment: int, rows: Sequence[Any], when: str) -> None:
    expected = f"{len(rows)} events {when}"
    try:
        kept = _values(storage.tail(experiment, 0, _ALL))
    except RankoneError as error:
        raise ConformanceError(expected, str(error), "answer statements, whatever happened before") from error
    lost, new = [row for row in rows if row not in kept], [row for row in kept if row not in rows]
    got = f"{len(kept)}, without {lost}, with {new}" if lost or new else f"{len(kept)} in another order"
    expect(kept == list(rows), expected, got, "see begin, commit, rollback and the types of columns")
