"""The command ``rankone``. One command is one file in this folder: a function under `@command` (`_commands.py`).

Files import heavy parts inside the command's function, so that ``rankone --help`` answers at once.
"""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from rankone._version import __version__
from rankone.cli._commands import PlainGroup, join_all
from rankone.cli._own_files import import_file
from rankone.cli._wording import in_options
from rankone.errors import ExplainedError, RankoneError, sentence

_SMALLER = "take fewer rows and columns, fewer workers or a larger machine"


def build_app() -> typer.Typer:
    """Return the Typer application with every command of this folder."""
    app = typer.Typer(
        name="rankone",
        cls=PlainGroup,
        help="Find the best pair, or combination of more parts, from clicks when a click needs every part to be good.",
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
        print(f"rankone: {_in_words(error)}", file=sys.stderr)
        sys.exit(2)
    except MemoryError as error:
        print(f"rankone: {sentence('what fits into memory', str(error) or 'more', _SMALLER)}", file=sys.stderr)
        sys.exit(2)


def _in_words(error: RankoneError) -> str:
    if isinstance(error, ExplainedError):
        return sentence(error.expected, error.got, in_options(error.do, build_app()))
    return str(error)
