"""Archives: the first part of a journal moved to Parquet files, so that a database does not grow for ever.

An archive takes all events up to one of a given age, whole commits, and does four things in this order:

1. The events are written to a file, which is read back and checked against the journal's checksums before it counts.
2. What the experiment knows at that event (counts, evidence, the policy's state, the decisions still open) becomes the
   *base* of its journal, and an event ARCHIVE names the file, its checksum and its totals: one commit, or nothing.
3. What is in the file is taken out of the database, a little at a time. Rare events stay, and so do decisions that were
   open at the base, which can still be told, and outcomes of goals, whose keys must never count twice.
4. An archive that finds some of this left over by one that was interrupted goes on with it.

From the base on everything is as before: whoever opens the experiment folds what is left of the journal onto it, bit
for bit what all of the journal gives (`rankone doctor --archive` proves that). With the files beside it the whole
journal can be read (`WithArchive`).
"""

import contextlib
import dataclasses
import json
import operator
import re
import time
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any

from rankone.errors import InputError, JournalError, StorageError
from rankone.live.database import Database
from rankone.live.evidence.goal_outcomes import window_of
from rankone.live.fold import snapshot
from rankone.live.fold.fold import Diverged, Fold
from rankone.live.fold.fold_cache import CachedFold
from rankone.live.fold.journal_reading import Journal, begin, chain_at, each_upto
from rankone.live.journal.events import (
    AT,
    DECISION,
    ERAS,
    KIND,
    LEARNED,
    MARKS,
    SEQ,
    VALUE,
    Draft,
    Events,
    Kind,
    of_rows,
)
from rankone.live.journal.exclusions import check_carried_out
from rankone.live.lists import CLICKED
from rankone.live.operate.archive_files import ArchiveFile, leads, write_rows
from rankone.live.storage import Storage
from rankone.live.storage.driver import Row
from rankone.specs import is_number
from rankone.writing import sync_folder

SIMULATED = "simulated"  # the source that a simulated audience gives
_IN_A_FILE = 500_000  # events, about
_LONGEST = 1e10  # seconds
_AT_ONCE = 500  # events taken out in one commit: others shall not wait long
_PAUSE = 3.0  # times as long as that took until the next: whoever waits for SQLite looks now and then only


@dataclasses.dataclass(frozen=True)
class Archived:
    """What one archive moved to a file."""

    experiment: str
    file: Path
    first: int  # event
    upto: int
    decisions: int  # asked in these events
    outcomes: int  # learned
    clicks: int


def archive(database: Database, name: str, to: str | Path, older_than: float) -> Iterator[Archived]:
    """Move the events of an experiment that are older than so many seconds to files in a folder; yield each file's.

    >>> import tempfile
    >>> from rankone import Database, Experiment
    >>> folder = tempfile.mkdtemp()
    >>> with Database(f"{folder}/rankone.db") as database:
    ...     homepage = Experiment("homepage", ["A", "B"], ["1", "2"], policy="ucb1", db=database)
    ...     _ = homepage.tell(homepage.ask().id, clicked=True)
    ...     [(each.file.name, each.decisions, each.clicks) for each in archive(database, "homepage", folder, 0)]
    ...     homepage.report().outcomes["clicked"]
    [('homepage.1.000000001-000000003.parquet', 1, 1)]
    1
    """
    folder = Path(to)
    if not is_number(older_than) or not 0 <= older_than < _LONGEST:
        raise InputError("older_than as seconds, from 0 on", older_than, "try older_than=86_400 * 30")
    number = database.number(name)  # it must be there
    try:
        if not folder.is_dir():
            folder.mkdir(exist_ok=True)
            sync_folder(folder.absolute().parent)  # or a power cut could take away the folder with the files in it
    except OSError as error:
        raise InputError(f"a folder for archives at {folder}", error.strerror or str(error), "name another") from error
    of = database.transactions.enter(name)
    until = of.time.now() - max(1, round(older_than * 1e6))  # once: what is written meanwhile, by this too, is younger
    # Until the window of a goal ends, its outcomes belong to decisions that have to be there.
    settings = database.transactions.look(of, lambda fold: fold.settings)
    until -= max((window_of(goal, settings) for goal in settings.all_goals[1:]), default=0)
    sweep(database, number)
    database.transactions.look(of, lambda fold: check_carried_out(fold.wanted))
    while True:
        result = _archive_some(database, of, name, folder, until)
        if result is None:
            return
        yield result
        sweep(database, number)


def _archive_some(database: Database, of: CachedFold, name: str, folder: Path, until: int) -> Archived | None:
    """Move as much as fits into one file, of what was written up to a time; None: there is nothing."""
    number = of.number
    with database.reader() as storage:
        before = storage.base_seq(number)
        last = _last_before(storage, number, before, until)
        if last <= before:
            return None
        eras = count_eras(storage, number)
        try:
            last = _end_of_left_over(storage, number, name, folder, before, last)
            part = _read(storage, number, last)
        except JournalError:
            if storage.base_seq(number) == before:
                raise
            raise _overtaken(name) from None  # what was being read is in its file by now: no damage
        if all(row[KIND] in MARKS for row in part.rows):  # which stay: an earlier archive, for example
            return None
        kept = kept_rows([*storage.upto(number, before), *part.rows], part.fold.open)
    part.fold.evidence.check_sound()
    path = folder / _file_name(name, number, before + 1, last)
    written = write_rows(path, part.rows, before, part.chain_before)
    body = snapshot.save(part.fold)
    note = {"first": before + 1, "upto": last, "since": part.rows[0][AT], "until": part.fold.at, **part.totals}
    note |= {"file": path.name, "bytes": written.size, "digest": written.digest}
    note |= {"base": snapshot.digest(body), "kept": checksum(kept)}

    def plan(fold: Fold, draft: Draft) -> None:
        storage = database.transactions.storage
        if storage.base_seq(number) != before or part.fold.seq != last or not path.exists():
            raise _overtaken(name)
        check_carried_out(fold.wanted)
        if len(fold.eras) != eras:
            expected = f"experiment '{name}' not to change during the archive"
            raise InputError(expected, "one that was changed meanwhile", "start again: nothing was moved")
        draft.mark(Kind.ARCHIVE, json.dumps(note))
        storage.put_base(number, last, body)

    try:
        database.transactions.change(of, plan)
    except BaseException:
        if written.new:
            _discard(database, of, path)
        raise
    totals = part.totals
    return Archived(name, path, before + 1, last, totals["decisions"], totals["outcomes"], totals["clicks"])


def _overtaken(name: str) -> InputError:
    got = "another archive that was finished meanwhile, or given up"
    return InputError(f"one archive of '{name}' at a time", got, "nothing was moved twice: start again for more")


def _discard(database: Database, of: CachedFold, path: Path) -> None:
    """Remove the file of an archive that failed, unless the journal names it: its commit may just not be answered.

    In the experiment's turn: another archive that wrote the same file either has named it by then or finds it gone.
    """

    def plan(fold: Fold, _: Draft) -> None:
        if all(each["file"] != path.name for each in fold.archives):
            path.unlink(missing_ok=True)

    with contextlib.suppress(StorageError):  # nobody knows
        database.transactions.change(of, plan)


def _end_of_left_over(storage: Storage, number: int, name: str, folder: Path, before: int, last: int) -> int:
    """Return the event with which this part ends: that of a file which a killed archive left, otherwise `last`.

    Such a file goes on behind event `before` and holds nothing younger than `last`. The file of the next night would be
    longer and have another name: nobody would ever take up this one, or remove it.
    """
    there = folder.glob(f"{file_stem(name, number)}.{before + 1:09}-*.parquet")
    ends = {int(end) for end in (path.stem.rpartition("-")[2] for path in there) if end.isdecimal()}
    if last in ends:
        return last
    chain = begin(storage, number, with_policy=False).chain if ends else b""
    for end in sorted((end for end in ends if end < last), reverse=True):
        path = folder / _file_name(name, number, before + 1, end)
        if leads(path, before, chain, chain_at(storage, number, end)):
            return end
    return last


@dataclasses.dataclass
class _Part:
    """The events that go into a file, and what is known behind them."""

    fold: Fold
    rows: list[Row]
    chain_before: bytes
    totals: Counter[str]


def count_eras(storage: Storage, number: int) -> int:
    """Return how often an experiment was changed, with its creation."""
    return sum(head[KIND] in ERAS for head in of_rows(storage.marks(number)).heads)


def _read(storage: Storage, number: int, last: int, with_policy: bool = True) -> _Part:
    try:
        fold = begin(storage, number, with_policy)
        part = _Part(fold, [], fold.chain, Counter(decisions=0, outcomes=0, clicks=0, simulated=0))
        for rows, events in each_upto(storage, number, fold, last):
            part.rows += rows
            part.totals.update(_totals(events))
        return part
    except Diverged:  # the policy starts afresh when it is next used, be it before or after this
        return _read(storage, number, last, with_policy=False)


def fold_upto(storage: Journal, number: int, last: int) -> Fold:
    """Fold a journal from where it begins to event `last`."""
    fold = begin(storage, number)
    for _ in each_upto(storage, number, fold, last):
        pass  # each is folded as it comes
    return fold


def _totals(events: Events) -> dict[str, int]:
    """Count what happened, whether it was excluded later or not."""
    learned = [head[VALUE] & CLICKED != 0 for head in events.heads if head[KIND] in LEARNED]
    each = zip(events.heads, events.texts, strict=True)
    sources = [texts.source for head, texts in each if head[KIND] == Kind.ASK]
    return {
        "decisions": len(sources),
        "outcomes": len(learned),
        "clicks": sum(learned),
        "simulated": sources.count(SIMULATED),
    }


def _last_before(storage: Storage, number: int, before: int, until: int) -> int:
    """Return the last event, at most a file behind event `before`, of a commit that was whole at a time."""
    low, high = before, min(storage.last_event(number), before + _IN_A_FILE)
    while low < high:  # times never run backwards
        middle = (low + high + 1) // 2
        at = storage.tail(number, middle - 1, 1)[0][AT]
        low, high = (middle, high) if at <= until else (low, middle - 1)
    return storage.group_end(number, low)


def sweep(database: Database, number: int) -> int:
    """Take out of the database what is in files and is not needed here any more; return how many events."""
    with database.reader() as storage:
        upto, after, swept = storage.base_seq(number), 0, 0
        still = begin(storage, number, with_policy=False).open if upto else {}
        while heads := storage.heads(number, after, upto, _AT_ONCE):
            gone = [seq for seq, kind, decision in heads if not _stays(kind, decision, still)]
            if gone:
                began = time.monotonic()
                database.use(operator.methodcaller("remove", number, gone))
                time.sleep(_PAUSE * (time.monotonic() - began))
            after, swept = heads[-1][0], swept + len(gone)
    return swept


def _stays(kind: int, decision: int, still_open: Container[int]) -> bool:
    return kind in MARKS or kind == Kind.GOAL or decision in still_open


def kept_rows(rows: Sequence[Row], still_open: Container[int]) -> list[Row]:
    """Return the rows that stay in the database: rare events, outcomes of goals, and decisions open at the base."""
    return [row for row in rows if _stays(row[KIND], row[DECISION], still_open)]


def checksum(rows: Sequence[Row]) -> str:
    """Return a checksum of rows that are not a stretch of their journal any more."""
    return of_rows(rows).checksum(b"kept").hex()


def _file_name(name: str, number: int, first: int, last: int) -> str:
    """Return a name that any file system takes, whatever the experiment is called.

    >>> _file_name("../Shop: winter", 2, 1, 4000)
    'Shop-winter.2.000000001-000004000.parquet'
    """
    return f"{file_stem(name, number)}.{first:09}-{last:09}.parquet"


def file_stem(name: str, number: int) -> str:
    """Return what the names of an experiment's files begin with."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-")[:40] or "experiment"
    return f"{plain}.{number}"


def archive_notes(storage: Storage, number: int) -> list[dict[str, Any]]:
    """Return what the journal says of its archives, oldest first."""
    marks = of_rows(storage.marks(number))
    each = zip(marks.heads, marks.texts, strict=True)
    return [texts.details() | {"event": head[SEQ]} for head, texts in each if head[KIND] == Kind.ARCHIVE]


class WithArchive:
    """A journal with the part of it that was moved to files, all of which must be in one folder."""

    def __init__(self, storage: Storage, number: int, folder: Path, until: int | None = None) -> None:
        self._storage, self._until = storage, until  # as the journal was at this event
        notes = archive_notes(storage, number)
        self.files = [(int(note["upto"]), ArchiveFile(folder / note["file"])) for note in notes]

    def tail(self, experiment: int, after: int, limit: int) -> list[Row]:
        """Return the events behind event `after`, oldest first, from where they are."""
        for index, (upto, file) in enumerate(self.files):
            if after < upto:
                for _, read in self.files[:index]:  # forwards: those before are not needed again
                    read.release()
                rows = file.tail(after, limit)
                missing = limit - len(rows)
                return rows + self.tail(experiment, upto, missing) if rows and missing else rows
        return self._storage.tail(experiment, after, limit)

    def marks(self, experiment: int) -> list[Row]:
        """Return the rare events, which are all in the database."""
        return [row for row in self._storage.marks(experiment) if self._until is None or row[SEQ] <= self._until]

    def base(self, experiment: int) -> None:
        """Nothing is missing."""

    def base_seq(self, experiment: int) -> int:
        """Nothing is missing."""
        return 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)


def whole_journal(storage: Storage, number: int, folder: str | Path | None = None, rest: bool = False) -> Journal:
    """Return all of a journal, with its archives in a folder; or, where that is wanted in so many words, the rest.

    Raises InputError where archives would be left out silently.
    """
    last = storage.base_seq(number)
    if not last or rest:
        return storage
    if folder is None:
        do = "pass --archive FOLDER for all of it, --rest for what is left (in Python: archive=, rest=True)"
        raise InputError("all of the journal", f"one whose events up to {last:,} are archived", do)
    return WithArchive(storage, number, Path(folder))
