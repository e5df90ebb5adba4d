"""Commands by name: a function under `command` in a file of this folder, or of a topic's, is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from rankone.registry import Registry

Function = TypeVar("Function", bound=Callable[..., Any])


# What commands are about, in the order in which ``rankone --help`` shows them.
DATA, LIVE, SERVICE, STUDY = "Data you have", "Live experiments", "The service and its database", "Simulated studies"
OTHER = "More commands"
_TOPICS = (DATA, LIVE, SERVICE, STUDY, OTHER)


class _PlainTypes:
    """Shows ``--quick`` and not ``--quick <bool>``, as if a value were wanted; ``<str>`` and not ``<list[str]>``."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all options, ``--help`` included."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in found:
            if getattr(each, "is_flag", False):
                each.metavar = ""
            elif getattr(each, "multiple", False) and each.metavar is None:
                each.metavar = "<str>"
        return found


class PlainCommand(_PlainTypes, TyperCommand):
    """A command of Typer."""


class PlainGroup(_PlainTypes, TyperGroup):
    """A group of commands of Typer."""


class Command(NamedTuple):
    """A command: what it runs, an example of what follows its name, its topic, and the help of the group it is in."""

    run: Callable[..., Any]
    example: str
    topic: str
    group: str

    def join(self, app: typer.Typer, name: str) -> None:
        """Become a command of an application."""
        example = f"Example: rankone {name} {self.example}".rstrip()
        panel = None if self.group else self.topic
        register = app.command(name.rpartition(" ")[2], cls=PlainCommand, epilog=example, rich_help_panel=panel)
        register(self.run)


COMMANDS: Registry[Command] = Registry("command", "commands", __package__)


def command(name: str, example: str = "", topic: str = OTHER, group: str = "") -> Callable[[Function], Function]:
    """Decorator: the function becomes ``rankone NAME``. Its docstring is the help, its parameters are the options.

    Args:
        name: one word, or two: the first is a group then.
        example: what may follow the name; shown at the end of the help.
        topic: the heading under which ``rankone --help`` shows it.
        group: what the commands of the group are about.
    """

    def register(function: Function) -> Function:
        COMMANDS.add(name, Command(function, example, topic, group), origin=function)
        return function

    return register


def join_all(app: typer.Typer) -> None:
    """Put every command of this folder into an application, topic by topic, in the order of the files."""
    groups: dict[str, typer.Typer] = {}
    for name, found in sorted(COMMANDS.known().items(), key=lambda item: _TOPICS.index(item[1].topic)):
        word = name.rpartition(" ")[0]
        if word and word not in groups:
            groups[word] = typer.Typer(cls=PlainGroup, help=found.group, no_args_is_help=True)
            app.add_typer(groups[word], name=word, rich_help_panel=found.topic)
        found.join(groups[word] if word else app, name)
