"""What is known of a visitor before a decision: a few attributes, such as a device, an age, whether one returns.

Declared is what an attribute may be: one of some levels, any level, true or false, or a number, in a range or not.
Numbers are kept in `STEPS` steps of their range, so nothing finer about a person is stored. What is not said, and what
does not fit, is "unknown", which as a feature is 0: such a visitor is taken for an average one.

Plain checks, without NumPy: the client makes them too.
"""

import functools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from rankone.errors import InputError
from rankone.specs import did_you_mean

MAX_ATTRIBUTES = 16
MAX_ATTRIBUTE = 64  # characters of the name of an attribute, or of its level
MAX_DECLARED = 256  # levels of an attribute
UNKNOWN = "unknown"  # the level of an attribute of which nothing is known
SETTLE, REFUSE, IGNORE = "settle", "refuse", "ignore"  # attributes that nobody declared
MAX_LINE = MAX_ATTRIBUTES * (2 * MAX_ATTRIBUTE + 3)  # characters of a context in one line
STEPS = 20  # of the range of a number
BOOL, FLOAT = "bool", "float"
_TRUE = ("false", "true")
_EXAMPLE = "try context={'device': 'phone', 'country': 'DE'}"
_DECLARE = "try context={'device': ['phone', 'desktop'], 'country': None, 'returning': bool, 'age': (18, 90)}"
# What attributes may be, sorted by name: levels; None: any level; "bool"; "float"; a range such as "18..90".
Declaration = tuple[tuple[str, tuple[str, ...] | str | None], ...]


class VisitorContext(NamedTuple):
    """What was said of a visitor, checked."""

    attributes: tuple[str, ...]  # sorted
    levels: tuple[str, ...]
    text: str  # as the journal keeps it
    fractions: frozenset[str] = frozenset()  # attributes said as a number that is not whole

    @property
    def name(self) -> str:
        """What reports call all visitors with these attributes."""
        return ", ".join(self.levels)

    def to_dict(self) -> dict[str, Any]:
        """Return it as a request has it."""
        each = zip(self.attributes, self.levels, strict=True)
        return {name: float(level) if name in self.fractions else level for name, level in each}


def checked_context(value: Any) -> VisitorContext:
    """Return what was said of a visitor; refuse what is no small set of names and levels.

    >>> checked_context({"device": "phone", "country": "DE"}).text
    '{"country":"DE","device":"phone"}'
    >>> checked_context({"returning": True, "visits": 3, "age": 33.5}).levels
    ('33.5', 'true', '3')
    """
    if type(value) is VisitorContext:
        return value
    if not isinstance(value, Mapping):
        raise InputError("context as a dictionary of attributes and their levels", value, _EXAMPLE)
    if not 1 <= len(value) <= MAX_ATTRIBUTES:
        raise InputError(f"context of 1 to {MAX_ATTRIBUTES} attributes", len(value), _EXAMPLE)
    items = tuple(value.items())
    if all(type(part) is str for item in items for part in item):
        return _context(items)
    fractions = frozenset(name for name, level in items if isinstance(level, float) and not level.is_integer())
    checked = _context(tuple((attribute, _level_text(attribute, level)) for attribute, level in items))
    return checked._replace(fractions=fractions) if fractions else checked


@functools.lru_cache(10_000)
def _context(items: tuple[tuple[str, str], ...]) -> VisitorContext:
    """Return the context with these attributes, in whatever order; visitors with the same share it."""
    for attribute, level in items:
        what = f"the level of {_quoted(attribute)}"
        for text, called in ((attribute, "the name of an attribute"), (level, what)):
            if not 0 < len(text) <= MAX_ATTRIBUTE or not text.isprintable():
                got = ascii(text) if len(text) <= MAX_ATTRIBUTE else f"{len(text)} characters"
                expected = f"{called} as printable text of 1 to {MAX_ATTRIBUTE} characters"
                raise InputError(expected, got, "give a short name that many visitors share")
    attributes, levels = zip(*sorted(items), strict=True)
    text = json.dumps(dict(sorted(items)), separators=(",", ":"), ensure_ascii=False)
    return VisitorContext(attributes, levels, text)


def context_of(text: str) -> VisitorContext:
    """Return the context that a journal has as text."""
    return _context(tuple(json.loads(text).items()))


def context_in_line(text: str) -> VisitorContext:
    """Return a context that is written in one line, as in a command or a page.

    >>> context_in_line("device=phone, country=DE").name
    'DE, phone'
    >>> context_in_line("device=phone,device=desktop")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    rankone.errors.InputError: Expected context with one level of each attribute, but got ...
    """
    parts = [tuple(map(str.strip, part.partition("="))) for part in text.split(",")]
    if not all(equals for _, equals, _ in parts):
        raise InputError("context as NAME=LEVEL, several with commas between", text, "try device=phone,country=DE")
    names = [attribute for attribute, _, _ in parts]
    if len(set(names)) < len(names):
        raise InputError("context with one level of each attribute", text, "give each attribute once")
    return checked_context({attribute: level for attribute, _, level in parts})


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
    what = f"the level of {_quoted(attribute)} as text, True, False or a number"
    if isinstance(level, float) and math.isfinite(level):
        return f"{level:.15g}"
    if level is None or isinstance(level, float):
        raise InputError(what, "nothing" if level is None else level, "leave it out where it is not known")
    kind = "several levels in one" if isinstance(level, (Mapping, list, tuple, set)) else type(level).__name__
    raise InputError(what, kind, "give each its own attribute, as text")


def checked_declaration(value: Any) -> Declaration:
    """Return which attributes of visitors an experiment knows, and what each may be.

    A list has its levels, and None means any level; ``bool`` is true or false, ``float`` a number, and a tuple of two
    numbers, or a text such as "18..90", a number in that range.

    >>> checked_declaration({"device": ["phone", "desktop"], "country": None, "age": (18, 90), "returning": bool})
    (('age', '18..90'), ('country', None), ('device', ('phone', 'desktop')), ('returning', 'bool'))
    """
    if not isinstance(value, Mapping):
        raise InputError("context as a dictionary of attributes and what each may be", value, _DECLARE)
    if not 1 <= len(value) <= MAX_ATTRIBUTES:
        raise InputError(f"context of 1 to {MAX_ATTRIBUTES} attributes", len(value), _DECLARE)
    result: dict[str, tuple[str, ...] | str | None] = {}
    for attribute, levels in value.items():
        kind = _number_kind(attribute, levels)
        (name,) = checked_context({attribute: UNKNOWN}).attributes
        result[name] = _checked_levels(name, levels) if kind is None and levels is not None else kind
    return tuple(sorted(result.items()))


def _checked_levels(attribute: str, levels: Any) -> tuple[str, ...]:
    called = _quoted(attribute)
    if isinstance(levels, str) or not isinstance(levels, Sequence):
        raise InputError(f"the levels of {called} as a list, None for any, bool, float or a range", levels, _DECLARE)
    if not 1 <= len(levels) <= MAX_DECLARED:
        raise InputError(f"1 to {MAX_DECLARED} levels of {called}", len(levels), _DECLARE)
    for level in levels:
        if isinstance(level, float):
            raise InputError(f"levels of {called} as text", level, "declare a range: (0, 1)")
    names = tuple(checked_context({attribute: level}).levels[0] for level in levels)
    if len(set(names)) < len(names):
        raise InputError(f"levels of {called} with different names", ", ".join(names), "name each once")
    return names


def _number_kind(attribute: Any, kind: Any) -> str | None:
    """Return an attribute that has no levels as the journal declares it; None: it has."""
    if kind in (bool, float, BOOL, FLOAT):
        return kind if isinstance(kind, str) else BOOL if kind is bool else FLOAT
    numbers = kind if isinstance(kind, tuple) else ends_of(kind) if isinstance(kind, str) else None
    if numbers is None or len(numbers) != 2 or not all(type(each) in (int, float) for each in numbers):
        return None
    low, high = numbers
    if not -math.inf < low < high < math.inf:
        expected = f"the range of {_quoted(str(attribute))} from a number to a larger one"
        raise InputError(expected, f"{low} to {high}", "try (18, 90)")
    return f"{low:.15g}..{high:.15g}"


@functools.lru_cache(1_000)
def ends_of(kind: str) -> tuple[float, float] | None:
    """Return the ends of a range that is written as a text; None: it is none.

    >>> ends_of("18..90"), ends_of("phone")
    ((18.0, 90.0), None)
    """
    low, dots, high = kind.partition("..")
    try:
        return (float(low), float(high)) if dots else None
    except ValueError:
        return None


def kind_in_line(text: str) -> list[str] | str:
    """Return what an attribute may be, written in one line: levels with commas between, bool, float or 18..90.

    >>> kind_in_line("phone, desktop"), kind_in_line("18..90")
    (['phone', 'desktop'], '18..90')
    """
    text = text.strip()
    return text if text in (BOOL, FLOAT) or ends_of(text) else [level.strip() for level in text.split(",")]


def declaration_text(declared: Declaration) -> str:
    """Return declared attributes as sentences have them.

    >>> declaration_text((("country", None), ("device", ("phone", "desktop"))))
    'country (any level), device (phone, desktop)'
    """

    def said(kind: Any) -> str:
        return "any level" if kind is None else kind if isinstance(kind, str) else ", ".join(kind)

    return ", ".join(f"{name} ({said(kind)})" for name, kind in declared)


def settled_by(context: VisitorContext) -> Declaration:
    """Return what the first context that comes declares, where nobody did: its attributes, with any level."""
    _refuse_fractions(context, ())
    return tuple((name, None) for name in context.attributes)


def _refuse_fractions(context: VisitorContext, declared: Declaration) -> None:
    """Refuse numbers of attributes that are no numbers: each would be a level of its own."""
    kinds = dict(declared)
    for name in sorted(context.fractions):
        if not isinstance(kinds.get(name), str):
            got = context.levels[context.attributes.index(name)]
            do = f"declare it as a number, context={{'{name}': (0, 100)}}, or say which part of the range it is in"
            raise InputError(f"the level of {_quoted(name)} as text or a whole number", got, do)


def fits(context: VisitorContext, declared: Declaration) -> bool:
    """Return whether all of a context is declared and as the journal keeps it, and all that is declared is said."""
    return len(context.attributes) == len(declared) and all(
        name == attribute and _kept(level, kind) == level
        for (attribute, kind), name, level in zip(declared, context.attributes, context.levels, strict=True)
    )


def _kept(level: str, kind: tuple[str, ...] | str | None) -> str | None:
    """Return a level as the journal keeps it; None: it is no level of this kind.

    >>> _kept("33", "18..90"), _kept("91", "18..90"), _kept("1234.5", "float"), _kept("maybe", "bool")
    ('32.4', None, '1200', None)
    """
    if level == UNKNOWN or kind is None:
        return level
    if not _is_numeric(kind):
        return level if level in (_TRUE if kind == BOOL else kind) else None
    try:
        value = float(level)
    except ValueError:
        return None
    low, high = ends_of(kind) or (-math.inf, math.inf)
    if kind != FLOAT and low <= value <= high:
        value = low + round((value - low) / (high - low) * STEPS) * ((high - low) / STEPS)
        return f"{value:.12g}"
    return f"{float(f'{value:.2g}'):.15g}" if kind == FLOAT and math.isfinite(value) else None


@functools.lru_cache(10_000)
def features_of(text: str | None, declared: Declaration) -> tuple[float, ...]:
    """Return a visitor as features: of levels each 1 or 0; true 1/2, false -1/2; a range from -1 to 1; unknown 0.

    A number without a range counts by its order of magnitude, ``log10(1 + |x|) / 2`` with its sign: 9 is 0.5, 99 is 1.
    Attributes with any level are no feature.

    >>> declared = checked_declaration({"device": ["phone", "desk"], "age": (0, 100), "returning": bool, "os": None})
    >>> features_of('{"age":"75","device":"desk","os":"x","returning":"unknown"}', declared)
    (0.5, 0.0, 1.0, 0.0)
    >>> features_of(None, declared)
    (0.0, 0.0, 0.0, 0.0)
    """
    said, result = {} if text is None else json.loads(text), list[float]()
    for name, kind in declared:
        level = said.get(name, UNKNOWN)
        if isinstance(kind, tuple):
            result += [float(level == each) for each in kind]
        elif kind == BOOL:
            result.append(0.0 if level == UNKNOWN else 0.5 if level == "true" else -0.5)
        elif kind is not None:
            ends, value = ends_of(kind), 0.0 if level == UNKNOWN else float(level)
            scaled = math.copysign(math.log10(1.0 + abs(value)) / 2.0, value)
            if ends is not None:
                scaled = 2.0 * (value - ends[0]) / (ends[1] - ends[0]) - 1.0
            result.append(0.0 if level == UNKNOWN else scaled)
    return tuple(result)


@functools.lru_cache(10_000)
def segment_text(text: str, declared: Declaration) -> str:
    """Return a context with the half of its range for each number: as segments have it, which are levels.

    >>> segment_text('{"age":"75","os":"x"}', (("age", "0..100"), ("os", None)))
    '{"age":"50 and over","os":"x"}'
    """
    said = json.loads(text)
    for name, kind in declared:
        if _is_numeric(kind) and said.get(name, UNKNOWN) != UNKNOWN:
            said[name] = _half(float(said[name]), kind)
    return json.dumps(said, separators=(",", ":"), ensure_ascii=False)


def _is_numeric(kind: tuple[str, ...] | str | None) -> TypeGuard[str]:
    return isinstance(kind, str) and kind != BOOL


def _half(value: float, kind: str) -> str:
    middle = sum(ends_of(kind) or (0.0,)) / 2.0
    return f"{middle:.4g} and over" if value >= middle else f"under {middle:.4g}"


def segment_levels(declared: Declaration) -> Declaration:
    """Return a declaration as segments have it, in which numbers have levels."""
    return tuple(
        (name, (_half(-math.inf, kind), _half(math.inf, kind)) if _is_numeric(kind) else kind)
        for name, kind in declared
    )


@functools.lru_cache(10_000)
def groups_of(text: str, declared: Declaration) -> tuple[str, ...]:
    """Return the groups to which a visitor belongs, one for each attribute that is known, as contexts.

    >>> groups_of('{"age":"75","os":"unknown"}', (("age", "0..100"), ("os", None)))
    ('{"age":"50 and over"}',)
    """
    kinds, said = dict(declared), json.loads(segment_text(text, declared)).items()
    return tuple(
        json.dumps({name: level}, separators=(",", ":"), ensure_ascii=False)
        for name, level in said
        if level != UNKNOWN and kinds[name] != FLOAT
    )


def declared_part(
    context: VisitorContext, declared: Declaration | None, undeclared: str
) -> tuple[VisitorContext | None, tuple[str, ...]]:
    """Return what counts of a context, None: nothing, and what is ignored: attributes with another level, "": others.

    What is not said of a visitor is "unknown", and so is a level that is not declared, or a number out of its range; a
    program that says no number where one is declared is refused. Attributes that are not declared
    are refused, or ignored, or settled by the first that comes.

    >>> device = checked_declaration({"device": ["phone", "desktop"]})
    >>> declared_part(checked_context({"device": "phone"}), device, REFUSE)[0].name
    'phone'
    >>> kept, ignored = declared_part(checked_context({"device": "fridge", "evil": 1}), device, IGNORE)
    >>> kept.text, ignored
    ('{"device":"unknown"}', ('', 'device'))
    """
    if declared is None and undeclared == REFUSE:
        do = f"declare them once: declare_context({{'{context.attributes[0]}': None}}), or `rankone context`"
        raise InputError("an experiment whose attributes of visitors are declared", "none", do)
    if context.fractions and undeclared != IGNORE:
        _refuse_fractions(context, declared or ())
    if declared is None:
        return (context, ()) if undeclared == SETTLE else (None, ("",))
    if fits(context, declared):
        return context, ()
    said, levels_of = dict(zip(context.attributes, context.levels, strict=True)), dict(declared)
    others = [name for name in said if name not in levels_of]
    if others and undeclared != IGNORE:
        expected = f"context with {', '.join(levels_of)}, as this experiment has them"
        do = did_you_mean(others[0], list(levels_of), f"leave out {', '.join(others)}, or change it: declare_context()")
        raise InputError(expected, ", ".join(context.attributes), do)
    part = {name: said.get(name, UNKNOWN) for name in levels_of}
    kept = {name: _kept(part[name], kind) for name, kind in declared}
    strange = [name for name, level in kept.items() if level is None]
    for name in strange if undeclared != IGNORE else ():
        kind = levels_of[name]
        if isinstance(kind, str) and not (kind != BOOL and _is_number(part[name])):
            expected = f"{_quoted(name)} as {'true or false' if kind == BOOL else 'a number'}"
            raise InputError(expected, part[name], "leave it out where it is not known")
    ignored = (*([""] if others else []), *strange)
    if len(others) == len(said):
        return None, ignored
    return _context(tuple((name, UNKNOWN if level is None else level) for name, level in kept.items())), ignored


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
