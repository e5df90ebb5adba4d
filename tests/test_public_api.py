"""The public interface is what tests/public_api.txt says: names, signatures, commands and their options.

``python -m tests.test_public_api`` writes the file anew.
"""

import inspect
import re
from pathlib import Path

import typer.main

import rankone
from rankone.cli import build_app

LIST = Path(__file__).with_name("public_api.txt")
MODULES = (rankone, rankone.clicks)
HOW = "is it meant? Then run `python -m tests.test_public_api` and say so in CHANGELOG.md (see docs/versions.md)"


def public_api() -> list[str]:
    """One line for each public name, each public method or field of a class, each command with its options."""
    lines = []
    for module in MODULES:
        for name in sorted(module.__all__):
            lines += _described(f"{module.__name__}.{name}", getattr(module, name))
    return lines + _commands("rankone", typer.main.get_command(build_app()))


def _described(path, value):
    if inspect.ismodule(value):
        return [f"module {path}"]
    if inspect.isclass(value):
        return [f"class {path}{_signature(value)}", *_members(value)]
    if callable(value):
        return [f"def {path}{_signature(value)}"]
    return [f"value {path}"]


def _members(value):
    """What a class adds to those of its bases that are public, and so listed, themselves."""
    listed = {getattr(module, name) for module in MODULES for name in module.__all__ if name[0].isupper()} - {value}
    own = [base for base in value.__mro__ if base.__module__.startswith("rankone") and base not in listed]
    for name in sorted({name for base in own for name in vars(base) if not name.startswith("_")}):
        member = inspect.getattr_static(value, name)
        function = getattr(member, "__func__", member)
        yield f"  {name}{_signature(function) if inspect.isfunction(function) else ''}"


def _signature(function):
    """Names, kinds and defaults of the parameters; types are the type checker's to guard."""
    signature = inspect.signature(function)
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return re.sub(r"<(function|class)[^>]*>", "...", str(inspect.Signature(plain)))


def _commands(path, command):
    if hasattr(command, "commands"):
        found = []
        for name, child in sorted(command.commands.items()):
            found += _commands(f"{path} {name}", child)
        return found
    options = [
        " ".join(sorted([*parameter.opts, *parameter.secondary_opts])) if parameter.param_type_name == "option"
        else parameter.name.upper()
        for parameter in command.params
        if parameter.name != "help"
    ]  # fmt: skip
    return [f"$ {path}: {', '.join(options)}"]


def test_public_api_is_the_one_that_is_listed():
    listed, found = LIST.read_text().splitlines(), public_api()
    gone = [line for line in listed if line not in found]
    new = [line for line in found if line not in listed]
    assert found == listed, "\n".join(
        [f"the public interface changed - {HOW}", *(f"- {line}" for line in gone), *(f"+ {line}" for line in new)]
    )


if __name__ == "__main__":
    LIST.write_text("\n".join(public_api()) + "\n")
