"""What a process knows of the journals of a database, and how it is kept up to date.

What others have written since is applied in the writer's turn if it is little. A journal that is long to read (when it
is first opened, after outcomes were excluded) is read by the caller who needs it, on a connection of its own: others
are served meanwhile.

Folds that nobody has used for long leave memory where all together are large, and are read again when they are needed.
"""

import contextlib
import threading
import time
import warnings
from collections.abc import Callable, Container

from rankone.errors import JournalError
from rankone.live.fold.fold import Diverged, Fold, Stale
from rankone.live.fold.journal_reading import WholeJournal, each_stretch, read_tail, read_whole
from rankone.live.fold.unknown_policy import PolicyNotKnown, UnknownPolicy
from rankone.live.journal.clock import Clock, JournalTime
from rankone.live.storage import Storage
from rankone.live.storage.forks import in_use

SHORT = 5_000  # events at most that are read in the writer's turn, or a few more
_AT_ONCE = 2  # journals read outside it: each takes up to 50,000 events into memory at a time
MOST_BYTES = 96 * 2**20  # of all folds in memory, but for those in use
_MEASURED_EVERY = 1_000  # events
_READ_AGAIN = 60.0  # seconds after which a damaged journal is read again


class RestartWarning(UserWarning):
    """The policy's code has changed since the journal was written: it starts afresh on what is known."""


class MoreToRead(Exception):
    """More of a journal is to be read than the writer's turn has time for."""

    def __init__(self, reads: int) -> None:
        self.reads = reads  # how often the journal had been read then


class CachedFold:
    """One experiment of a database, and its fold as far as this process knows it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.time = JournalTime(Clock())
        self.fold: Fold | None = None
        self.behind: Fold | None = None  # one with so much to read that it is left to the caller who reads
        self.snapshot_seq = 0
        self.bytes, self.measured_until = 0, 0  # of the fold, as it was measured; until it has so many events
        self.outdated = False  # the policy cannot be replayed with this program
        self.damage: JournalError | None = None  # why the journal could not be read, the last time
        self.read_again = 0.0  # when to try again
        self.reading = threading.Lock()  # held by the caller who reads the whole journal
        self.reads = 0
        self.excluding = threading.Lock()  # held by the caller who excludes outcomes
        self.finish_at = 0  # when to try again to finish exclusions that were interrupted
        self.whole: WholeJournal | None = None  # what it has read, for the next turn to take


class FoldCache:
    """What one process knows of the experiments of one database; `reader` opens a connection outside the turn."""

    def __init__(
        self, storage: Storage, reader: Callable[[], contextlib.AbstractContextManager[Storage]], read_only: bool
    ) -> None:
        self._storage, self._reader, self._read_only = storage, reader, read_only
        self._few = threading.Semaphore(_AT_ONCE)
        self._cached: dict[int, CachedFold] = {}  # the one used last is the last
        self._bytes = 0  # of all of them

    def of(self, number: int, made: CachedFold | None = None) -> CachedFold:
        """Return what is known of an experiment, one just `made` for example; all who ask get the same."""
        return self._cached.setdefault(number, made or CachedFold(number))

    def begin_in_child(self) -> None:
        """Let nobody in a forked process wait for threads of its parent."""
        for cached in self._cached.values():
            cached.excluding = threading.Lock()

    def read_whole(self, cached: CachedFold, reads: int) -> None:
        """Read a journal to its end on a connection of its own, unless another caller just has."""
        with in_use, cached.reading:
            if cached.reads != reads:
                return
            try:
                with self._few, self._reader() as storage:
                    cached.whole = self._go_on(storage, cached) or read_whole(storage, cached.number)
            except JournalError as error:
                cached.damage, cached.read_again = error, time.monotonic() + _READ_AGAIN
                raise
            finally:
                cached.reads += 1

    @staticmethod
    def _go_on(storage: Storage, cached: CachedFold) -> WholeJournal | None:
        """Read on where the turn had to stop; None if there is nothing to go on with."""
        fold, cached.behind = cached.behind, None
        if fold is not None and not cached.outdated:
            with contextlib.suppress(Stale, Diverged, PolicyNotKnown):
                return WholeJournal(read_tail(storage, cached.number, fold), cached.snapshot_seq, [], None)
        return None

    def catch_up(self, cached: CachedFold) -> Fold:
        """Bring a fold up to date. A damaged journal is read again only now and then: that may take long."""
        if cached.damage is not None and time.monotonic() < cached.read_again:
            raise cached.damage.with_traceback(None)  # or it would grow with every raise
        try:
            fold = self._read(cached)
            cached.time.seen(fold.at)
            self._cached[cached.number] = self._cached.pop(cached.number)
            if fold.seq >= cached.measured_until:
                size, cached.measured_until = fold.nbytes, fold.seq + _MEASURED_EVERY
                self._bytes, cached.bytes = self._bytes + size - cached.bytes, size
            return fold
        except JournalError as error:
            cached.fold, cached.damage, cached.read_again = None, error, time.monotonic() + _READ_AGAIN
            raise

    def make_room(self, involved: Container[int], let_go: Callable[[CachedFold], None]) -> None:
        """Take folds of experiments that are not `involved` out of memory while all together are too large.

        Those not used for longest go first; `let_go` is called with each that has a fold before it goes.
        """
        if self._bytes <= MOST_BYTES:
            return
        for number, cached in self._cached.items():
            if number not in involved and cached.bytes:
                if cached.fold is not None:
                    let_go(cached)
                self._bytes -= cached.bytes
                cached.fold, cached.bytes, cached.measured_until = None, 0, 0
                if self._bytes <= MOST_BYTES:
                    return

    def _read(self, cached: CachedFold) -> Fold:
        """Apply what others have written since, if that is little."""
        if cached.whole is not None:
            self._take(cached, cached.whole)
        fold = cached.fold
        if fold is not None and isinstance(fold.policy, UnknownPolicy) and fold.policy.known_by_now():
            cached.fold = fold = None
        if fold is None:
            raise MoreToRead(cached.reads)
        if self._storage.last_event(cached.number) == fold.seq:
            return fold
        try:
            for stretch, _ in enumerate(each_stretch(self._storage, cached.number, fold, SHORT)):
                if stretch:
                    cached.fold, cached.behind = None, fold
                    raise MoreToRead(cached.reads)
        except (Stale, Diverged, PolicyNotKnown):
            cached.fold = None
            raise MoreToRead(cached.reads) from None
        return fold

    def _take(self, cached: CachedFold, whole: WholeJournal) -> None:
        cached.whole, cached.damage, cached.measured_until = None, None, 0
        cached.fold, cached.snapshot_seq, cached.outdated = whole.fold, whole.snapshot_seq, whole.diverged is not None
        if whole.diverged is not None:
            changed = f"the policy's code changed since event {whole.diverged} was written"
            warnings.warn(RestartWarning(f"{changed}: it starts afresh on what is known"), stacklevel=2)
        for seq in whole.bad:
            if not self._read_only:
                self._storage.drop_snapshots(cached.number, "seq = {}", seq)
