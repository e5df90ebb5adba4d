"""What rankone needs of a kind of database: statements, transactions that lock experiments, and a second connection.

A storage is used by one thread at a time (the writer's). `begin` locks the named experiments until `commit` or
`rollback`; what is read between is what the last commit left, whoever made it.
"""

import abc
import contextlib
import functools
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

from rankone.errors import JournalError, StorageError

Row = tuple[Any, ...]
_KEPT = 1_000  # statements; those with a list of values come in many lengths
UNSURE = "it may have been stored: tell again, ask again with the same key"  # what to do when a commit was not answered


class Dialect:
    """How a database writes what databases write differently, so that each statement is written once for all of them.

    A statement is a template: ``{}`` stands for a parameter, ``{integer}`` and the like for a type of the database,
    ``{{`` for a brace. It is put into a database's own words once and kept; parameters never pass here.

    >>> postgres = Dialect("%s", {"integer": "BIGINT"}, {"%": "%%"})
    >>> postgres.text("SELECT name FROM shops WHERE id = {} AND name LIKE '100%?'")
    "SELECT name FROM shops WHERE id = %s AND name LIKE '100%%?'"
    >>> Dialect("?", {"integer": "INTEGER"}).text("CREATE TABLE shops (id {integer}, open {integer})")
    'CREATE TABLE shops (id INTEGER, open INTEGER)'

    Args:
        parameter: what stands for a parameter.
        words: types of columns and the like, by the names that templates use.
        escapes: signs of a statement that its driver would take for something else, and what to write instead.
    """

    def __init__(self, parameter: str, words: Mapping[str, str], escapes: Mapping[str, str] | None = None) -> None:
        self._words = {"": parameter, **words}
        self._escapes = str.maketrans(dict(escapes or {}))
        self.text = functools.lru_cache(_KEPT)(self._text)

    def _text(self, template: str) -> str:
        return "".join(
            literal.translate(self._escapes) + ("" if name is None else self._words[name])
            for literal, name, _, _ in string.Formatter().parse(template)
        )


def placeholders(count: int) -> str:
    """Return a list of so many parameters, as ``IN`` takes it.

    >>> placeholders(3)
    '{}, {}, {}'
    """
    return ", ".join(["{}"] * count)


class NotPermitted(StorageError):
    """The database is there, and this program may not do to it what it tried."""


class RolledBack(StorageError):
    """The database undid the whole transaction for the sake of others: the same may succeed at once."""


class DamagedDatabase(JournalError):
    """The database cannot be read as it was written. Its message says where it is, which is not for everybody."""


class Driver(abc.ABC):
    """A connection to a database, made when it is needed. Statements are templates of `Dialect`."""

    name: ClassVar[str]  # of this kind of database
    schemes: ClassVar[tuple[str, ...]] = ()  # what its addresses begin with, before ://
    dialect: ClassVar[Dialect]
    where: str  # the database as messages name it
    copied_in_use: bool = False  # it is a copy that lacks what was being written when it was made

    @abc.abstractmethod
    def __init__(self, address: str, durability: str, patience: float, read_only: bool) -> None:
        """Open the database and see to its tables: `rankone.live.storage.schema.see_to`."""

    @classmethod
    def takes(cls, address: str) -> bool:
        """Return whether an address is one of this kind of database."""
        scheme, is_address, _ = address.partition("://")
        return bool(is_address) and scheme in cls.schemes

    @classmethod
    def shown(cls, address: str) -> str:
        """Return an address as people may see it: as it is, where it can hold no password."""
        return address

    @contextlib.contextmanager
    def transaction(self, experiments: Iterable[int] = ()) -> Iterator[None]:
        """Begin a transaction, and commit it at the end of the block; nothing of it stays if that is not reached."""
        try:
            self.begin(experiments)
            yield
            self.commit()
        except BaseException:
            self.rollback()
            raise

    @abc.abstractmethod
    def has(self, name: str) -> bool:
        """Return whether there is a table or an index of this name."""

    def check_in_place(self) -> None:  # noqa: B027 - only files can be moved behind the back of a program
        """Raise StorageError where what was opened is no longer what is at its address."""

    @abc.abstractmethod
    def reader(self) -> Self:
        """Open another connection to the same database, to read only."""

    @abc.abstractmethod
    def begin(self, experiments: Iterable[int]) -> None:
        """Begin a transaction that alone may append to these experiments; none: that alone makes tables or entries."""

    @abc.abstractmethod
    def hold_still(self) -> None:
        """Begin to read: from now on until `rollback` or `close` everything is as it is at this moment."""

    @abc.abstractmethod
    def commit(self) -> None:
        """Make the transaction durable. After an error nobody knows whether it is (`UNSURE`)."""

    @abc.abstractmethod
    def rollback(self) -> None:
        """Undo the transaction; never raises."""

    @abc.abstractmethod
    def query(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""

    @abc.abstractmethod
    def insert_many(self, statement: str, rows: Sequence[Row]) -> None:
        """Run a statement once per row."""

    @abc.abstractmethod
    def damage(self) -> list[str] | None:
        """Return what the database itself finds wrong with its pages; None if it cannot look."""

    def mark_in_use(self) -> None:  # noqa: B027 - only files can be copied behind the back of a service
        """Write down that a service uses this database, so that a copy of a part of it can be told from a whole one."""

    def unmark(self) -> None:
        """Close the connection, and take that back if nobody else uses the database."""
        self.close()

    @abc.abstractmethod
    def close(self) -> None:
        """Give the connection back; the next statement makes another."""
