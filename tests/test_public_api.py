"""The public interface, written down in `public_api.txt`: no name or parameter changes without being seen.

After a change that is meant, ``python -m tests.test_public_api`` writes the file anew; `docs/versions.md` says which
changes may be made, and the change log must name them.
"""

import difflib
import inspect
from pathlib import Path

import rankone

WRITTEN_DOWN = Path(__file__).with_name("public_api.txt")
SEEN = Path(rankone.policies.__file__)
IF_CHECKED, AFTER = "if TYPE_CHECKING:  # what type checkers and editors see\n", "\n\n"


def described(name, value):
    """One line a name: its signature. A class is followed by the members it adds to the public classes it extends."""
    if inspect.ismodule(value):
        own = [key for key, inner in vars(value).items() if getattr(inner, "__module__", "") == value.__name__]
        for inner in sorted(getattr(value, "__all__", own)):
            if inner not in rankone.__all__:  # said there
                yield from described(f"{name}.{inner}", getattr(value, inner))
    elif inspect.isclass(value):
        yield f"class {name}{parameters(value)}"
        for inner in sorted(dir(value)):
            home = next((base for base in value.__mro__ if inner in vars(base)), object)
            if not inner.startswith("_") and (home is value or home not in public_classes()) and is_ours(home):
                member = vars(home)[inner]
                function = getattr(member, "__func__", member)
                yield f"  .{inner}{parameters(function) if inspect.isfunction(function) else ''}"
    elif callable(value):
        yield f"{name}{parameters(value)}"
    else:
        yield name


def is_ours(thing):
    return thing.__module__.partition(".")[0] == "rankone"


def public_classes():
    return {
        getattr(module, name)
        for module in (rankone, rankone.clicks)
        for name in module.__all__
        if inspect.isclass(getattr(module, name))
    }


def parameters(function):
    """Names and defaults; types may become more precise without harm to anybody."""
    if inspect.isclass(function) and issubclass(function, BaseException):
        return ""
    shown: list[str] = []
    for entry in inspect.signature(function).parameters.values():
        if entry.kind is entry.KEYWORD_ONLY and not any(text.startswith("*") for text in shown):
            shown.append("*")
        text = str(entry.replace(annotation=entry.empty, default=entry.empty))
        if entry.default is not entry.empty:
            text += f"={getattr(entry.default, '__name__', None) or repr(entry.default)}"
        shown.append(text)
    return f"({', '.join(shown)})"


def public_api():
    lines = [line for name in sorted(rankone.__all__) for line in described(name, getattr(rankone, name))]
    return "\n".join(lines) + "\n"


def test_nothing_changed_unseen():
    before, now = WRITTEN_DOWN.read_text().splitlines(), public_api().splitlines()
    changes = list(difflib.unified_diff(before, now, "written down", "now", lineterm="", n=0))
    assert not changes, "\n".join(
        [
            "the public interface changed; if that is meant, run `python -m tests.test_public_api` and tell CHANGELOG.md",
            *changes,
        ]
    )


def for_type_checkers():
    """The file of `rankone.policies`, in which type checkers see every policy by the name of its class."""
    kinds = rankone.policies._of_the_package().values()
    kinds = sorted(kinds, key=lambda kind: (kind.__module__, not kind.__name__.isupper(), kind.__name__))
    lines = [f"    from {kind.__module__} import {kind.__name__} as {kind.__name__}\n" for kind in kinds]
    before, first, rest = SEEN.read_text().partition(IF_CHECKED)
    return f"{before}{first}{''.join(lines)}\n{rest.partition(AFTER)[2]}"


def test_type_checkers_see_every_policy():
    assert SEEN.read_text() == for_type_checkers(), "run `python -m tests.test_public_api`"


if __name__ == "__main__":
    WRITTEN_DOWN.write_text(public_api())
    SEEN.write_text(for_type_checkers())
