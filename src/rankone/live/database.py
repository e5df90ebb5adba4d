"""A database of experiments, to be shared by the experiments of a program."""

import contextlib
import copy
import functools
import operator
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from rankone.errors import StorageError
from rankone.live.commit.transactions import Transactions
from rankone.live.journal.events import of_rows
from rankone.live.storage import Storage, open_storage

Found = TypeVar("Found")
MEMORY = ":memory:"


class Database:
    """A SQLite file or a PostgreSQL database opened by this process. Safe to share between threads.

    Args:
        db: file name or ``postgresql://`` address; None or ``":memory:"`` for one that is gone when it is closed.
        durability: "full" (survives power cuts), "normal" (survives crashes of the program) or "off".
        patience: seconds to wait for a lock, a connection or an answer.
        read_only: open to look only; nothing is ever written.

    >>> import tempfile
    >>> from rankone import Experiment
    >>> with tempfile.TemporaryDirectory() as folder, Database(f"{folder}/demo.db") as database:
    ...     for page in ("homepage", "shop"):
    ...         decision = Experiment(page, ["A", "B"], ["1", "2"], policy="ucb1", db=database).ask()
    ...     database.names()
    ['homepage', 'shop']
    """

    def __init__(
        self, db: str | Path | None, *, durability: str = "full", patience: float = 30.0, read_only: bool = False
    ) -> None:
        self.read_only = read_only
        self.by: str | None = None
        self._forget: Callable[[], object] | None = None
        if read_only and (db is None or db == MEMORY):
            raise StorageError("a database that can be opened twice", MEMORY, "name a file, such as rankone.db")
        if db is None or db == MEMORY:  # threads and readers share a file; nobody else finds it, and it is not synced
            folder = tempfile.mkdtemp(prefix="rankone-")
            self._forget = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)  # or when Python ends
            db, durability = Path(folder) / "memory.db", "off"
        connect = functools.partial(open_storage, db, durability, patience, read_only)
        self.transactions = Transactions(connect, read_only)

    @property
    def where(self) -> str:
        """The database as people may see it: without a password."""
        return self.transactions.storage.where if self._forget is None else MEMORY

    def names(self) -> list[str]:
        """Return the names of the experiments, oldest first."""
        return list(self.use(lambda storage: storage.names()))

    def number(self, name: str) -> int:
        """Return the number of an experiment, which there must be."""
        return self.use(lambda storage: storage.number(name))

    def on_behalf_of(self, token: str | None) -> Self:
        """Return this database for somebody, by the id of a token: experiments that are made in it are theirs."""
        result = copy.copy(self)
        result.by = token
        return result

    def use(self, do: Callable[[Storage], Found]) -> Found:
        """Return `do(storage)`, called while nobody else of this process uses the connection: for what is quick."""
        result: Found = self.transactions.alone(lambda: do(self.transactions.storage))
        return result

    def reader(self) -> contextlib.AbstractContextManager[Storage]:
        """Open a connection of its own, to read however long it takes; nobody waits for it."""
        return self.transactions.reader()

    def policies(self) -> set[tuple[str, int]]:
        """Return the policies that the experiments have now, each with its number of factors, of readable journals."""
        result = set()
        with contextlib.suppress(StorageError):
            for number in self.use(lambda storage: list(storage.names().values())):
                with contextlib.suppress(Exception):  # damaged, in whatever way; that is told when it is opened
                    rows = self.use(operator.methodcaller("marks", number))
                    notes = [texts.details() for texts in of_rows(rows).texts]
                    last = [note for note in notes if "policy" in note][-1]
                    result.add((str(last["policy"]), len(last["factors"])))
        return result

    def __repr__(self) -> str:
        return f"<Database {self.where}>"

    def close(self) -> None:
        """Close the connection; experiments that share it can no longer be used."""
        self.transactions.close()
        if self._forget is not None:
            self._forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
