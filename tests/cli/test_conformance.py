"""What every command must do. A new file in `rankone.cli` is tested by itself."""

import pytest
import typer
from typer.testing import CliRunner

from rankone.cli import build_app
from rankone.cli._commands import COMMANDS
from tests.test_words import faults

APP = build_app()


def commands(command=None, words=()):
    """Every command and the words that call it, commands of groups included."""
    command = command or typer.main.get_command(APP)
    for name, inner in getattr(command, "commands", {}).items():
        if hasattr(inner, "commands"):
            yield from commands(inner, (*words, name))
        elif not inner.hidden:
            yield (*words, name), inner


@pytest.fixture(params=list(commands()), ids=lambda found: " ".join(found[0]))
def command(request):
    return request.param


def test_says_what_it_does_in_a_sentence(command):
    words, found = command
    first = (found.help or "").strip().partition("\n\n")[0]
    assert first.endswith((".", "?")), f"the docstring of `rankone {' '.join(words)}` begins with one whole sentence"
    assert len(first.split()) <= 25, "and a short one"


def test_help_has_no_words_that_readers_stumble_over(command):
    _, found = command
    texts = [found.help or "", *(getattr(entry, "help", None) or "" for entry in found.params)]
    live = found.callback.__module__.startswith(("rankone.cli.live", "rankone.cli.service"))
    assert live or not [fault for text in texts for fault in faults(text)]


def test_every_option_and_argument_is_explained(command):
    words, found = command
    unexplained = [entry.name for entry in found.params if not getattr(entry, "help", None)]
    assert not unexplained, f"rankone {' '.join(words)}: add help= to {unexplained}"


def test_help_is_shown(command):
    words, _ = command
    done = CliRunner().invoke(APP, [*words, "--help"])
    assert done.exit_code == 0
    assert "Usage" in done.output
    assert f"Example: rankone {' '.join(words)}" in done.output
    assert "<bool>" not in done.output, "a flag takes no value"


def test_an_unknown_option_is_refused(command):
    words, _ = command
    done = CliRunner().invoke(APP, [*words, "--no-such-option"])
    assert done.exit_code == 2


def test_help_groups_the_commands():
    shown = CliRunner().invoke(APP, ["--help"]).output
    assert "<bool>" not in shown
    titles = ["Data you have", "Live experiments", "The service and its database", "Simulated studies"]
    assert [shown.count(title) for title in titles] == [1] * 4
    assert sorted(titles, key=shown.index) == titles


def test_every_command_of_the_package_is_in_a_group():
    names = {name for name, found in COMMANDS.known().items() if found.topic == "More commands" and _is_ours(found)}
    assert not names, "put it into the folder of a topic"


def _is_ours(found):
    return found.run.__module__.startswith("rankone.cli") and not found.run.__module__.endswith("my_command")
