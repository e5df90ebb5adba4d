"""Lists of names in sentences."""

from collections.abc import Sequence

_MOST_NAMED = 5


def listed(parts: Sequence[str]) -> str:
    """Join parts as people do.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def some_of(parts: Sequence[str], most: int = _MOST_NAMED) -> str:
    """Name a few, and count the others.

    >>> some_of(["a", "b"]), some_of(["a", "b", "c", "d"], 2)
    ('a, b', 'a, b and 2 more')
    """
    more = len(parts) - most
    return ", ".join(parts[:most]) + (f" and {more:,} more" if more > 0 else "")


def quoted(names: Sequence[str]) -> list[str]:
    """Put names in quotes."""
    return [f"'{name}'" for name in names]


def cut_text(text: str, most: int, letters: int = 60) -> str:
    """Return the first words of a text.

    >>> cut_text("Save money now", 3), cut_text("Save money now", 2)
    ('Save money now', 'Save money…')
    """
    words = text.split()
    short = " ".join(words[:most]) if len(words) > most else text
    return text if len(short) == len(text) <= letters else f"{short[:letters].rstrip()}…"
