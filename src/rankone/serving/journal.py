"""The journal: the events of an experiment in the order they happened, and the chain of checksums over them.

Everything an experiment knows is the fold of its journal (`rankone.serving.fold`). One event is one row of numbers,
with a few texts that most events do not need:

========  ==============================================================================================
kind      meaning (`value` in brackets)
========  ==============================================================================================
CREATE    the experiment begins; `note` holds its settings
ERA       the policy starts afresh on what is known; `note` says why, and with which levels
STOP      from here on every decision is the winner named in `note`
ASK       something was chosen to be shown (size of the batch in its first decision, else 0)
TELL      its outcome came and was learned at once (clicked)
HOLD      its outcome came and waits for the end of the window (clicked)
LEARN     the window ended, the held outcome was learned (clicked)
EXPIRE    the window ended in silence: learned as no click (0)
LATE      an outcome came after the window: recorded, not learned (clicked)
VOID      closed, nothing learned (0: never shown, says who asked; 1: for its age, to make room; 2: by void_open or
          exclude)
STEER     from here on decisions are drawn with the probabilities in `note` (`rankone.kernels.steering`)
CLOCK     the journal's time is ahead of the machine's clock (by so many microseconds); below zero: it jumped ahead
          with the machine's clock
ARCHIVE   all events up to one that `note` names were moved to a file, which it names too (`rankone.serving.archive`);
          or they were counted again, because some are excluded (`rankone.serving.archive_exclusion`)
========  ==============================================================================================

A decision is a pair: its row and its column are numbers; where there is only one factor the column is 0. Journals of
version 2 can hold more, in columns that are null where there is nothing to say: `shown` (any number of choices; of a
combination of more than two factors, the first two are in `row` and `col`, too), `context` (JSON: what was
known before), `chance` (the probability with which it was chosen; where the policy cannot say and exploration or the
control chose, that of both: that they choose, and choose this) and `token` (whose request it was). Where a list was
shown, "clicked" is a mask (`rankone.serving.packing`). Journals of version 3 also steer, and a decision has
`cross_chances`: the probabilities with which it would have been the same but for one level. Those of version 4 have
factors with names of their own, any number of them, or past counts to begin with; so may one of version 3 once a factor
was added or something was forbidden, which older programs do not read on from there. Those of version 5 say what
they do when an alarm rings (`rankone.serving.alarms`): an ERA says which, and may forget what was known. Where nobody
said so, an alarm is only told, in an ERA that older programs read as any other.

Outcomes repeat what was shown and the tag of their decision, so every row can be read on its own. Events committed
together form a group; the last event of a group carries the checksum of the group chained to the one before it. The
events of version 1, and those of version 2 that need no new column, have the checksums that version 1 gave them.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import json
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.errors import JournalError
from rankone.serving.packing import shown_levels

VERSION = 5  # of the journal's meaning; a program reads its own version and all older ones
FACTORS_VERSION = 4  # of journals with other factors than rows and columns, or with past counts
PAIRS_VERSION = 3  # of journals that need no more: older programs read them, too

Ints = npt.NDArray[np.int64]

# Columns of numbers, in the order they are stored.
SEQ, KIND, AT, DECISION, ROW, COL, TAG, VALUE = range(8)
NUMBERS = ("seq", "kind", "at", "decision", "row", "col", "tag", "value")
# Columns that most events do not need. Checksums of version 2 count on their order: add new ones behind.
TEXTS = ("secret", "key", "source", "note", "shown", "context", "chance", "token", "cross_chances")
NEW_IN = {2: TEXTS[4:8], 3: TEXTS[8:]}  # by the version of the schema
COLUMNS = (*NUMBERS, *TEXTS, "chain")


class Kind(enum.IntEnum):
    """What an event is. The numbers are stored: never change one."""

    CREATE, ERA, STOP, ASK, TELL, HOLD, LEARN, EXPIRE, LATE, VOID, CLOCK, STEER, ARCHIVE = range(1, 14)


MARKS = (Kind.CREATE, Kind.ERA, Kind.STOP, Kind.ARCHIVE)  # rare events that change what the others mean
ERAS = (Kind.CREATE, Kind.ERA)  # with which the policy starts afresh
OUTCOMES = (Kind.TELL, Kind.HOLD, Kind.LEARN, Kind.EXPIRE, Kind.LATE, Kind.VOID)
LEARNED = (Kind.TELL, Kind.LEARN, Kind.EXPIRE)  # outcomes that the policy learns
CLOSING = (*LEARNED, Kind.VOID)  # events that close a decision
_SPLITS = np.isin(np.arange(max(Kind) + 1), (*MARKS, Kind.STEER))  # those behind are not chosen like those before
BY_ASKER, BY_AGE, BY_OPERATOR = range(3)  # the values of VOID: who closed it


def as_sql(kinds: Sequence[Kind]) -> str:
    """Return kinds as the list that SQL's IN takes.

    >>> as_sql(LEARNED)
    '5, 7, 8'
    """
    return ", ".join(str(int(kind)) for kind in kinds)


class Texts(NamedTuple):
    """The texts of an event, and what else only some events have; most have none."""

    secret: bytes | None = None
    key: str | None = None
    source: str | None = None
    note: str | None = None
    shown: bytes | None = None  # see `rankone.serving.packing`; None: a pair
    context: str | None = None
    chance: float | None = None
    token: str | None = None  # the id of the token with which it was requested
    cross_chances: bytes | None = None  # see `rankone.serving.packing`

    def details(self) -> Any:
        """Return what the note holds."""
        return json.loads(self.note or "{}")

    def of_shown(self, shown: bytes | None) -> Texts:
        """Return the same with what was shown, None: a pair, which needs no text."""
        return self if shown is None else self._replace(shown=shown)


NO_TEXTS = Texts()
_NO_OTHERS = (None, None, None)  # texts of version 1 besides the secret
_NONE_SINCE_2 = NO_TEXTS[4:]


def _same(data: bytes) -> bytes:
    return data


def _probability(chance: float) -> bytes:
    """Return a probability; nothing else, as SQLite keeps neither what is no number nor the sign of zero."""
    if not 0.0 <= chance <= 1.0:
        raise ValueError(f"expected a probability - got {chance} - nothing was written")
    return struct.pack("<d", chance + 0.0)


# How the checksums of version 2 see each of `TEXTS`.
_AS_BYTES: tuple[Callable[[Any], bytes], ...] = (
    *(_same, str.encode, str.encode, str.encode),
    *(_same, str.encode, _probability, str.encode),
    _same,
)
_HEAD = struct.Struct("<QBQ")  # of a value: the place of its event, the place of its column, its length
_UNFIT = (TypeError, ValueError, OverflowError, struct.error)  # what values raise that nobody wrote


class Events:
    """A stretch of the journal: ``numbers`` is an (n, 8) array, ``texts`` a list of n `Texts`.

    ``plain`` says that none of them has what came with version 2; None: nobody has looked yet.
    """

    __slots__ = ("numbers", "plain", "texts")

    def __init__(self, numbers: Ints, texts: list[Texts], plain: bool | None = None) -> None:
        self.numbers, self.texts, self.plain = numbers, texts, plain

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, span: slice) -> Events:
        return Events(self.numbers[span], self.texts[span], self.plain or None)  # some of them may be plain

    def shown(self, n_factors: int) -> Ints:
        """Return what was shown in each, (n, factors); -1 where that is still to be chosen."""
        pairs = self.numbers[:, ROW:TAG]
        if n_factors == 2:
            return pairs
        return shown_levels(pairs, [texts.shown for texts in self.texts] if n_factors > 2 else (), n_factors)

    def rows(self, chain: bytes) -> list[tuple[Any, ...]]:
        """Return the rows to store for one group, whose checksum is `chain`."""
        rows = [(*numbers, *texts, None) for numbers, texts in zip(self.numbers.tolist(), self.texts, strict=True)]
        rows[-1] = (*rows[-1][:-1], chain)
        return rows

    def checksum(self, before: bytes) -> bytes:
        """Return the checksum of these events as one group, chained to the checksum before it."""
        if self.plain is None:
            self.plain = all(texts is NO_TEXTS or texts[4:] == _NONE_SINCE_2 for texts in self.texts)
        return (_checksum_1 if self.plain else _checksum_2)(before, self.numbers.tobytes(), self.texts)


def _checksum_1(before: bytes, numbers: bytes, each: Sequence[Texts]) -> bytes:
    """Return the checksum of a group as version 1 knew it: with texts up to the note."""
    parts = [before, numbers]
    for texts in each:
        if texts is NO_TEXTS or texts == NO_TEXTS:
            continue
        secret, others = texts[0], texts[1:4]
        parts += (b"%d" % len(secret or b""), secret or b"")
        if others != _NO_OTHERS:
            parts.append(json.dumps(others).encode())
    return hashlib.blake2b(b"".join(parts), digest_size=16).digest()


def _checksum_2(before: bytes, numbers: bytes, each: Sequence[Texts]) -> bytes:
    """Return the checksum of a group that version 1 cannot hold: no two groups give the same bytes to it.

    Each value stands behind the place of its event, the place of its column and its own length. The name keeps these
    checksums apart from those of version 1.
    """
    parts = [struct.pack("<QQ", len(before), len(each)), before, numbers]
    for place, texts in enumerate(each):
        for column, value in enumerate(texts) if texts is not NO_TEXTS else ():
            if value is not None:
                data = _AS_BYTES[column](value)
                parts += (_HEAD.pack(place, column, len(data)), data)
    return hashlib.blake2b(b"".join(parts), digest_size=16, person=b"rankone journal2").digest()


class Draft:
    """Events about to be appended: the next numbers of an experiment, given out one by one."""

    def __init__(self, seq: int, at: int, token: str | None = None) -> None:
        self._seq, self.at, self._token = seq, at, token  # of an operator, to be noted with all events
        self._numbers: list[int] = []  # of one event behind those of the other
        self._texts: list[Texts] = []

    def add(
        self, kind: Kind, decision: int = 0, pair: Sequence[int] = (-1, -1, 0), value: int = 0, texts: Texts = NO_TEXTS
    ) -> None:
        """Append an event; `pair` is (row, col, tag)."""
        self._seq += 1
        self._numbers += (self._seq, kind, self.at, decision, *pair, value)
        self._texts.append(texts if self._token is None else texts._replace(token=self._token))

    def __len__(self) -> int:
        return len(self._texts)

    def take(self) -> Events:
        """Return the events drafted so far and start over behind them."""
        numbers = np.fromiter(self._numbers, np.int64, len(self._numbers))
        events = Events(numbers.reshape(-1, len(NUMBERS)), self._texts)
        self._numbers, self._texts = [], []
        return events


def of_rows(rows: Sequence[tuple[Any, ...]]) -> Events:
    """Return stored rows as events; column by column, which is quicker for the many rows of a whole journal."""
    columns = list(zip(*rows, strict=True)) or [()] * len(COLUMNS)
    numbers = np.stack([np.fromiter(column, np.int64, len(rows)) for column in columns[: len(NUMBERS)]], axis=1)
    secrets, *others = columns[len(NUMBERS) : -1]
    empty = [column.count(None) == len(rows) for column in others]
    if all(empty):  # the most usual: decisions have secrets, outcomes have nothing
        texts = [NO_TEXTS if secret is None else _texts_of((secret, *NO_TEXTS[1:])) for secret in secrets]
    else:
        each_texts = zip(secrets, *others, strict=True)
        texts = [NO_TEXTS if each == NO_TEXTS else _texts_of(each) for each in each_texts]
    return Events(numbers, texts, plain=all(empty[3:]))


_texts_of: Callable[[tuple[Any, ...]], Texts] = functools.partial(tuple.__new__, Texts)  # `_make`, and half its time


def read_groups(rows: Sequence[tuple[Any, ...]], seq: int, chain: bytes) -> tuple[Events, bytes]:
    """Check stored rows that follow event `seq` with checksum `chain`; return the events of all whole groups.

    Raises JournalError where the rows are not what was written.
    """
    ends = [place + 1 for place, row in enumerate(rows) if row[-1] is not None]
    try:
        events = of_rows(rows[: ends[-1]] if ends else [])
    except _UNFIT:
        raise damaged(seq) from None
    start, numbers = 0, events.numbers.tobytes()
    width = len(NUMBERS) * events.numbers.itemsize
    for end in ends:
        group = events.texts[start:end]
        plain = events.plain or all(texts[4:] == _NONE_SINCE_2 for texts in group)
        try:
            found = (_checksum_1 if plain else _checksum_2)(chain, numbers[width * start : width * end], group)
        except _UNFIT:
            raise damaged(seq + start + 1) from None
        if found != rows[end - 1][-1] or events.numbers[end - 1, SEQ] != seq + end:
            raise damaged(seq + start + 1)
        chain, start = found, end
    return events, chain


def damaged(seq: int, found: str = "a checksum that does not fit at event") -> JournalError:
    """Return the error for a journal whose rows from event `seq` on are not what was written."""
    return JournalError("a journal as it was written", f"{found} {seq}", "restore the database from a backup")


def each_mark(events: Events) -> Iterator[tuple[Events, Events | None]]:
    """Split events at marks and at STEER: yield (plain events, the mark that follows them or None)."""
    start = 0
    for place in _SPLITS[events.numbers[:, KIND]].nonzero()[0].tolist():
        yield events[slice(start, place)], events[slice(place, place + 1)]
        start = place + 1
    yield events[slice(start, None)] if start else events, None
