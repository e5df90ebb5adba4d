"""Goals: the outcomes of an experiment, each with a name. Plain Python: the client has it too.

The first goal steers: the policy learns from it, and the winner is the winner on it. The others are measured. An
experiment that names no goals has one, "click".
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from rankone.errors import InputError
from rankone.live.names import checked_name
from rankone.live.setting_kinds import FLAG, SECONDS, Kind, above, choice
from rankone.specs import did_you_mean, is_number

YES_NO, COUNT, AMOUNT = "yes-no", "count", "amount"
KINDS = (YES_NO, COUNT, AMOUNT)
MORE, LESS = "more", "less"
MAX_GOALS = 8
WINDOW = 86_400.0  # seconds, of a measured goal where neither it nor the experiment has one
UNITS = 1_000_000  # the journal counts in millionths, so sums are exact
MAX_CAP = 1e9
_EXAMPLE = "try goals={'click': {}, 'order': {'kind': 'amount', 'cap': 500}}"


@dataclasses.dataclass(frozen=True)
class Goal:
    """One goal: what its outcomes are, which way is better, how long a decision waits for them."""

    name: str
    kind: str = YES_NO  # "yes-no"; "count" or "amount", which add up until the window ends
    cap: float = 1.0  # the most that a visitor counts for
    better: str = MORE  # or "less"
    window: float | None = None  # seconds
    worse_by: float | None = None  # a guardrail: what leads must not be worse than the baseline by more than this part
    must_clear: bool = False  # a guardrail: nobody wins until it is proven

    @property
    def adds_up(self) -> bool:
        """Whether what is told of one decision is added up."""
        return self.kind != YES_NO

    def units(self, value: Any) -> int:
        """Return an outcome as the journal counts it; refuse what is none."""
        if self.kind == YES_NO and value not in (0, 1):
            raise InputError(f"True or False for the goal '{self.name}'", value, "tell value=True")
        if not is_number(value) and not isinstance(value, bool):
            raise InputError(f"a number for the goal '{self.name}'", value, "tell value=49.9, for example")
        if not 0.0 <= value <= MAX_CAP or (self.kind == COUNT and value != int(value)):
            what = "a whole number" if self.kind == COUNT else "a number"
            raise InputError(f"{what} from 0 to {MAX_CAP:g} for the goal '{self.name}'", value, "check the value")
        return round(value * UNITS)

    def share(self, units: int) -> float:
        """Return an outcome as part of the cap."""
        return min(units / (self.cap * UNITS), 1.0)


CLICK = Goal("click")
_FIELDS = {
    "kind": choice(*KINDS),
    "cap": above(0, MAX_CAP),
    "better": choice(MORE, LESS),
    "window": SECONDS,
    "worse_by": above(0, 10.0),
    "must_clear": FLAG,
}


def checked_goals(given: Any) -> dict[str, dict[str, Any]]:
    """Return goals as the journal keeps them: by name, each with what was said of it.

    >>> checked_goals({"click": None, "order": {"kind": "amount", "cap": 500}})
    {'click': {}, 'order': {'kind': 'amount', 'cap': 500.0}}
    """
    if not isinstance(given, Mapping) or not 0 < len(given) <= MAX_GOALS:
        raise InputError(f"goals as a dictionary of 1 to {MAX_GOALS} names", given, _EXAMPLE)
    result = {checked_name(name, "name of a goal"): _checked(name, facts or {}) for name, facts in given.items()}
    first, *_ = goals_of(result)
    if first.better == LESS or first.worse_by is not None:
        do = "name a goal first of which more is better: the policy maximises it"
        raise InputError("a first goal to steer by", f"'{first.name}', a guardrail or 'less is better'", do)
    return result


def _checked(name: str, facts: Any) -> dict[str, Any]:
    if not isinstance(facts, Mapping):
        raise InputError(f"the goal '{name}' as a dictionary", facts, _EXAMPLE)
    for key in facts:
        if key not in _FIELDS:
            raise InputError(f"goals with {', '.join(_FIELDS)}", key, did_you_mean(str(key), _FIELDS, _EXAMPLE))
    do = "leave kind out: worse_by makes it a guardrail" if facts.get("kind") == "guardrail" else _EXAMPLE
    said = {key: value for key, value in facts.items() if value is not None and value is not False}
    checked = {key: _FIELDS[key].check(value, f"{key} of '{name}'", do) for key, value in said.items()}
    result = {key: float(value) if is_number(value) else value for key, value in checked.items()}
    if (result.get("kind", YES_NO) == YES_NO) == ("cap" in result):
        do = "a yes-no goal has no cap" if "cap" in result else "say what a visitor counts for at most: 'cap': 500"
        raise InputError(f"a cap for a count or an amount, '{name}'", "one" if "cap" in result else "none", do)
    _check_guardrail(name, result)
    return result


def _check_guardrail(name: str, result: Mapping[str, Any]) -> None:
    if "worse_by" in result and "better" not in result:
        do = "add 'better': 'less' for refunds, 'more' for orders"
        raise InputError(f"which way is better of the guardrail '{name}'", "nothing", do)
    if result.get("must_clear") and "worse_by" not in result:
        raise InputError(f"must_clear of a guardrail, '{name}'", "no worse_by", "add 'worse_by': 0.1")
    if "worse_by" in result and result["better"] == MORE and result["worse_by"] >= 1.0:
        raise InputError(f"worse_by of '{name}' below 1", result["worse_by"], "0.1 is 10% less")


GOALS = Kind("goals", said="names with what is said of each", checked=checked_goals)


def goals_of(given: Mapping[str, Mapping[str, Any]] | None) -> tuple[Goal, ...]:
    """Return the goals of an experiment, the steering one first."""
    return tuple(Goal(name, **facts) for name, facts in given.items()) if given else (CLICK,)


def parse_goals(texts: list[str]) -> dict[str, dict[str, Any]]:
    """Return goals as a command line has them.

    >>> parse_goals(["click", "order:kind=amount,cap=500"])
    {'click': {}, 'order': {'kind': 'amount', 'cap': 500.0}}
    """
    result: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, _, said = text.partition(":")
        parts = [part.partition("=") for part in said.split(",") if part]
        result[name.strip()] = {key.strip(): _value(value.strip()) for key, _, value in parts}
    return result


def _value(text: str) -> Any:
    try:
        number = float(text)
    except ValueError:
        return {"true": True, "false": False}.get(text.lower(), text)
    return number if math.isfinite(number) else text
