"""How much memory, processor time and files a process takes, as Linux counts them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def resident_megabytes(process: int | str = "self") -> float:
    """Memory held now."""
    return _status("VmRSS", process)


def open_files(process: int | str = "self") -> int:
    """File descriptors that are open now."""
    return sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())


def peak_megabytes(*, with_children: bool = False) -> float:
    """The most memory ever held; with that of processes this one started, such as Spark's Java.

    Not ``ru_maxrss``: that begins at the size of the process that started this one.
    """
    return sum(_status("VmHWM", process) for process in (_family() if with_children else ["self"]))


def cpu_seconds() -> float:
    """Processor time so far, of this process and of those it started."""
    return sum(cpu_seconds_of(process) for process in _family())


def cpu_seconds_of(process: int | str) -> float:
    """Processor time so far of one process."""
    fields = _stat(process)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # user and system


def _family() -> list[str]:
    """This process and those it started that still run."""
    found = ["self"]
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # others come and go
            if int(_stat(folder.name)[1]) == os.getpid():
                found.append(folder.name)
    return found


def _stat(process: int | str) -> list[str]:
    """Fields of a process after its name, which may hold anything: state, parent, ..."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def _status(field: str, process: int | str = "self") -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024
