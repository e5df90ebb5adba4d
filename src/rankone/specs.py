"""The small language people name things in, ``name:parameter=value,...``, the same for problems and policies."""

import dataclasses
import math
import numbers
import operator
import re
import secrets
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rankone.errors import InputError

_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))

Pair = tuple[float, float]  # two numbers, one for the rows and one for the columns, for example; written 0.1x0.2
Numbers = tuple[float, ...]  # any count of them, one per position, for example; written 1x0.5x0.3
Wholes = tuple[int, ...]  # whole numbers, such as items; written 3x0x7
_EXAMPLES: dict[Any, tuple[str, str]] = {
    bool: ("true or false", "1"),
    int: ("a whole number", "1"),
    float: ("a number", "1"),
    Pair: ("two numbers", "1x2"),
    Numbers: ("numbers", "1x0.5x0.3"),
    Wholes: ("whole numbers", "3x0x7"),
}
_TUPLES = (Pair, Numbers, Wholes)

_USUAL = {"horizon": 100_000, "runs": 20, "workers": 2, "seed": 0}  # what a wrong whole number is told to try


def parse_settings(
    owner: str, text: str, hints: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Turn ``"parameter=value,..."`` into values of the types in `hints`, for the `owner` of the parameters.

    Errors propose the `defaults`, where 1 is not always a value that may be written.

    >>> parse_settings("kl-ucb", "c=3", {"c": float})
    {'c': 3.0}
    """
    values: dict[str, Any] = {}
    for setting in filter(None, text.split(",")):
        key, equals, value = setting.partition("=")
        if key not in hints or not equals:
            allowed = ", ".join(hints) or "no parameters"
            do = _parameter_help(owner, key, hints, defaults or {})
            raise InputError(f"{allowed} as parameters of '{owner}'", setting, do)
        if key in values:
            raise InputError(f"{key} of '{owner}' once", text, "leave one of them out")
        values[key] = parse_value(value, hints[key], f"{owner}:{key}", (defaults or {}).get(key))
    return values


def _parameter_help(owner: str, key: str, hints: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """Say how a parameter of `owner` is written: the one that was meant, if that can be told."""
    if not hints:
        return f"write '{owner}'"
    name = key if key in hints else next(iter(hints))
    example = _example(hints[name], defaults.get(name))[1]
    usual = f"try '{owner}:{name}={example}'"
    return usual if key in hints else did_you_mean(key, hints, usual)


def _kinds(hint: Any) -> list[Any]:
    """Return the types that a parameter's value may have, besides None."""
    return [hint] if hint in _TUPLES else [kind for kind in typing.get_args(hint) or (hint,) if kind is not type(None)]


def _example(hint: Any, default: Any) -> tuple[str, str]:
    """Return what a parameter's value is called, and one that may be written."""
    called, example = _EXAMPLES.get(_kinds(hint)[0], ("", "..."))
    return called, example if default is None else value_text(default)


def parse_value(text: str, hint: Any, where: str, default: Any = None) -> Any:
    """Turn a parameter's text into the type it was declared with."""
    kinds = _kinds(hint)
    try:
        if Pair in kinds and ("x" in text or len(kinds) == 1):
            rows, cols = text.split("x")
            return float(rows), float(cols)
        if kinds[0] in (Numbers, Wholes):
            return tuple((float if kinds[0] == Numbers else int)(part) for part in text.split("x"))
        if kinds[0] is float:
            return float(text)
        if kinds == [int]:
            return parse_whole_number(where, text, least=-math.inf)
        if kinds == [bool]:
            return {"true": True, "1": True, "false": False, "0": False}[text]
    except (ValueError, KeyError):
        expected, example = _example(hint, default)
        raise InputError(f"{expected} for {where}", text, f"try {where}={example}") from None
    return text


def changed_settings(thing: Any) -> dict[str, str]:
    """Return the texts of a dataclass's values that differ from their defaults, by name."""
    values = {field.name: (getattr(thing, field.name), field.default) for field in dataclasses.fields(thing)}
    return {name: value_text(value) for name, (value, default) in values.items() if value != default}


def in_words(name: str) -> str:
    """Write a name with sizes and parameters as people would; any other stays as it is.

    >>> in_words("needle:32x32:p=0.1,gap=0.4"), in_words("Spring sale: shoes")
    ('needle, 32 x 32, p = 0.1, gap = 0.4', 'Spring sale: shoes')
    """
    kind, _, rest = name.partition(":")
    sizes, _, settings = rest.partition(":")
    if not sizes or not all(size.isdigit() for size in sizes.split("x")):
        return name
    return ", ".join([kind, sizes.replace("x", " x "), *settings.replace("=", " = ").split(",")]).removesuffix(", ")


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Say which known name a wrong one comes near to, or else what to do otherwise.

    >>> did_you_mean("Rank1ElimKL", ["uts", "rank1elim-kl"], "choose one of them")
    'did you mean rank1elim-kl?'
    """
    import difflib

    lower = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), lower, n=1)
    return f"did you mean {lower[near[0]]}?" if near else otherwise


def amount(count: int, what: str) -> str:
    """Return how many there are of something.

    >>> amount(1, "row"), amount(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def duration(seconds: float, rounded: bool = False) -> str:
    """Return a stretch of time in the largest unit of which it is a whole number, to the microsecond.

    `rounded`: in the largest unit that it fills, to a tenth of that.

    >>> duration(600), duration(3600), duration(86_400 * 1.5), duration(1_234_567), duration(0.5)
    ('10 minutes', '1 hour', '36 hours', '1,234,567 seconds', '0.5 seconds')
    >>> duration(86_411, rounded=True), duration(1_234_567, rounded=True)
    ('1 day', '14.3 days')
    """
    fits = (each for each in _UNITS if seconds >= each[1] and (rounded or seconds % each[1] == 0))
    unit, size = next(fits, _UNITS[-1])
    count = f"{seconds / size:,.{1 if rounded else 6}f}".rstrip("0").rstrip(".")
    return f"{count} {unit}{'' if count == '1' else 's'}"


def parse_duration(where: str, text: str) -> float:
    """Return the seconds of a time such as 90d, 36h, 10m or 45s; a number alone is seconds.

    >>> parse_duration("--older-than", "1.5d"), parse_duration("--older-than", "600")
    (129600.0, 600.0)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([smhd]?)", text.strip())
    if match is None:
        raise InputError(f"a time for {where}", text, f"try {where} 30d, 36h, 10m or 45s")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}[match[2]]


def value_text(value: Any) -> str:
    """Write a parameter's value as `parse_value` reads it, in the shortest way that loses nothing.

    >>> value_text(0.25), value_text(3.0), value_text((0.1, 0.2))
    ('0.25', '3', '0.1x0.2')
    """
    if isinstance(value, tuple):
        return "x".join(value_text(part) for part in value)
    if is_number(value) and not isinstance(value, numbers.Integral):
        number = float(value)  # of whatever type: one number has one text
        return f"{number:g}" if float(f"{number:g}") == number else repr(number)
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_number(value: Any) -> bool:
    """Whether a value is a real number of whatever type, NumPy's included; true and false are none.

    >>> is_number(3), is_number(0.5), is_number("3"), is_number(True)
    (True, True, False, False)
    """
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def number_in(what: str, value: Any, interval: str, example: float) -> float:
    """Return `value` if it is a number in an interval, written as in mathematics: ``[0, 1)``, ``(0, inf)``.

    >>> number_in("loss", 0.01, "(0, 1)", example=0.05)
    0.01
    """
    low, high = (float(end) for end in interval[1:-1].split(","))
    above, below = interval[0] == "(", interval[-1] == ")"
    inside = is_number(value) and low <= value <= high  # written so that NaN is outside
    if not inside or (above and value == low) or (below and value == high):
        least, most = value_text(low), value_text(high)
        words = f"{'above' if above else 'of at least'} {least}"
        if high < math.inf:
            both = {(False, False): f"from {least} to {most}", (True, True): f"between {least} and {most}"}
            words = both.get((above, below), f"{words} and {'below' if below else 'at most'} {most}")
        raise InputError(f"{what} {words}", value, f"try {what}={value_text(example)}")
    return float(value)


def one_of(what: str, value: Any, choices: Iterable[str]) -> Any:
    """Return `value` if it is one of the choices; the first of them is what is proposed otherwise.

    >>> one_of("scale", "logit", ("product", "logit"))
    'logit'
    """
    known = list(choices)
    if value not in known:
        usual = f"try {what}='{known[0]}'" if what.isidentifier() else "choose one of them"
        do = did_you_mean(str(value), known, usual)
        raise InputError(f"{what} as one of {', '.join(known)}", value, do)
    return value


def distinct(what: str, names: Sequence[str], do: str = "give each its own name") -> None:
    """Refuse names of which two are the same."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"distinct {what}", f"'{name}' more than once", do)
        seen.add(name)


def whole_number(what: str, value: Any, least: float = 1, most: float = math.inf, example: int | None = None) -> int:
    """Return `value` if it is a whole number from `least` to `most`, of whatever integer type.

    `example` is what the error proposes; without one, what is usual for the last word of `what`.
    """
    is_whole = hasattr(value, "__index__") and not isinstance(value, bool)
    if not is_whole or not least <= operator.index(value) <= most:
        bound = f" of at least {least}" if least > -math.inf else ""
        bound += f" and at most {most:,}" if most < math.inf else ""
        usual = _USUAL.get(what.split()[-1], 8) if example is None else example
        raise InputError(f"{what} as a whole number{bound}", value, f"try {min(max(least, usual), most)}")
    return operator.index(value)


def as_whole_number(what: str, value: Any, least: float = 1, most: float = math.inf) -> int:
    """Return a whole number as people write it in Python: 1e4 is one, 1.5 is none.

    >>> as_whole_number("horizon", 1e4)
    10000
    """
    is_whole = is_number(value) and not hasattr(value, "__index__") and float(value).is_integer()
    return whole_number(what, int(value) if is_whole else value, least, most)


def as_seed(seed: int | None) -> int:
    """Return a seed; where it is None, one that is drawn, for whoever asks to be told of.

    >>> as_seed(7), as_seed(None) < 2**32
    (7, True)
    """
    return secrets.randbelow(2**32) if seed is None else whole_number("seed", seed, least=0)


def parse_whole_number(what: str, text: str, least: float = 1, example: int | None = None) -> int:
    """Read a whole number as people write it.

    >>> parse_whole_number("horizon", "2e6"), parse_whole_number("horizon", "2_000_000")
    (2000000, 2000000)
    """
    number: Any = text
    for read in (int, float):  # int first: a float has digits for numbers up to 9e15 only
        try:
            number = read(text)
            break
        except ValueError:
            continue
    is_whole = isinstance(number, float) and number.is_integer()
    return whole_number(what, int(number) if is_whole else number, least, example=example)
