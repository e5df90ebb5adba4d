"""Commands by name: a function under `command` in a file of this folder, or of a topic's, is one."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from rankone.cli._wording import in_options
from rankone.errors import ExplainedError, sentence
from rankone.registry import Registry

Function = TypeVar("Function", bound=Callable[..., Any])


# What the commands of each folder are about, in the order in which ``rankone --help`` shows them.
_TOPICS = {
    "data": "Data you have",
    "live": "Live experiments",
    "service": "The service and its database",
    "study": "Simulated studies",
}
_OTHER = "More commands"


class _PlainTypes:
    """Shows ``--quick`` and not ``--quick <bool>``, as if a value were wanted; ``<str>`` and not ``<list[str]>``."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all options, ``--help`` included."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in params:
            if getattr(each, "is_flag", False):
                each.metavar = ""
            elif getattr(each, "multiple", False) and each.metavar is None:
                each.metavar = "<str>"
        return params


class PlainCommand(_PlainTypes, TyperCommand):
    """A command of Typer. Errors name its options, where the library names its arguments."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        try:
            return super().invoke(ctx)
        except ExplainedError as error:
            names = [each.name for each in self.params if each.name and f"--{each.name.replace('_', '-')}" in each.opts]
            error.expected, error.do = in_options(error.expected, names), in_options(error.do, names)
            error.args = (sentence(error.expected, error.got, error.do),)
            raise


class PlainGroup(_PlainTypes, TyperGroup):
    """A group of commands of Typer."""


class Command(NamedTuple):
    """A command: what it runs, an example of what follows its name, the help of its group, another spelling."""

    run: Callable[..., Any]
    example: str
    group: str
    also: str = ""

    @property
    def topic(self) -> str:
        """The heading under which ``rankone --help`` shows it: that of its folder."""
        package, _, folder = self.run.__module__.rpartition(".")[0].rpartition(".")
        return _TOPICS.get(folder, _OTHER) if package == __package__ else _OTHER

    def join(self, app: typer.Typer, name: str) -> None:
        """Become a command of an application."""
        example = f"Example: rankone {name} {self.example}".rstrip()
        panel = None if self.group else self.topic
        for spelling in filter(None, (name.rpartition(" ")[2], self.also)):
            hidden = spelling == self.also
            app.command(spelling, cls=PlainCommand, epilog=example, rich_help_panel=panel, hidden=hidden)(self.run)


COMMANDS: Registry[Command] = Registry("command", "commands", __package__)


def command(name: str, example: str = "", group: str = "", also: str = "") -> Callable[[Function], Function]:
    """Decorator: the function becomes ``rankone NAME``. Its docstring is the help, its parameters are the options.

    Args:
        name: one word, or two: the first is a group then.
        example: what may follow the name; shown at the end of the help.
        group: what the commands of the group are about.
        also: another spelling, which ``--help`` does not list.
    """

    def register(function: Function) -> Function:
        COMMANDS.add(name, Command(function, example, group, also), origin=function)
        return function

    return register


def join_all(app: typer.Typer) -> None:
    """Put every command into an application, topic by topic, in the order of the files."""
    groups: dict[str, typer.Typer] = {}
    order = [*_TOPICS.values(), _OTHER]
    for name, each in sorted(COMMANDS.known().items(), key=lambda item: order.index(item[1].topic)):
        word = name.rpartition(" ")[0]
        if word and word not in groups:
            groups[word] = typer.Typer(cls=PlainGroup, help=each.group, no_args_is_help=True)
            app.add_typer(groups[word], name=word, rich_help_panel=each.topic)
        each.join(groups[word] if word else app, name)
