"""The journal: the events of an experiment in the order they happened, and the chain of checksums over them.

Everything an experiment knows is the fold of its journal (`rankone.live.fold.fold`). One event is one row of numbers,
with a few texts that most events do not need:

========  ==============================================================================================
kind      meaning (`value` in brackets)
========  ==============================================================================================
CREATE    the experiment begins; `note` holds its settings
ERA       the policy starts afresh on what is known; `note` says why, with which levels, and which segments are told
          apart where that changes
STOP      from here on every decision is the winner named in `note`
ASK       something was chosen to be shown (size of the batch in its first decision, else 0); `note` says, where
          there is something to say: what of its segment is `ignored`; `said`, the whole segment that was asked for
          with a key, to know the same request again; the `fault` of probabilities that cannot be true
TELL      its outcome came and was learned at once (clicked)
HOLD      its outcome came and waits for the end of the window (clicked)
LEARN     the window ended, the held outcome was learned (clicked)
EXPIRE    the window ended in silence: learned as no click (0)
LATE      an outcome came after the window: recorded, not learned (clicked); a click repeats its decision's
          `cross_chances`, to tell whether those of some level are late more often (`live.verdict.unequal_lateness`)
VOID      closed, nothing learned (0: never shown, says who asked; 1: for its age, to make room; 2: by void_open or
          exclude; 3: the window of a list ended in silence)
GOAL      an outcome of a goal other than a click (millionths of it); `tag` is the number of the goal, `note` when its
          window ends (`due`), or that it came too late (`late`); it repeats its decision's `cross_chances`. Decision
          -1: nobody knows which
STEER     from here on decisions are drawn with the probabilities in `note` (`rankone.evidence.steering`)
CLOCK     the journal's time is ahead of the machine's clock (by so many microseconds); below zero: it jumped ahead
          with the machine's clock
ARCHIVE   all events up to one that `note` names were moved to a file, which it names too
          (`rankone.live.operate.archive`)
PUBLISH   the weights of `note` hold from here on, of an experiment that decides away from the server
          (`rankone.live.evidence.published`)
SUMS      so many were shown and clicked more, of each version and combination (`note`); of visitors nothing is here
EXCLUDE   somebody wants the outcomes excluded that fit `note`: an ERA that names this event follows as soon as the
          journal was counted without them (`rankone.live.operate.excluding`)
GUARD     what is known of a guardrail has changed: `note` says of which goal, to what, and of which combination
========  ==============================================================================================

Columns that are null where there is nothing to say: `shown` (the number of the level of each factor, see
`rankone.live.journal.packing`), `context` (JSON: what was known before), `chance` (the probability with which it was
chosen; where the policy cannot say and exploration or the control chose, that of both: that they choose, and choose
this), `token` (whose request it was) and `cross_chances` (the probabilities with which it would have been the same but
for one level).

Of a ranking `shown` is the number of the item at each position, `note` of an ASK what its request restricted (`list`),
`cross_chances` the probability of each item given those above it, `chance` that of the whole list, and the value of an
outcome what was clicked and seen (`rankone.live.lists`).

Outcomes repeat what was shown and the tag of their decision, so every row can be read on its own. Events committed
together form a group; the last event of a group carries the checksum of the group chained to the one before it.
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
from rankone.live.journal.packing import pack_shown

VERSION = 1  # of the journal's meaning, which its first event names; a program refuses a newer one

Ints = npt.NDArray[np.int64]

# Columns of numbers, in the order they are stored.
SEQ, KIND, AT, DECISION, TAG, VALUE = range(6)
NUMBERS = ("seq", "kind", "at", "decision", "tag", "value")
# Columns that most events do not need. Checksums count on their order: add new ones behind.
TEXTS = ("secret", "key", "source", "note", "shown", "context", "chance", "token", "cross_chances")
COLUMNS = (*NUMBERS, *TEXTS, "chain")


class Kind(enum.IntEnum):
    """What an event is. The numbers are stored: never change one."""

    CREATE, ERA, STOP, ASK, TELL, HOLD, LEARN, EXPIRE, LATE, VOID, CLOCK, STEER = range(1, 13)
    ARCHIVE, EXCLUDE, GOAL, GUARD, PUBLISH, SUMS = range(13, 19)


# Rare events that change what the others mean, or that somebody wants to hear of.
MARKS = (Kind.CREATE, Kind.ERA, Kind.STOP, Kind.ARCHIVE, Kind.EXCLUDE, Kind.GUARD)
ERAS = (Kind.CREATE, Kind.ERA)  # with which the policy starts afresh
OUTCOMES = (Kind.TELL, Kind.HOLD, Kind.LEARN, Kind.EXPIRE, Kind.LATE, Kind.VOID)
LEARNED = (Kind.TELL, Kind.LEARN, Kind.EXPIRE)  # outcomes that the policy learns
CLOSING = (*LEARNED, Kind.VOID)  # events that close a decision
# Those behind are not chosen like those before.
_SPLITS = frozenset(map(int, (*MARKS, Kind.STEER, Kind.PUBLISH, Kind.SUMS)))
BY_ASKER, BY_AGE, BY_OPERATOR, BY_SILENCE = range(4)  # the values of VOID: who or what closed it


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
    shown: bytes | None = None  # see `rankone.live.journal.packing`; None: nothing, or still to be chosen
    context: str | None = None
    chance: float | None = None
    token: str | None = None  # the id of the token with which it was requested
    cross_chances: bytes | None = None  # see `rankone.live.journal.packing`

    def details(self) -> Any:
        """Return what the note holds."""
        return json.loads(self.note or "{}")


NO_TEXTS = Texts()


def _same(data: bytes) -> bytes:
    return data


def _probability(chance: float) -> bytes:
    """Return a probability; nothing else, as SQLite keeps neither what is no number nor the sign of zero."""
    if not 0.0 <= chance <= 1.0:
        raise ValueError(f"Expected a probability, but got {chance}. Nothing was written")
    return struct.pack("<d", chance + 0.0)


# How checksums see each of `TEXTS`.
_AS_BYTES: tuple[Callable[[Any], bytes], ...] = (
    *(_same, str.encode, str.encode, str.encode),
    *(_same, str.encode, _probability, str.encode),
    _same,
)
_NUMBERS = struct.Struct(f"<{len(NUMBERS)}q")
_HEAD = struct.Struct("<QBQ")  # of a value: the place of its event, the place of its column, its length
UNFIT = (TypeError, ValueError, OverflowError, struct.error)  # what values raise that nobody wrote


class Events:
    """A stretch of the journal: ``heads`` are n times the `NUMBERS` of an event, ``texts`` a list of n `Texts`."""

    __slots__ = ("heads", "texts")

    def __init__(self, heads: list[Sequence[int]], texts: list[Texts]) -> None:
        self.heads, self.texts = heads, texts

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, span: slice) -> Events:
        return Events(self.heads[span], self.texts[span])

    @property
    def numbers(self) -> Ints:
        """The heads as an array, (n, 6)."""
        return np.array(self.heads, np.int64).reshape(-1, len(NUMBERS))

    def show(self, index: int, levels: Sequence[int], tag: int) -> None:
        """Write down what is shown in one of them."""
        seq, kind, at, decision, _, value = self.heads[index]
        self.heads[index] = seq, kind, at, decision, tag, value
        self.texts[index] = self.texts[index]._replace(shown=pack_shown(levels))

    def rows(self, chain: bytes) -> list[tuple[Any, ...]]:
        """Return the rows to store for one group, whose checksum is `chain`."""
        rows = [(*head, *texts, None) for head, texts in zip(self.heads, self.texts, strict=True)]
        rows[-1] = (*rows[-1][:-1], chain)
        return rows

    def checksum(self, before: bytes) -> bytes:
        """Return the checksum of these events as one group, chained to the checksum before it."""
        return _checksum(before, b"".join([_NUMBERS.pack(*head) for head in self.heads]), self.texts)


def _checksum(before: bytes, numbers: bytes, each: Sequence[Texts]) -> bytes:
    """Return the checksum of a group: no two groups give the same bytes to it.

    Each value stands behind the place of its event, the place of its column and its own length.
    """
    parts = [struct.pack("<QQ", len(before), len(each)), before, numbers]
    for index, texts in enumerate(each):
        for column, value in enumerate(texts) if texts is not NO_TEXTS else ():
            if value is not None:
                data = _AS_BYTES[column](value)
                parts += (_HEAD.pack(index, column, len(data)), data)
    return hashlib.blake2b(b"".join(parts), digest_size=16, person=b"rankone journal").digest()


class Draft:
    """Events about to be appended: the next numbers of an experiment, given out one by one."""

    def __init__(self, seq: int, at: int, token: str | None = None) -> None:
        self._seq, self.at, self._token = seq, at, token  # of an operator, to be noted with all events
        self._heads: list[Sequence[int]] = []
        self._texts: list[Texts] = []

    def add(self, kind: Kind, decision: int = 0, tag: int = 0, value: int = 0, texts: Texts = NO_TEXTS) -> None:
        """Append an event."""
        self._seq += 1
        self._heads.append((self._seq, int(kind), self.at, decision, tag, value))
        self._texts.append(texts if self._token is None else texts._replace(token=self._token))

    def mark(self, kind: Kind, note: str) -> None:
        """Append a rare event, which is of no decision."""
        self.add(kind, -1, texts=Texts(note=note))

    def __len__(self) -> int:
        return len(self._texts)

    def take(self) -> Events:
        """Return the events drafted so far and start over behind them."""
        events = Events(self._heads, self._texts)
        self._heads, self._texts = [], []
        return events


def of_rows(rows: Sequence[tuple[Any, ...]]) -> Events:
    """Return stored rows as events; column by column, which is quicker for the many rows of a whole journal."""
    columns = list(zip(*rows, strict=True)) or [()] * len(COLUMNS)
    numbers = np.stack([np.fromiter(column, np.int64, len(rows)) for column in columns[: len(NUMBERS)]], axis=1)
    secrets, *others = columns[len(NUMBERS) : -1]
    if all(column.count(None) == len(rows) for column in others):  # decisions have secrets, outcomes nothing
        texts = [NO_TEXTS if secret is None else _texts_of((secret, *NO_TEXTS[1:])) for secret in secrets]
    else:
        each_texts = zip(secrets, *others, strict=True)
        texts = [NO_TEXTS if each == NO_TEXTS else _texts_of(each) for each in each_texts]
    return Events(numbers.tolist(), texts)


def as_texts(row: Sequence[Any]) -> Texts:
    """Return the texts of a stored row."""
    return _texts_of(tuple(row[len(NUMBERS) : -1]))


_texts_of: Callable[[tuple[Any, ...]], Texts] = functools.partial(tuple.__new__, Texts)  # `_make`, and half its time


def read_groups(rows: Sequence[tuple[Any, ...]], seq: int, chain: bytes) -> tuple[Events, bytes]:
    """Check stored rows that follow event `seq` with checksum `chain`; return the events of all whole groups.

    Raises JournalError where the rows are not what was written.
    """
    ends = [index + 1 for index, row in enumerate(rows) if row[-1] is not None]
    try:
        events = of_rows(rows[: ends[-1]] if ends else [])
    except UNFIT:
        raise damaged(seq) from None
    start = 0
    for end in ends:
        try:
            result = events[start:end].checksum(chain)
        except UNFIT:
            raise damaged(seq + start + 1) from None
        if result != rows[end - 1][-1] or events.heads[end - 1][SEQ] != seq + end:
            raise damaged(seq + start + 1)
        chain, start = result, end
    return events, chain


def damaged(seq: int, found: str = "a checksum that does not fit at event") -> JournalError:
    """Return the error for a journal whose rows from event `seq` on are not what was written."""
    return JournalError("an undamaged journal", f"{found} {seq}", "restore the database from a backup")


def each_mark(events: Events) -> Iterator[tuple[Events, Events | None]]:
    """Split events at marks and at STEER: yield (plain events, the mark that follows them or None)."""
    start = 0
    for index, head in enumerate(events.heads):
        if head[KIND] in _SPLITS:
            yield events[start:index], events[index : index + 1]
            start = index + 1
    yield events[start:] if start else events, None
