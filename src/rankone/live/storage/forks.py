"""Forks: no connection is carried over one.

SQLite remembers for the whole process which locks it holds on a file. A forked child inherits that memory without the
locks, and its mutexes as other threads left them: it would hang, or write to a log that its parent deletes. So a fork
waits until nobody is at work and every connection is closed; both sides connect again when they next need to. If that
did not succeed (somebody was at work for long, or it was the one at work who forked), the child is refused whatever
database it wants to use, and told why.
"""

import ctypes
import logging  # noqa: F401 - its locks are taken at forks too, and must be taken after ours: those at work may log
import os
import threading
import weakref
from typing import Protocol

from rankone.errors import StorageError

_PATIENCE = 5.0  # seconds that a fork waits for those at work


class Connected(Protocol):
    """What holds a connection and other things that a fork would tear."""

    def disconnect(self) -> None:
        """Close the connection; it is made again when it is next needed."""

    def begin_in_child(self) -> None:
        """Replace what threads of the parent may have held."""


class AtWork:
    """Entered by whoever uses a database or compiled code for one; left in time, so that a fork can wait for it."""

    def __init__(self) -> None:
        self._connected: weakref.WeakSet[Connected] = weakref.WeakSet()
        self._lost = False  # this process was forked while somebody was at work
        self._begin({})

    def _begin(self, workers: dict[int, int]) -> None:
        self._lock = threading.RLock()
        self._change = threading.Condition(self._lock)
        self._workers = workers  # threads at work, and how often each has entered
        self._forking: int | None = None  # the thread that forks: nobody begins to work meanwhile
        self._quiet = False  # whether nobody is at work while it does, and every connection is closed

    def register(self, connected: Connected) -> None:
        """Keep something in mind that is to be disconnected before forks, as long as it lives."""
        self._connected.add(connected)

    def __enter__(self) -> None:
        if self._lost:
            do = "fork before experiments are used, or start processes by multiprocessing's 'spawn' or 'forkserver'"
            raise StorageError("a process that may use databases", "one forked while another thread used one", do)
        me = threading.get_ident()
        with self._lock:  # of the condition, and quicker to take
            while self._forking is not None and me not in self._workers:
                self._change.wait()
            self._workers[me] = self._workers.get(me, 0) + 1

    def __exit__(self, *error: object) -> None:
        me = threading.get_ident()
        with self._lock:
            self._workers[me] -= 1
            if not self._workers[me]:
                del self._workers[me]
            if self._forking is not None:
                self._change.notify_all()

    def before_fork(self) -> None:
        """Wait until nobody is at work, then disconnect."""
        me = threading.get_ident()
        with self._change:
            while self._forking is not None:
                self._change.wait()
            self._forking, self._quiet = me, False  # until all is done: whatever is raised here, the fork takes place
            quiet = me not in self._workers and self._change.wait_for(lambda: not self._workers, _PATIENCE)
        if quiet:
            for connected in list(self._connected):
                connected.disconnect()
            self._quiet = True

    def after_fork(self) -> None:
        """Let others work again, in the parent."""
        with self._change:
            self._forking = None
            self._change.notify_all()

    def after_fork_in_child(self) -> None:
        """Begin anew in the child, where no other thread lives."""
        self._lost = self._lost or not self._quiet
        me = threading.get_ident()
        self._begin({me: self._workers[me]} if me in self._workers else {})
        for connected in list(self._connected):
            connected.begin_in_child()
            if self._lost:  # never even closed, also not when the interpreter ends: that may hang
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(connected))


in_use = AtWork()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=in_use.before_fork, after_in_parent=in_use.after_fork, after_in_child=in_use.after_fork_in_child
    )
