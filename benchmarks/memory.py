"""How much memory this process holds, as Linux counts it."""

from __future__ import annotations

from pathlib import Path


def resident_megabytes() -> float:
    """Memory held now."""
    return _status("VmRSS")


def peak_megabytes() -> float:
    """The most memory ever held.

    Not ``ru_maxrss``: that begins at the size of the process that started this one.
    """
    return _status("VmHWM")


def _status(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024
