"""``rankone --import FILE.py``: policies and problems of the user's own, known to a command by their names."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from pathlib import Path

from rankone.errors import InputError, RankoneError


def import_file(file: Path) -> None:
    """Import a file; refuse one whose name would hide another module."""
    if file.suffix != ".py" or not file.is_file():
        raise InputError("a Python file to import", str(file), "name an existing file that ends in .py")
    if not file.stem.isidentifier():
        raise InputError("a file name that Python can import", str(file), "use letters, digits and _ alone before .py")
    if file.stem in sys.builtin_module_names or _other_module(file):
        raise InputError("a file name that no other module has", str(file), f"rename it: 'my_{file.name}', for example")
    sys.path.insert(0, str(file.absolute().parent))  # workers look there too
    try:
        importlib.import_module(file.stem)
    except RankoneError:
        raise
    except Exception as error:
        raise InputError(
            f"a Python file that can be imported, {file}", _in_words(error, file), "correct it there"
        ) from error


def _in_words(error: Exception, file: Path) -> str:
    """Say what went wrong and in which line of the file: the last one before it left it, for another module perhaps."""
    lines = [part.lineno for part in traceback.extract_tb(error.__traceback__) if Path(part.filename).name == file.name]
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).name == file.name:
        lines, said = [error.lineno], error.msg
    else:
        said = str(error)
    place = f" in line {lines[-1]}" if lines else ""
    return f"{type(error).__name__}{place}: {said}".rstrip(": ")


def _other_module(file: Path) -> bool:
    """Return whether importing a file by its name would import, or hide, something else."""
    try:
        found = importlib.util.find_spec(file.stem)
    except ValueError:  # a module that was not imported from anywhere, as `__main__` may be
        return True
    if found is None:
        return False
    return found.origin is None or not Path(found.origin).exists() or not file.samefile(found.origin)
