"""The command ``rankone``. One command is one file in this folder; the file's name is found by itself.

A command file defines ``register(app)``, which adds its command(s) to the Typer application. Files import heavy parts
inside the command's function, so that ``rankone --help`` answers at once.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

import typer

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
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


def _common_options(
    imported: list[Path] = typer.Option(
        [],
        "--import",
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
    sys.path.insert(0, str(file.resolve().parent))  # workers look there too
    importlib.import_module(file.stem)


def main() -> None:
    """Run the command; an error of rankone is one sentence on standard error and exit code 2."""
    try:
        build_app()()
    except RankoneError as error:
        print(f"rankone: {error}", file=sys.stderr)
        sys.exit(2)
