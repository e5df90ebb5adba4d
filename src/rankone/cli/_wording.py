"""The library's messages in the words of the command: its argument `max_bad=0.5` is the option ``--max-bad 0.5``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from rankone.errors import InputError


def in_options(do: str, app: typer.Typer) -> str:
    """Write what the library calls an argument as the command's option, in what an error says to do.

    >>> from rankone.cli import build_app
    >>> in_options("lower min_impressions, or try max_bad=0.5", build_app())
    'lower --min-impressions, or try --max-bad 0.5'
    >>> in_options("try 'pbm:min_impressions=20'", build_app())
    "try 'pbm:min_impressions=20'"
    """
    names = {name for command in _commands(typer.main.get_command(app)) for name in command}
    written = "|".join(sorted(name for name in names if "_" in name))  # other words are words of the language too
    return re.sub(rf"(?<![:,])\b({written})\b(=?)", lambda found: _option(found[1]) + (" " if found[2] else ""), do)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _commands(command: Any) -> Iterator[list[str]]:
    """Yield the names of the options of a command and of the commands in it."""
    yield [entry.name for entry in command.params if _option(entry.name) in entry.opts]
    for inner in getattr(command, "commands", {}).values():
        yield from _commands(inner)


def as_format_options(text: str) -> str:
    """Write what the library calls an option of a format as the command writes it.

    >>> as_format_options("name the column: item=doc"), as_format_options("try holdout=0.25")
    ('name the column: -o item=doc', 'try --holdout 0.25')
    """
    names = "query|items?|position|clicked|clicks|clicks_are|between|list|segment|separator|encoding|missing"
    text = re.sub(rf"\b({names})=", r"-o \1=", text)
    return re.sub(r"\b(positions|holdout)=", r"--\1 ", text)  # words of the language too, so `in_options` lets them be


def as_table_options(text: str) -> str:
    """Write what the library calls an argument of `analyse` as the commands on tables write it.

    >>> as_table_options("name it: factors=['headline'], for example"), as_table_options("name it: shown='...'")
    ('name it: --factor headline, for example', "name it: --shown '...'")
    """
    text = re.sub(r"\bfactors=\['?([^\]']*)'?\]", r"--factor \1", text)
    return re.sub(r"\b(shown|clicked|slice|dispersion|confidence)=", r"--\1 ", text)


def as_plan_options(text: str) -> str:
    """Write what the library calls an argument of `plan` as the command writes it.

    >>> as_plan_options("try rate=0.03"), as_plan_options("try factors={'headline': 4, 'image': 5}")
    ('try --rate 0.03', 'try --factor headline=4 --factor image=5')
    """
    text = re.sub(r"[{ ]*'(\w+)': (\d+)[,}]?", r" --factor \1=\2", text).replace("factors= ", "")
    return re.sub(r"\b(rate|lift|error|margin)=", r"--\1 ", text)


@contextmanager
def told_as(options: Callable[[str], str]) -> Iterator[None]:
    """Let errors name arguments of the library as the command writes them, by one of the functions above."""
    try:
        yield
    except InputError as error:
        raise type(error)(options(error.expected), error.got, options(error.do)) from None
