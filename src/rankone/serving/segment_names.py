"""What is known of a visitor before a decision: a few attributes, such as a device and a country.

Plain checks, without NumPy: the client makes them too.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from rankone.errors import InputError

MAX_ATTRIBUTES = 8
MAX_ATTRIBUTE = 64  # characters of the name of an attribute, or of its level
MAX_LINE = MAX_ATTRIBUTES * (2 * MAX_ATTRIBUTE + 3)  # characters of a segment in one line
_EXAMPLE = "try segment={'device': 'phone', 'country': 'DE'}"


class Segment(NamedTuple):
    """A segment that was checked: all visitors with these attributes."""

    attributes: tuple[str, ...]  # sorted
    levels: tuple[str, ...]
    text: str  # as the journal keeps it

    @property
    def name(self) -> str:
        """What reports call it."""
        return ", ".join(self.levels)


def checked_segment(value: Any) -> Segment:
    """Return what was said of a visitor; refuse what is no small set of names and levels.

    >>> checked_segment({"device": "phone", "country": "DE"}).text
    '{"country":"DE","device":"phone"}'
    >>> checked_segment({"returning": True, "visits": 3}).levels
    ('true', '3')
    """
    if type(value) is Segment:
        return value
    if not isinstance(value, Mapping):
        raise InputError("a segment as a dictionary of attributes and their levels", value, _EXAMPLE)
    if not 1 <= len(value) <= MAX_ATTRIBUTES:
        raise InputError(f"a segment of 1 to {MAX_ATTRIBUTES} attributes", len(value), _EXAMPLE)
    items = tuple(value.items())
    if any(type(part) is not str for item in items for part in item):
        items = tuple((attribute, _level_text(attribute, level)) for attribute, level in items)
    return _segment(items)


@functools.lru_cache(10_000)
def _segment(items: tuple[tuple[str, str], ...]) -> Segment:
    """Return the segment of these attributes, in whatever order; visitors of one segment share it."""
    for attribute, level in items:
        what = f"the level of {_quoted(attribute)}"
        for text, called in ((attribute, "the name of an attribute"), (level, what)):
            if not 0 < len(text) <= MAX_ATTRIBUTE or not text.isprintable():
                got = ascii(text) if len(text) <= MAX_ATTRIBUTE else f"{len(text)} characters"
                expected = f"{called} as printable text of 1 to {MAX_ATTRIBUTE} characters"
                raise InputError(expected, got, "give a short name that many visitors share")
    attributes, levels = zip(*sorted(items), strict=True)
    text = json.dumps(dict(sorted(items)), separators=(",", ":"), ensure_ascii=False)
    return Segment(attributes, levels, text)


def segment_of(text: str) -> Segment:
    """Return the segment that a journal has as text."""
    return _segment(tuple(json.loads(text).items()))


def segment_in_line(text: str) -> Segment:
    """Return a segment that is written in one line, as in a command or a page.

    >>> segment_in_line("device=phone, country=DE").name
    'DE, phone'
    >>> segment_in_line("device=phone,device=desktop")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    rankone.errors.InputError: expected a segment with one level of each attribute - got device=phone,device=desktop ...
    """
    parts = [tuple(map(str.strip, part.partition("="))) for part in text.split(",")]
    if not all(equals for _, equals, _ in parts):
        raise InputError("a segment as NAME=LEVEL, several with commas between", text, "try device=phone,country=DE")
    names = [attribute for attribute, _, _ in parts]
    if len(set(names)) < len(names):
        raise InputError("a segment with one level of each attribute", text, "give each attribute once")
    return checked_segment({attribute: level for attribute, _, level in parts})


def _quoted(attribute: str) -> str:
    """Return the name of an attribute as an error shows it, whatever it is made of."""
    return f"'{attribute}'" if attribute.isprintable() and len(attribute) <= MAX_ATTRIBUTE else "an attribute"


def _level_text(attribute: Any, level: Any) -> str:
    """Return a level as text; refuse what is no name."""
    if type(attribute) is not str:
        raise InputError("attributes with names", attribute, _EXAMPLE)
    if isinstance(level, bool):
        return "true" if level else "false"
    if isinstance(level, (str, int)):
        return str(level)
    what = f"the level of {_quoted(attribute)} as text or a whole number"
    if level is None or level != level:
        raise InputError(what, "nothing" if level is None else level, "say 'unknown' where it is not known")
    if isinstance(level, float):
        raise InputError(what, level, "say which part of the range it is in, such as 'under 30'")
    kind = "several levels in one" if isinstance(level, (Mapping, list, tuple, set)) else type(level).__name__
    raise InputError(what, kind, "give each its own attribute, as text")


def check_attributes(segment: Segment, before: tuple[str, ...] | None) -> None:
    """Refuse other attributes than those the experiment was first asked with.

    >>> check_attributes(checked_segment({"device": "phone"}), ("device",))
    """
    if before is None or segment.attributes == before:
        return
    missing = [name for name in before if name not in segment.attributes]
    others = [name for name in segment.attributes if name not in before]
    do = [f"say 'unknown' where {missing[0]} is not known"] if missing else []
    do += [f"leave out {', '.join(others)}"] if others else []
    expected = f"a segment with {', '.join(before)}, as this experiment was first asked"
    raise InputError(expected, ", ".join(segment.attributes), ", and ".join(do))
