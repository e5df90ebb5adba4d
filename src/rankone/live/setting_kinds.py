"""How a setting is declared: its kind, which checks values, and all that is said of it to people."""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rankone.errors import InputError
from rankone.live.names import checked_name
from rankone.live.visitor_attributes import checked_declaration
from rankone.specs import is_number, whole_number


class Kind(NamedTuple):
    """What a setting may be: a word for what it is, a range (`low` itself is too little with `above`) or choices."""

    word: str
    low: float = 0.0
    high: float = math.inf
    above: bool = False
    choices: tuple[str, ...] = ()
    said: str = ""  # what it is, or the unit of a number
    checked: Callable[[Any], Any] | None = None  # what checks it instead of all these

    @property
    def text(self) -> str:
        """What it may be, in words."""
        if self.choices or math.isinf(self.high):
            return f"one of {', '.join(self.choices)}" if self.choices else self.said
        span = f"above {self.low:g} and at most" if self.above else f"from {self.low:g} to"
        return f"{self.said}{span} {self.high:,}" if self.word == "whole" else f"{self.said}{span} {self.high:,.12g}"

    def check(self, value: Any, what: str, do: str) -> Any:
        """Return a value as the journal keeps it; refuse another and say what to `do`."""
        if self.checked is not None:
            return self.checked(value)
        if self.word == "number":
            if not is_number(value) or not self.low <= value <= self.high or (self.above and value == self.low):
                raise InputError(f"{what} {self.text}", value, do)
            return value if isinstance(value, (int, float)) else float(value)  # of NumPy
        if self.word == "whole":
            return whole_number(what, value, self.low, self.high)
        if (self.choices and value not in self.choices) or (self.word == "flag" and not isinstance(value, bool)):
            raise InputError(f"{what} as {self.text}", value, do)
        if self.word == "policy":  # whether it can be played is looked at where policies are known
            return checked_name(getattr(value, "label", value), what)
        if self.word == "combination":
            if not isinstance(value, Mapping | list | tuple):
                raise InputError(f"{what} as {self.text}", value, do)
            return dict(value) if isinstance(value, Mapping) else tuple(value)
        return value


number, whole = functools.partial(Kind, "number"), functools.partial(Kind, "whole")
above = functools.partial(Kind, "number", above=True)


def choice(*choices: str) -> Kind:
    """One of a few words."""
    return Kind("choice", choices=choices)


SECONDS = above(0, 366 * 86_400.0, said="in seconds ")  # of a window or an age
FLAG, POLICY = Kind("flag", said="True or False"), Kind("policy", said="the name of a policy")
COMBINATION = Kind("combination", said="one level of each factor")  # a list in their order, or a dictionary
ATTRIBUTES = Kind(
    "attributes",
    said="names with their levels; None: any level; bool, float, a range",
    checked=lambda value: dict(checked_declaration(value)),
)
COUNTS = Kind("counts", said="a table of what was shown and clicked")


class Setting(NamedTuple):
    """All there is to say of one setting."""

    name: str
    group: str  # "": it stands alone
    kind: Kind
    label: str  # what the page calls it
    help: str
    default: Any  # None: the help says what leaving it out means
    example: Any
    option: str  # of `rankone create`, without dashes
    remote: bool  # can be sent to a service

    @property
    def path(self) -> str:
        """Its name behind that of its group."""
        return f"{self.group}.{self.name}" if self.group else self.name

    def check(self, value: Any) -> Any:
        """Return a value as the journal keeps it; refuse another with an example of what would do."""
        example = f"{self.group}={{{self.name!r}: {self.example!r}}}" if self.group else f"{self.name}={self.example!r}"
        return self.kind.check(value, self.name, f"try {example}")

    def to_dict(self) -> dict[str, Any]:
        """Return what a form needs, as plain values."""
        kind = {"kind": self.kind.word, "low": self.kind.low, "high": min(self.kind.high, 1e15)}
        kind |= {"choices": self.kind.choices, "label": self.label, "help": self.help, "default": self.default}
        return {"name": self.name, "group": self.group, "path": self.path, **kind}


def declare(
    kind: Kind, label: str, help: str, default: Any = None, *, example: Any = None, option: str | None = None
) -> Any:
    """Declare a setting: the field of a dataclass."""
    usual = kind.choices[0] if kind.choices else True if kind is FLAG else default
    facts = {"kind": kind, "label": label, "help": help, "default": default, "option": option}
    facts["example"] = usual if example is None else example
    return dataclasses.field(default=default, metadata=facts)


def micros(seconds: float) -> int:
    """Return seconds as whole microseconds, at least one."""
    return round(seconds * 1e6) or 1


def checked_seconds(value: Any, what: str, example: str) -> int:
    """Return seconds as whole microseconds, at least one; refuse what is no time or too long."""
    return micros(SECONDS.check(value, what, f"try {example}"))


def checked_times(**times: float | None) -> dict[str, int]:
    """Return moments, seconds since 1970, in microseconds; those that are not given are left out.

    >>> checked_times(since=1.5, until=None)
    {'since': 1500000}
    """
    moment = above(-1, 1e11)
    given = {what: time for what, time in times.items() if time is not None}
    return {what: int(moment.check(time, what, f"try {what}=time.time() - 3600") * 1e6) for what, time in given.items()}


def as_tuples(value: Any) -> Any:
    """Return lists within lists as tuples within tuples.

    >>> as_tuples([[1, 2], [3]])
    ((1, 2), (3,))
    """
    return tuple(as_tuples(each) for each in value) if isinstance(value, list) else value
