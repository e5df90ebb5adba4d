"""The command ``rankone``. One command is one file in this folder; the file's name is found by itself.

A command file defines ``register(app)``, which adds its command(s) to the Typer application. Files import heavy parts
inside the command's function, so that ``rankone --help`` answers at once.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.models import OptionInfo

from rankone._version import __version__
from rankone.errors import InputError, RankoneError


def build_app() -> typer.Typer:
    """Return the Typer application with every command of this folder."""
    app = typer.Typer(
        name="rankone",
        help="Find the best pair (row, column) from clicks when a click needs both to be good.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_common_options)
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{__name__}.{module.name}").register(app)
    _name_no_type_of_flags(app)
    return app


def _name_no_type_of_flags(app: typer.Typer) -> None:
    """Show ``--quick`` and not ``--quick <bool>``, which looks as if a value were wanted."""
    callbacks = [command.callback for command in (*app.registered_commands, app.registered_callback) if command]
    for callback in filter(None, callbacks):
        for parameter in inspect.signature(callback).parameters.values():
            if isinstance(parameter.default, OptionInfo) and parameter.default.default is False:
                parameter.default.metavar = ""
    for group in app.registered_groups:
        if group.typer_instance is not None:
            _name_no_type_of_flags(group.typer_instance)


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
        False, "--version", help="Print the version and leave.", is_eager=True, callback=_print_version
    ),
) -> None:
    for file in imported:
        _import(file)


def _import(file: Path) -> None:
    if file.suffix != ".py" or not file.is_file():
        raise InputError("a Python file to import", str(file), "name an existing file that ends in .py")
    if not file.stem.isidentifier():
        raise InputError("a file name that Python can import", str(file), "use letters, digits and _ alone before .py")
    if file.stem in sys.builtin_module_names or _other_module(file):
        raise InputError("a file name that no other module has", str(file), f"rename it: 'my_{file.name}', say")
    sys.path.insert(0, str(file.absolute().parent))  # workers look there too
    importlib.import_module(file.stem)


def _other_module(file: Path) -> bool:
    """Return whether importing a file by its name would import, or hide, something else."""
    try:
        found = importlib.util.find_spec(file.stem)
    except ValueError:  # a module that was not imported from anywhere, as `__main__` may be
        return True
    if found is None:
        return False
    return found.origin is None or not Path(found.origin).exists() or not file.samefile(found.origin)


def main() -> None:
    """Run the command; an error of rankone is one sentence on standard error and exit code 2."""
    try:
        build_app()()
    except RankoneError as error:
        print(f"rankone: {_in_options(str(error))}", file=sys.stderr)
        sys.exit(2)


def _in_options(message: str) -> str:
    """Write what the library calls an argument as the command's option, in what a message says to do.

    >>> _in_options("expected a - got b - lower min_impressions, or pass max_bad=0.5, say")
    'expected a - got b - lower --min-impressions, or pass --max-bad 0.5, say'
    >>> _in_options("expected a - got b - write 'pbm:min_impressions=20', say")
    "expected a - got b - write 'pbm:min_impressions=20', say"
    """
    names = {name for command in _commands(typer.main.get_command(build_app())) for name in command}
    said, dash, do = message.rpartition(" - ")
    written = "|".join(sorted(name for name in names if "_" in name))  # other words are words of the language too
    do = re.sub(rf"(?<![:,])\b({written})\b(=?)", lambda found: _option(found[1]) + (" " if found[2] else ""), do)
    return said + dash + do


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _commands(command: Any) -> Iterator[list[str]]:
    """Yield the names of the options of a command and of the commands in it."""
    yield [entry.name for entry in command.params if _option(entry.name) in entry.opts]
    for inner in getattr(command, "commands", {}).values():
        yield from _commands(inner)
