"""Processes that need the same function compile it once: one does, the others wait and read what it has kept.

A turn is a lock on one byte of a file beside what is kept: it ends with the process that has it.
"""

import contextlib
import hashlib
import sys
import time
from pathlib import Path
from typing import IO

if sys.platform != "win32":  # there nobody waits, and all compile
    import fcntl

_PATIENCE = 60.0  # seconds: by then a process that compiles is finished, or stopped, and nobody need wait for it
_PAUSE = 0.02
_SAVING = 0  # the byte for those who write the index of what is kept: it has one for all functions
_file: IO[bytes] | None = None  # one turn a process: Numba lets one thread compile at a time


def take_turn(folder: Path, what: str) -> bool:
    """Wait until no other process compiles the same; return whether this folder can be used for that."""
    global _file
    end_turn()
    if sys.platform == "win32":
        return False
    with contextlib.suppress(OSError):  # read-only, full, or on a file system without locks
        _file = (folder / "turns").open("ab")
        _wait_for(_file, 1 + int.from_bytes(hashlib.sha256(what.encode()).digest()[:6]))
        return True
    return False


def _wait_for(file: IO[bytes], byte: int) -> None:
    end = time.monotonic() + _PATIENCE
    while not _locked(file, byte) and time.monotonic() < end:
        time.sleep(_PAUSE)


def _locked(file: IO[bytes], byte: int) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except (BlockingIOError, PermissionError):
        return False
    return True


def begin_saving() -> None:
    """Wait until no other process writes the index of what is kept, until the turn ends."""
    if _file is not None:
        with contextlib.suppress(OSError):
            _wait_for(_file, _SAVING)


def end_turn() -> None:
    """Let the others go on."""
    global _file
    if _file is not None:
        _file.close()
        _file = None
