"""The settings of an experiment, fixed when it is created, and its levels: rows and columns, living and retired."""

from __future__ import annotations

import dataclasses
import json
import secrets
from collections.abc import Iterable
from typing import Any

from rankone.errors import InputError, JournalError
from rankone.kernels.policy import check_context, check_relearns
from rankone.kernels.steering import GOALS
from rankone.policies import Policy, as_policy
from rankone.policies.chances import check_chances
from rankone.serving.journal import VERSION
from rankone.serving.names import checked_levels, checked_name
from rankone.serving.prior import Prior
from rankone.specs import whole_number

DEFAULT_POLICY = "uts"
MAX_PAIRS = 10_000_000
MAX_OPEN = 100_000  # decisions that may wait for their outcomes, unless the experiment says otherwise
MAX_AGE = 3_600_000_000  # microseconds after which an open decision may make room, unless it says otherwise
MAX_SECONDS = 366 * 86_400.0  # of a window or an age


@dataclasses.dataclass(frozen=True)
class Settings:
    """What an experiment is. Times are whole microseconds; ``window`` 0 means that outcomes are told, yes or no.

    A setting with a default is newer than the first journals: where one of them lacks it, the default holds.
    """

    name: str
    rows: tuple[str, ...]
    cols: tuple[str, ...]
    policy: str
    seed: int
    window: int
    auto_stop: float
    max_open: int
    max_age: int = MAX_AGE
    goal: str = ""  # journals before version 3 had none: the policy ran alone
    explore: float = 0.0
    margin: float = 0.0
    control: tuple[str, str] | None = None
    share: float = 0.0
    prior: Prior | None = None  # pulls and clicks of each pair from before
    reward_cap: float = 0.0  # 0: outcomes are clicks

    @classmethod
    def new(cls, name: str, asked: dict[str, Any]) -> Settings:
        """Return the settings of a new experiment: what was asked for (see `checked_settings`), else the defaults."""
        checked_pairs(len(asked["rows"]), len(asked["cols"]))
        named_alone = asked["policy"] is not None and not asked["auto_stop"]  # who wants to stop wants a verdict
        goal = asked["goal"] or ("earn" if named_alone else "both")
        explore = GOALS[goal].explore if asked["explore"] is None else asked["explore"]
        chosen = checked_policy(asked["policy"] or DEFAULT_POLICY)
        chosen = chosen.live() if explore else chosen
        _check_control(asked)  # again: its levels may come from past counts
        state = chosen.start(len(asked["rows"]), len(asked["cols"]))  # refuses what it cannot play
        check_context(type(state), 0, "a live experiment")
        check_relearns(type(state))  # now, before anything is written, and not when the first row comes or goes
        check_chances(chosen, len(asked["rows"]), len(asked["cols"]))
        defaults = {"window": 0, "auto_stop": 0.0, "seed": secrets.randbits(62), "max_open": MAX_OPEN}
        given = {key: value for key, value in asked.items() if value is not None}
        return cls(name=name, **defaults | given | {"policy": chosen.label, "goal": goal, "explore": explore})

    def note(self) -> str:
        """Return the settings as the journal's first event keeps them."""
        return json.dumps(dataclasses.asdict(self) | {"version": VERSION})

    @classmethod
    def of_note(cls, details: dict[str, Any]) -> Settings:
        """Read what `note` wrote, in this version of the program or an older one."""
        version = details.pop("version", VERSION + 1)
        if version > VERSION:
            raise JournalError(
                f"a journal of version {VERSION} or older", f"version {version}", "upgrade rankone to open it"
            )
        control = details.get("control")
        pairs = {"rows": tuple(details["rows"]), "cols": tuple(details["cols"])}
        prior = details.get("prior")
        known = None if prior is None else tuple(tuple(tuple(row) for row in counts) for counts in prior)
        return cls(**details | pairs | {"control": None if control is None else tuple(control), "prior": known})


@dataclasses.dataclass
class Levels:
    """The rows (or the columns) of an experiment. A level keeps its number for ever; a retired one is never chosen."""

    names: list[str]
    live: list[bool]

    @classmethod
    def new(cls, names: Iterable[str]) -> Levels:
        """Return levels that all live."""
        names = list(names)
        return cls(names, [True] * len(names))

    def numbers(self) -> list[int]:
        """Return the numbers of the living levels: the policy's level p is level ``numbers()[p]`` of the experiment."""
        return [number for number, live in enumerate(self.live) if live]

    def names_living(self) -> list[str]:
        """Return the names of the living levels."""
        return [self.names[number] for number in self.numbers()]


def checked_pairs(n_rows: int, n_cols: int) -> None:
    """Refuse more pairs than fit in memory."""
    if n_rows * n_cols > MAX_PAIRS:
        raise InputError(
            f"at most {MAX_PAIRS} pairs", f"{n_rows} x {n_cols} = {n_rows * n_cols}", "leave out some rows or columns"
        )


def checked_policy(spec: str | Policy) -> Policy:
    """Refuse policies that do not play pairs, or that their label does not describe whole: the journal keeps it."""
    found = as_policy(spec)
    found.check_plays("pair", (2, 2), "a live experiment")
    if as_policy(found.label) != found:
        raise InputError(
            "a policy that its label describes", repr(found), "give it simple parameters: numbers and texts"
        )
    return found


def checked_number(value: Any, what: str, low: float, high: float, example: str) -> float:
    """Refuse numbers out of range."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low < value <= high:
        raise InputError(f"{what} above {low:g} and at most {high:g}", value, f"try {example}")
    return value


def checked_seconds(value: Any, what: str, example: str) -> int:
    """Return seconds as whole microseconds, at least one; refuse what is no time or too long."""
    return round(checked_number(value, f"{what} in seconds", 0, MAX_SECONDS, example) * 1e6) or 1


def _check_control(asked: dict[str, Any]) -> None:
    """Refuse a control that is none of the pairs."""
    sides = ((asked["rows"], "row"), (asked["cols"], "column"))
    for name, (levels, side) in zip(asked["control"] or (), sides, strict=False):
        if levels is not None and name not in levels:
            raise InputError(
                f"a control whose {side} is one of {', '.join(levels)}", name, "name a pair of the experiment"
            )


def checked_settings(
    rows: Any,
    cols: Any,
    policy: Any,
    window: Any,
    auto_stop: Any,
    seed: Any,
    max_open: Any,
    max_age: Any,
    goal: Any = None,
    explore: Any = None,
    margin: Any = None,
    control: Any = None,
    share: Any = None,
    reward_cap: Any = None,
) -> dict[str, Any]:
    """Check what an experiment is asked to be, in the units of the journal; None: not asked."""
    if window is not None and max_age is not None:
        raise InputError("a window or max_age", "both", "leave out max_age: the window ends what is open")
    found = {
        "rows": None if rows is None else checked_levels(rows, "row"),
        "cols": None if cols is None else checked_levels(cols, "col"),
        "policy": None if policy is None else checked_policy(policy).label,
        "window": None if window is None else checked_seconds(window, "a window", "window=600"),
        "auto_stop": None if auto_stop is None else checked_number(auto_stop, "auto_stop", 0, 0.5, "auto_stop=0.05"),
        "seed": None if seed is None else whole_number("seed", seed, least=0),
        "max_open": None if max_open is None else whole_number("max_open", max_open, most=10_000_000),
        "max_age": None if max_age is None else checked_seconds(max_age, "max_age", "max_age=600"),
        "goal": None if goal is None else _checked_goal(goal),
        "explore": None if explore is None else checked_share(explore, "explore", 1.0, "explore=0.1"),
        "margin": None if margin is None else checked_share(margin, "margin", 1.0, "margin=0.05"),
        "control": None if control is None else _checked_pair(control),
        "share": _checked_control_share(control, share),
        "reward_cap": None if reward_cap is None else checked_number(reward_cap, "reward_cap", 0, 1e15, "reward_cap=1"),
    }
    _check_control(found)
    return found


def _checked_goal(goal: Any) -> str:
    if goal not in GOALS:
        raise InputError(f"a goal: {', '.join(GOALS)}", goal, "leave it out for both, or pass one of these")
    return str(goal)


def checked_share(value: Any, what: str, most: float, example: str) -> float:
    """Refuse what is no part of a whole."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= most:
        raise InputError(f"{what} from 0 to {most:g}", value, f"try {example}")
    return float(value)


def _checked_pair(control: Any) -> tuple[str, str]:
    if isinstance(control, str) or not hasattr(control, "__len__") or len(control) != 2:
        raise InputError("a control as the names of a row and a column", control, "try control=('A', '1')")
    return checked_name(control[0], "row name"), checked_name(control[1], "column name")


def _checked_control_share(control: Any, share: Any) -> float | None:
    if share is None:
        return None if control is None else 0.1
    if control is None:
        raise InputError("a control for the share", "none", "try control=('A', '1') too")
    return checked_number(share, "share", 0, 0.9, "share=0.1")


def shown_setting(key: str, value: Any) -> str:
    """Return a setting as the caller would write it."""
    if key in ("window", "max_age"):
        return f"{value / 1e6:g} (seconds)" if value else "None"
    if key in ("rows", "cols"):
        names = ", ".join(repr(name) for name in value[:10])
        return f"[{names}]" if len(value) <= 10 else f"[{names}, ... {len(value)} in all]"
    return repr(value)
