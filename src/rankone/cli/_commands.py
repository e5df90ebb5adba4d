"""Commands by name: a function under `command` in a file of this folder is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import typer

from rankone.registry import Registry

Function = TypeVar("Function", bound=Callable[..., Any])


class Command(NamedTuple):
    """A command: what it runs, an example of what follows its name, and the help of the group it is in."""

    run: Callable[..., Any]
    example: str
    group: str

    def join(self, app: typer.Typer, name: str) -> None:
        """Become a command of an application."""
        app.command(name.rpartition(" ")[2], epilog=f"Example: rankone {name} {self.example}".rstrip())(self.run)


COMMANDS: Registry[Command] = Registry("command", "commands", __package__)


def command(name: str, example: str = "", group: str = "") -> Callable[[Function], Function]:
    """Decorator: the function becomes ``rankone NAME``. Its docstring is the help, its parameters are the options.

    Args:
        name: one word, or two: the first is a group then.
        example: what may follow the name; shown at the end of the help.
        group: what the commands of the group are about.
    """

    def register(function: Function) -> Function:
        COMMANDS.add(name, Command(function, example, group), origin=function)
        return function

    return register


def join_all(app: typer.Typer) -> None:
    """Put every command of this folder into an application, in the order of the files."""
    groups: dict[str, typer.Typer] = {}
    for name, found in COMMANDS.known().items():
        word = name.rpartition(" ")[0]
        if word and word not in groups:
            groups[word] = typer.Typer(help=found.group, no_args_is_help=True)
            app.add_typer(groups[word], name=word)
        found.join(groups[word] if word else app, name)
