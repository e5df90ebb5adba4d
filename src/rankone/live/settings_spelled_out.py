"""The settings of an experiment in the signature and the help of what takes them."""

import dataclasses
import functools
import inspect
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

from rankone.live.settings import GROUPS, SETTINGS, Settings

Thing = TypeVar("Thing")


def takes_settings(wanted: type) -> Callable[[Thing], Thing]:
    """Decorator of a function, or of a class, that takes such ``**settings``: its signature and help spell them out."""
    types = get_type_hints(wanted)
    hints = {field.name: types[field.name] for field in dataclasses.fields(Settings) if field.name in types}
    texts = {setting.name: setting.help for setting in SETTINGS if not setting.group}
    for group, declared in GROUPS.items():
        parts = [f"{each.name}: {each.help}" for each in SETTINGS if each.group == group]
        texts[group] = " ".join([inspect.getdoc(declared) or "", *parts])
    said = {name: f"{name}: {texts[name]}" for name in ("policy", *hints) if name in texts}
    blocks = {name: textwrap.fill(text, 108, subsequent_indent="    ") for name, text in said.items()}
    keyword = functools.partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY, default=None)

    def spell_out(what: Thing) -> Thing:
        function: Any = what.__init__ if isinstance(what, type) else what  # type: ignore[misc]
        own = inspect.signature(function)
        named = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
        more = [keyword(name, annotation=hints[name]) for name in hints]
        function.__signature__ = own.replace(parameters=[*named, *more])
        text = what.__doc__ or ""
        missing = "\n".join(block for name, block in blocks.items() if f"    {name}: " not in text)
        what.__doc__ = text.replace("**settings", textwrap.indent(missing, " " * 8).lstrip())
        return what

    return spell_out
