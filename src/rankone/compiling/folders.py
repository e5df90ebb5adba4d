"""Where rankone keeps on disk what makes it fast: in $RANKONE_CACHE_DIR, or in the user's cache directory.

Where that cannot be written, what is there is still used and what is missing goes to a directory of the user's own
below the system's temporary one. What is found is run: so files and directories count only if they belong to this user
or to root and nobody else can write to them (`is_closed`), and all that is made here is made so, whatever the umask.
"""

import contextlib
import os
import stat
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def cache_roots(make: bool = False) -> Iterator[Path]:
    """Yield the directories to look in, in this order; what is new is kept in the first that can be written.

    With `make`, they are made where they are missing.
    """
    roots = []
    named = os.environ.get("RANKONE_CACHE_DIR")
    with contextlib.suppress(RuntimeError):  # a user without a home
        roots.append(
            Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rankone"
        )
    if hasattr(os, "geteuid"):
        with contextlib.suppress(OSError):
            roots.append(Path(tempfile.gettempdir()) / f"rankone-{os.geteuid()}")
    for root in roots:
        if make:
            with contextlib.suppress(OSError):
                make_folder(root)
        if is_closed(root):
            yield root
        else:
            do = f"let it belong to this user or to root, empty it, and chmod go-w {root}"
            warnings.warn(f"{root} is not used: others could put code there that is run; {do}", stacklevel=2)


def is_closed(path: Path) -> bool:
    """Return whether a file or a directory belongs to this user or to root, and nobody else can write to it.

    What is missing is closed. A link must belong to one of the two as well, like what it leads to.

    >>> is_closed(Path(tempfile.mkdtemp()))
    True
    """
    with contextlib.suppress(OSError):
        if hasattr(os, "geteuid"):
            link, target = path.lstat(), path.stat()
            return {link.st_uid, target.st_uid} <= {0, os.geteuid()} and not target.st_mode & OTHERS_WRITE
    return True


def make_folder(folder: Path) -> None:
    """Make a directory, and those above it, to which only this user can write."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o755, exist_ok=True)


def can_keep() -> bool:
    """Tell whether what is compiled can be kept in some root."""
    for root in cache_roots(make=True):
        with contextlib.suppress(OSError):
            make_folder(root / "kernels")
            tempfile.TemporaryFile(dir=root / "kernels").close()
            return True
    return False


def has_kept() -> bool:
    """Tell whether some root has anything that was compiled, though perhaps nothing can be added."""
    return any(any((root / "kernels").glob("*/*.nbc")) for root in cache_roots())
