"""The command ``rankone``. One command is one file, in the folder of its topic: a function under `@command`
(`_commands.py`).

Files import heavy parts inside the command's function, so that ``rankone --help`` answers at once.
"""

import importlib
import importlib.util
import sys
import traceback
from pathlib import Path

import typer

from rankone._version import __version__
from rankone.cli._commands import PlainGroup, join_all
from rankone.errors import InputError, RankoneError, sentence

_SMALLER = "use fewer rows and columns, fewer workers or a larger machine"


def build_app() -> typer.Typer:
    """Return the Typer application with every command of this folder."""
    app = typer.Typer(
        name="rankone",
        cls=PlainGroup,
        help="Find the best combination of headline, image, ... from clicks.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_common_options)
    join_all(app)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


def _common_options(
    imported: list[Path] = typer.Option(
        [],
        "--import",
        metavar="FILE.py",
        help="A Python file with policies or problems of your own, known by their names from then on; repeatable.",
        envvar="RANKONE_IMPORT",
    ),
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", is_eager=True, callback=_print_version
    ),
) -> None:
    for file in imported:
        import_file(file)


def main() -> None:
    """Run the command; an error of rankone is one sentence on standard error and exit code 2."""
    try:
        build_app()()
    except RankoneError as error:
        print(f"rankone: {error}", file=sys.stderr)
        sys.exit(2)
    except MemoryError as error:
        print(f"rankone: {sentence('Not enough memory:', str(error) or 'more is needed', _SMALLER)}", file=sys.stderr)
        sys.exit(2)


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
            f"a Python file that can be imported, {file}", _import_error(error, file), "correct it there"
        ) from error


def _import_error(error: Exception, file: Path) -> str:
    """Say what went wrong and in which line of the file: the last one before it left it, for another module perhaps."""
    lines = [part.lineno for part in traceback.extract_tb(error.__traceback__) if Path(part.filename).name == file.name]
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).name == file.name:
        lines, said = [error.lineno], error.msg
    else:
        said = str(error)
    where = f" in line {lines[-1]}" if lines else ""
    return f"{type(error).__name__}{where}: {said}".rstrip(": ")


def _other_module(file: Path) -> bool:
    """Return whether importing a file by its name would import, or hide, something else."""
    try:
        spec = importlib.util.find_spec(file.stem)
    except ValueError:  # a module that was not imported from anywhere, as `__main__` may be
        return True
    if spec is None:
        return False
    return spec.origin is None or not Path(spec.origin).exists() or not file.samefile(spec.origin)
