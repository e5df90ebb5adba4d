"""What is known of a visitor before a decision: a few attributes, such as a device and a country.

Plain checks, without NumPy: the client makes them too.
"""

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rankone.errors import InputError
from rankone.specs import did_you_mean

MAX_ATTRIBUTES = 8
MAX_ATTRIBUTE = 64  # characters of the name of an attribute, or of its level
MAX_DECLARED = 256  # levels of an attribute
UNKNOWN = "unknown"  # the level of an attribute of which nothing is known
SETTLE, REFUSE, IGNORE = "settle", "refuse", "ignore"  # attributes that nobody declared
MAX_LINE = MAX_ATTRIBUTES * (2 * MAX_ATTRIBUTE + 3)  # characters of a segment in one line
_EXAMPLE = "try segment={'device': 'phone', 'country': 'DE'}"
_DECLARE = "try segments={'device': ['phone', 'desktop'], 'country': None}"
Declaration = tuple[tuple[str, tuple[str, ...] | None], ...]  # names and levels of attributes, sorted; None: any level


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
    rankone.errors.InputError: Expected a segment with one level of each attribute, but got ...
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


def checked_declaration(value: Any) -> Declaration:
    """Return which attributes an experiment tells apart, with their levels; None instead of levels: any.

    >>> checked_declaration({"device": ["phone", "desktop"], "country": None})
    (('country', None), ('device', ('phone', 'desktop')))
    """
    if not isinstance(value, Mapping):
        raise InputError("segments as a dictionary of attributes and their levels", value, _DECLARE)
    if not 1 <= len(value) <= MAX_ATTRIBUTES:
        raise InputError(f"segments of 1 to {MAX_ATTRIBUTES} attributes", len(value), _DECLARE)
    result: dict[str, tuple[str, ...] | None] = {}
    for attribute, levels in value.items():
        if levels is not None and (isinstance(levels, str) or not isinstance(levels, Sequence)):
            expected = f"the levels of {_quoted(str(attribute))} as a list, or None for any"
            raise InputError(expected, levels, _DECLARE)
        if levels is not None and not 1 <= len(levels) <= MAX_DECLARED:
            raise InputError(f"1 to {MAX_DECLARED} levels of {_quoted(str(attribute))}", len(levels), _DECLARE)
        some = [UNKNOWN] if levels is None else levels
        names = [checked_segment({attribute: level}).levels[0] for level in some]
        if len(set(names)) < len(names):
            expected = f"levels of {_quoted(attribute)} with different names"
            raise InputError(expected, ", ".join(names), "name each once")
        result[attribute] = None if levels is None else tuple(names)
    return tuple(sorted(result.items()))


def declaration_text(declared: Declaration) -> str:
    """Return declared attributes as sentences have them.

    >>> declaration_text((("country", None), ("device", ("phone", "desktop"))))
    'country (any level), device (phone, desktop)'
    """
    return ", ".join(f"{name} ({'any level' if levels is None else ', '.join(levels)})" for name, levels in declared)


def settled_by(segment: Segment) -> Declaration:
    """Return what the first segment that comes declares, where nobody did: its attributes, with any level."""
    return tuple((name, None) for name in segment.attributes)


def fits(segment: Segment, declared: Declaration) -> bool:
    """Return whether all of a segment is declared, and all that is declared is said."""
    return len(segment.attributes) == len(declared) and all(
        name == attribute and (levels is None or level in levels or level == UNKNOWN)
        for (attribute, levels), name, level in zip(declared, segment.attributes, segment.levels, strict=True)
    )


def declared_part(
    segment: Segment, declared: Declaration | None, undeclared: str
) -> tuple[Segment | None, tuple[str, ...]]:
    """Return what counts of a segment, None: nothing, and what is ignored: attributes with another level, "": others.

    What is not said of a visitor is "unknown", and so is a level that is not declared. Attributes that are not declared
    are refused, or ignored, or settled by the first that comes.

    >>> device = checked_declaration({"device": ["phone", "desktop"]})
    >>> declared_part(checked_segment({"device": "phone"}), device, REFUSE)[0].name
    'phone'
    >>> declared_part(checked_segment({"device": "fridge", "evil": 1}), device, IGNORE)
    (Segment(attributes=('device',), levels=('unknown',), text='{"device":"unknown"}'), ('', 'device'))
    """
    if declared is None and undeclared == REFUSE:
        do = f"declare them once: declare_segments({{'{segment.attributes[0]}': None}}), or `rankone segments`"
        raise InputError("an experiment whose segments are declared", "none", do)
    if declared is None:
        return (segment, ()) if undeclared == SETTLE else (None, ("",))
    if fits(segment, declared):
        return segment, ()
    said, levels_of = dict(zip(segment.attributes, segment.levels, strict=True)), dict(declared)
    others = [name for name in said if name not in levels_of]
    if others and undeclared != IGNORE:
        expected = f"a segment with {', '.join(levels_of)}, as this experiment has them"
        do = did_you_mean(
            others[0], list(levels_of), f"leave out {', '.join(others)}, or change it: declare_segments()"
        )
        raise InputError(expected, ", ".join(segment.attributes), do)
    part = {name: said.get(name, UNKNOWN) for name in levels_of}
    strange = [name for name, levels in declared if levels is not None and part[name] not in (*levels, UNKNOWN)]
    ignored = (*([""] if others else []), *strange)
    if len(others) == len(said):
        return None, ignored
    return _segment(tuple((part | dict.fromkeys(strange, UNKNOWN)).items())), ignored
