"""The settings of an experiment, fixed when it is created; levels may come and go (`rankone.serving.factors`)."""

from __future__ import annotations

import dataclasses
import json
import math
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from rankone.errors import InputError, JournalError
from rankone.kernels.policy import check_context, check_relearns
from rankone.kernels.steering import GOALS
from rankone.policies import Policy, as_policy
from rankone.policies.chances import check_chances
from rankone.serving.journal import FACTORS_VERSION, PAIRS_VERSION, VERSION
from rankone.serving.names import PAIR, called, checked_factors, checked_name
from rankone.serving.prior import Past, Prior, as_tuples
from rankone.specs import whole_number

DEFAULT_POLICY = "uts"
SEGMENTS_POLICY = "segmented-uts"
MAX_PAIRS = 10_000_000
MAX_OPEN = 100_000  # decisions that may wait for their outcomes, unless the experiment says otherwise
MAX_AGE = 3_600_000_000  # microseconds after which an open decision may make room, unless it says otherwise
MAX_SECONDS = 366 * 86_400.0  # of a window or an age
# What an experiment may do when an alarm rings (`rankone.serving.alarms`); journals that do not say so only tell it, in
# a way that older programs read past.
IGNORE, TELL, RESTART, INSURE = "ignore", "tell", "restart", "insure"
ON_CHANGE, ON_MISFIT = (RESTART, TELL, IGNORE), (INSURE, TELL, IGNORE)


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
    control: tuple[str, ...] | None = None  # the name of a level of each factor
    share: float = 0.0
    prior: Prior | None = None  # pulls and clicks of each combination from before
    reward_cap: float = 0.0  # 0: outcomes are clicks
    factors: tuple[tuple[str, tuple[str, ...]], ...] = ()  # names and levels; empty: rows and columns
    on_change: str = TELL
    on_misfit: str = TELL
    past: Past | None = None  # where the prior comes from; journals that have none were begun without, or earlier

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """The levels of each factor with which the experiment began, by its name."""
        return levels_of(self.rows, self.cols, self.factors)

    @classmethod
    def new(cls, name: str, asked: dict[str, Any]) -> Settings:
        """Return the settings of a new experiment: what was asked for (see `checked_settings`), else the defaults."""
        levels = levels_of(asked["rows"] or (), asked["cols"] or (), asked["factors"] or ())
        sizes = [len(names) for names in levels.values()]
        checked_combinations(sizes)
        named_alone = asked["policy"] is not None and not asked["auto_stop"]  # who wants to stop wants a verdict
        goal = asked["goal"] or ("earn" if named_alone else "both")
        explore = GOALS[goal].explore if asked["explore"] is None else asked["explore"]
        chosen = checked_policy(asked["policy"] or DEFAULT_POLICY, sizes)
        chosen = chosen.live() if explore else chosen
        _check_control(asked["control"], levels)
        state = chosen.start(*sizes)  # refuses what it cannot play
        check_context(type(state), int(chosen.by_segment), "a live experiment")
        if chosen.by_segment and asked["auto_stop"]:
            do = "leave out auto_stop: what is best may depend on the segment, so there is no one winner to stop on"
            raise InputError("auto_stop, or a policy that tells segments apart", "both", do)
        if chosen.by_segment and asked["on_misfit"] == INSURE:
            do = "leave out on_misfit: the policy that insures treats all visitors alike, so segments would be lost"
            raise InputError("on_misfit='insure', or a policy that tells segments apart", "both", do)
        check_relearns(type(state))  # now, before anything is written, and not when the first row comes or goes
        if len(sizes) == 2:
            check_chances(chosen, *sizes)
        defaults: dict[str, Any] = {"window": 0, "auto_stop": 0.0, "seed": secrets.randbits(62), "max_open": MAX_OPEN}
        given = {"rows": (), "cols": ()} | {key: value for key, value in asked.items() if value is not None}
        return cls(name=name, **defaults | given | {"policy": chosen.label, "goal": goal, "explore": explore})

    def note(self) -> str:
        """Return the settings as the journal's first event keeps them."""
        only_told = (self.on_change, self.on_misfit) == (TELL, TELL)
        version = VERSION if not only_told else FACTORS_VERSION if self.factors or self.past else PAIRS_VERSION
        found = dataclasses.asdict(self) | {"version": version}
        if not self.factors:
            del found["factors"]  # older programs read this
        if self.past is None:
            del found["past"]
        if only_told:
            del found["on_change"], found["on_misfit"]
        return json.dumps(found)

    @classmethod
    def of_note(cls, details: dict[str, Any]) -> Settings:
        """Read what `note` wrote, in this version of the program or an older one."""
        version = details.pop("version", VERSION + 1)
        if version > VERSION:
            raise JournalError(
                f"a journal of version {VERSION} or older", f"version {version}", "upgrade rankone to open it"
            )
        lists = ("rows", "cols", "control", "prior", "factors", "past")
        known = details | {name: as_tuples(details[name]) for name in lists if name in details}
        return cls(**known | {"past": None if known.get("past") is None else Past(*known["past"])})


def levels_of(
    rows: Sequence[str], cols: Sequence[str], factors: Sequence[tuple[str, tuple[str, ...]]]
) -> dict[str, tuple[str, ...]]:
    """Return the levels of each factor, by its name, whichever way they were given."""
    return dict(factors) or {"row": tuple(rows), "col": tuple(cols)}


def checked_combinations(sizes: Sequence[int]) -> None:
    """Refuse more combinations than fit in memory."""
    if math.prod(sizes) > MAX_PAIRS:
        what, parts = ("pairs", "rows or columns") if len(sizes) == 2 else ("combinations", "factors or levels")
        got = f"{' x '.join(map(str, sizes))} = {math.prod(sizes):,}"
        raise InputError(f"at most {MAX_PAIRS:,} {what}", got, f"leave out some {parts}")


def checked_policy(spec: str | Policy, sizes: Sequence[int] = (2, 2)) -> Policy:
    """Refuse policies that do not play such combinations, or that their label does not describe whole."""
    found = as_policy(spec)
    found.check_plays("pair" if len(sizes) == 2 else "combination", tuple(sizes), "a live experiment")
    if as_policy(found.label) != found:  # the journal keeps it
        raise InputError(
            "a policy that its label describes", repr(found), "give it simple parameters: numbers and texts"
        )
    return found


def policy_for_segments(policy: str | Policy | None) -> str | Policy:
    """Return the policy of an experiment that tells segments apart, unless one is named that does.

    >>> policy_for_segments(None)
    'segmented-uts'
    """
    if policy is None:
        return SEGMENTS_POLICY
    if not as_policy(policy).by_segment:
        do = f"leave policy out, or name {SEGMENTS_POLICY}"
        raise InputError("a policy that tells segments apart for per_segment=True", str(policy), do)
    return policy


def checked_number(value: Any, what: str, low: float, high: float, example: str) -> float:
    """Refuse numbers out of range."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low < value <= high:
        raise InputError(f"{what} above {low:g} and at most {high:g}", value, f"try {example}")
    return value


def checked_times(**times: float | None) -> dict[str, int]:
    """Return moments, seconds since 1970, in microseconds; those that are not given are left out.

    >>> checked_times(since=1.5, until=None)
    {'since': 1500000}
    """
    return {
        what: int(checked_number(time, what, -1, 1e11, f"{what}=time.time() - 3600") * 1e6)
        for what, time in times.items()
        if time is not None
    }


def checked_seconds(value: Any, what: str, example: str) -> int:
    """Return seconds as whole microseconds, at least one; refuse what is no time or too long."""
    return round(checked_number(value, f"{what} in seconds", 0, MAX_SECONDS, example) * 1e6) or 1


def _check_control(control: Sequence[str] | None, levels: Mapping[str, Sequence[str]]) -> None:
    """Refuse a control that is none of the combinations."""
    if control is not None and len(control) != len(levels):
        expected = f"a control with a level of each factor: {', '.join(levels)}"
        raise InputError(expected, ", ".join(control), "name one level of each, in this order")
    for name, (factor, names) in zip(control or (), levels.items(), strict=False):
        if name not in names:
            what = "pair" if tuple(levels) == PAIR else "combination"
            expected = f"a control whose {called(factor)} is one of {', '.join(names)}"
            raise InputError(expected, name, f"name a {what} of the experiment")


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
    factors: Any = None,
    on_change: Any = None,
    on_misfit: Any = None,
) -> dict[str, Any]:
    """Check what an experiment is asked to be, in the units of the journal; None: not asked."""
    if window is not None and max_age is not None:
        raise InputError("a window or max_age", "both", "leave out max_age: the window ends what is open")
    rows, cols, named = checked_factors(rows, cols, factors)
    levels = levels_of(rows or (), cols or (), named or ())
    found = {
        "rows": rows,
        "cols": cols,
        "factors": named,
        "policy": None if policy is None else checked_policy(policy, [len(names) for names in levels.values()]).label,
        "window": None if window is None else checked_seconds(window, "a window", "window=600"),
        "auto_stop": None if auto_stop is None else checked_number(auto_stop, "auto_stop", 0, 0.5, "auto_stop=0.05"),
        "seed": None if seed is None else whole_number("seed", seed, least=0),
        "max_open": None if max_open is None else whole_number("max_open", max_open, most=10_000_000),
        "max_age": None if max_age is None else checked_seconds(max_age, "max_age", "max_age=600"),
        "goal": None if goal is None else _checked_goal(goal),
        "explore": None if explore is None else checked_share(explore, "explore", 1.0, "explore=0.1"),
        "margin": None if margin is None else checked_share(margin, "margin", 1.0, "margin=0.05"),
        "control": None if control is None else _checked_combination(control, levels),
        "share": _checked_control_share(control, share),
        "reward_cap": None if reward_cap is None else checked_number(reward_cap, "reward_cap", 0, 1e15, "reward_cap=1"),
        "on_change": None if on_change is None else _checked_choice(on_change, "on_change", ON_CHANGE),
        "on_misfit": None if on_misfit is None else _checked_choice(on_misfit, "on_misfit", ON_MISFIT),
    }
    if control is not None and all(levels.values()):
        _check_control(found["control"], levels)
    return found


def _checked_goal(goal: Any) -> str:
    if goal not in GOALS:
        raise InputError(f"a goal: {', '.join(GOALS)}", goal, "leave it out for both, or pass one of these")
    return str(goal)


def _checked_choice(value: Any, what: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise InputError(f"{what} as one of {', '.join(choices)}", value, f"try {what}='{choices[0]}'")
    return str(value)


def checked_share(value: Any, what: str, most: float, example: str) -> float:
    """Refuse what is no part of a whole."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= most:
        raise InputError(f"{what} from 0 to {most:g}", value, f"try {example}")
    return float(value)


def _checked_combination(control: Any, levels: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the names of a control's levels. Where no levels are given, those of the experiment count."""
    if not any(levels.values()) and isinstance(control, Mapping | list | tuple):
        names = control.values() if isinstance(control, Mapping) else control
        return tuple(checked_name(name, "name of a level of the control") for name in names)
    if isinstance(control, Mapping):
        if set(control) != set(levels):
            expected = f"a control with a level of each factor: {', '.join(levels)}"
            raise InputError(expected, ", ".join(map(str, control)) or "none", "name one level of each")
        control = [control[factor] for factor in levels]
    if isinstance(control, str) or not hasattr(control, "__len__") or len(control) != len(levels):
        example = "('A', '1')" if tuple(levels) == PAIR else "{'headline': 'A', 'image': '1'}"
        what = "a row and a column" if tuple(levels) == PAIR else f"a level of each factor: {', '.join(levels)}"
        raise InputError(f"a control as the names of {what}", control, f"try control={example}")
    return tuple(checked_name(name, f"{called(factor)} name") for factor, name in zip(levels, control, strict=True))


def _checked_control_share(control: Any, share: Any) -> float | None:
    if share is None:
        return None if control is None else 0.1
    if control is None:
        raise InputError("a control for the share", "none", "try control=('A', '1') too")
    return checked_number(share, "share", 0, 0.9, "share=0.1")


def refuse_contradictions(asked: dict[str, Any], settings: Settings, living: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse what contradicts the settings of an experiment that is there, and its living levels."""
    whose = f"experiment '{settings.name}'"
    if settings.window and asked["max_age"] is not None:
        do = "leave it out: the window ends what is open"
        raise InputError(f"no max_age for {whose}, which has a window", shown_setting("max_age", asked["max_age"]), do)
    pair = {f"{factor}s": names for factor, names in living.items()} if tuple(living) == PAIR else {}
    now: dict[str, Any] = pair or {"factors": tuple(living.items())}
    for key, value in asked.items():
        stored = now.get(key, getattr(settings, key))
        if value is None or value == stored or (key in now and value == getattr(settings, key)):
            continue
        if key == "policy" and checked_policy(value, [len(names) for names in living.values()]).live().label == stored:
            continue
        do, one = "leave it out, or use another name", "level" if key == "factors" else key[:-1]
        do += f"; add_{one} and retire_{one} change {key}" if key in now else ""
        if key in ("rows", "cols", "factors") and key not in now:  # it is of the other kind
            has = ", ".join(f"{name} {shown_setting(name, levels)}" for name, levels in now.items())
            raise InputError(f"{has}, with which {whose} runs", f"{key} {shown_setting(key, value)}", do)
        expected, got = shown_setting(key, stored), shown_setting(key, value)
        raise InputError(f"{key} {expected}, with which {whose} runs", got, do)


def shown_setting(key: str, value: Any) -> str:
    """Return a setting as the caller would write it."""
    if key in ("window", "max_age"):
        return f"{value / 1e6:g} (seconds)" if value else "None"
    if key == "factors":
        return "{" + ", ".join(f"{factor!r}: {_shown_levels(names)}" for factor, names in value) + "}"
    return _shown_levels(value) if key in ("rows", "cols") else repr(value)


def _shown_levels(names: Sequence[str]) -> str:
    some = ", ".join(repr(name) for name in names[:10])
    return f"[{some}]" if len(names) <= 10 else f"[{some}, ... {len(names)} in all]"
