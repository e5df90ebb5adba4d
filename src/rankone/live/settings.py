"""The settings of a live experiment, each declared once: a field below, with its kind and what is said of it.

All else reads this declaration: the checks, `Experiment` and `Client.create`, the body of a REST request, the options
of ``rankone create``, the form of the page, the journal's first event and the reference. Plain Python: the client
reads it too. Settings that belong together are a group; a dictionary will do for one: ``stopping={"error": 0.01}``.
"""
# ruff: noqa: RUF009

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from rankone.errors import InputError, JournalError
from rankone.live import setting_kinds as kind
from rankone.live.goals import GOALS, Goal, goals_of
from rankone.live.lists import ITEM, MAX_POSITIONS, NO_CLICK, VOID, check_ranking
from rankone.live.names import checked_factors, factors_of_pair, levels_in_order
from rankone.live.setting_kinds import Setting, as_tuples, declare, micros
from rankone.specs import did_you_mean

DEFAULT_POLICY = "uts"
DEFAULT_LIST_POLICY = "gibbs-ts"
MAX_COMBINATIONS = 10_000_000
MAX_OPEN = 100_000  # decisions that may wait for their outcomes, unless the experiment says otherwise
IGNORE, WARN, RESTART, TEST_ALL = ("ignore", "warn", "restart", "test-all")  # what an alarm may do


@dataclasses.dataclass(frozen=True)
class Stopping:
    """When there is a verdict, and whether it stops the experiment."""

    error: float = declare(
        kind.above(0, 0.5), "Probability of error", "Largest probability that a verdict is wrong.", 0.05
    )
    margin: float = declare(
        kind.number(0, 1),
        "Good enough within",
        "A combination proven to be at most this much worse than the best also wins: 0.05 is 5%.",
        0.0,
        example=0.05,
    )
    decide: str = declare(
        kind.choice("set", "order"),
        "What decides a ranking",
        "Of a ranking: whether a verdict is about which items belong in the list (set), or about their order, too.",
        "set",
    )
    auto: bool = declare(
        kind.FLAG,
        "Stop automatically",
        "Stop automatically when there is a verdict: from then on every visitor sees the winner.",
        False,
        option="auto-stop",
    )


@dataclasses.dataclass(frozen=True)
class Control:
    """A combination that keeps a share of the traffic until the experiment stops."""

    levels: Sequence[str] | Mapping[str, str] = declare(
        kind.COMBINATION,
        "Control",
        "One level of each factor: the combination against which the uplift is measured.",
        example={"headline": "A", "image": "1"},
        option="control",
    )
    share: float = declare(
        kind.above(0, 0.9),
        "Share of the control",
        "Share of all decisions that show the control.",
        0.1,
        option="control-share",
    )


@dataclasses.dataclass(frozen=True)
class Prior:
    """What was counted before the experiment began: the policy starts as if it had seen it; verdicts do not use it."""

    counts: Any = declare(
        kind.COUNTS,
        "Past counts",
        "Past counts of shown and clicked, as for rankone.analyse: a file, "
        "a dataframe, a pair of arrays. Factors and levels come from it if you name none.",
        example="past.csv",
        option="prior",
    )
    weight: float = declare(
        kind.above(0, 1),
        "Weight of past counts",
        "How much a past outcome counts. The past of one combination counts for at most 1,000 outcomes.",
        0.5,
        option="prior-weight",
    )


@dataclasses.dataclass(frozen=True)
class Watch:
    """What is watched while the experiment runs, and what an alarm does. At most 1 experiment in 20 has a false one."""

    change: str = declare(
        kind.choice(RESTART, WARN, IGNORE),
        "If levels change relative to each other",
        "What to do when "
        "levels change relative to each other: restart (count from zero and keep the old counts apart), warn (in the "
        "report) or ignore.",
        WARN,
        option="on-change",
    )
    interaction: str = declare(
        kind.choice(TEST_ALL, WARN, IGNORE),
        "If combinations interact",
        "What to do when "
        "combinations interact, so that the best one may hardly be shown: test-all (go on with a policy that looks at "
        "all combinations), warn (in the report) or ignore.",
        WARN,
        option="on-interaction",
    )


@dataclasses.dataclass(frozen=True)
class Outcomes:
    """What an outcome is, and how long decisions wait for theirs."""

    window: float | None = declare(
        kind.SECONDS,
        "Window, seconds",
        "Seconds after which no answer counts as not clicked. Left out: you report both, clicked and not clicked.",
        example=600,
    )
    silence: str = declare(
        kind.choice(NO_CLICK, VOID),
        "If nothing is reported of a list",
        "Of a ranking with a window: what it means that nothing was reported until it ends, no click, or that the page "
        "was left before anything was shown.",
        NO_CLICK,
    )
    max_open: int = declare(
        kind.whole(1, 10_000_000), "Most open decisions", "How many decisions may wait for their outcomes.", MAX_OPEN
    )
    max_age: float = declare(
        kind.SECONDS,
        "Longest open, seconds",
        "Seconds after which an open decision "
        "makes room for a new one when too many are open. Not with a window, which closes decisions itself.",
        3600.0,
    )

    @property
    def window_micros(self) -> int:
        """The window in whole microseconds; 0: there is none."""
        return micros(self.window) if self.window else 0


GROUPS: dict[str, type] = {each.__name__.lower(): each for each in (Stopping, Control, Prior, Watch, Outcomes)}


class Past(NamedTuple):
    """Where the counts of a warm start come from, to be told in reports."""

    impressions: int  # that were seen, of the experiment's combinations
    weight: float  # how much each counts
    left_out: tuple[str, ...]  # levels of the table that the experiment does not have


@dataclasses.dataclass(frozen=True)
class Settings:
    """What an experiment is, all decided: what was asked for, and else the defaults."""

    name: str
    factors: tuple[tuple[str, tuple[str, ...]], ...]  # names and levels at the beginning
    policy: str = declare(
        kind.POLICY,
        "Policy",
        "The rule that chooses what is shown, such as uts (the default) or rank1elim-kl:horizon=100000.",
        example=DEFAULT_POLICY,
    )
    positions: int | None = declare(
        kind.whole(1, MAX_POSITIONS),
        "Positions of a list",
        "How many items a list shows: then every decision is a list of the levels of one factor, item. Left out: each "
        "decision is a combination.",
        example=5,
    )
    gentle: bool = declare(
        kind.FLAG,
        "Explore gently",
        "Of a ranking: a list that explores is the present one with a single stranger, so nobody sees a random page; a "
        "verdict takes about twice as many lists.",
        False,
    )
    aim: str = declare(
        kind.choice("earn", "both", "decide"),
        "Aim",
        "What it is for: both (earn clicks and find the "
        "winner), earn, or decide (find the winner soonest). Left out: both, or earn where a policy is named and "
        "nothing stops automatically.",
    )
    explore: float = declare(
        kind.number(0, 1),
        "Exploring share",
        "Share of decisions that explore until there is a "
        "verdict. Left out: 0.5 for both (of a ranking 0.3), 0.02 for earn (halved whenever decisions double, from 100 "
        "per level on), 1 for decide. 0: the policy alone, exactly as in studies.",
        example=0.1,
    )
    seed: int = declare(
        kind.whole(0, 2**62 - 1),
        "Seed",
        "Seed of the policy's randomness. Left out: a new one, kept in the journal.",
        example=1,
    )
    goals: Mapping[str, Mapping[str, Any]] | None = declare(
        GOALS,
        "Goals",
        "The outcomes to measure, by name, each with its kind (yes-no; count or amount, with a cap), which way is "
        "better (more or less), a window of its own and, for a guardrail, worse_by (0.1: at most 10% worse than the "
        "baseline) and must_clear. The first one steers. Left out: one goal, click.",
        example={"click": {}, "order": {"kind": "amount", "cap": 500}},
        option="goal",
    )
    context: Mapping[str, Any] | None = declare(
        kind.ATTRIBUTES,
        "What is known of visitors",
        "Attributes of visitors, each with its levels, or what else it may be: any level, bool, float, a range. Other "
        "levels count as unknown; other attributes are refused, or ignored from a page. Left out: the first "
        "ask settles them, and a service counts none. The policy logit-ts shows visitors what suits their attributes, "
        "segmented-uts what is best in their segment; others only compare.",
        example={"device": ["phone", "desktop"], "country": None, "returning": "bool", "age": "18..90"},
        option="attribute",
    )
    stopping: Stopping = Stopping()
    control: Control | None = None
    prior: Any = None  # pulls, then clicks: tuples within tuples, as deep as there are factors
    watch: Watch = Watch()
    outcomes: Outcomes = Outcomes()
    past: Past | None = None  # where the prior comes from

    @property
    def all_goals(self) -> tuple[Goal, ...]:
        """The goals, the one that steers first."""
        return goals_of(self.goals)

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """The levels of each factor with which the experiment began, by its name."""
        return dict(self.factors)

    def to_dict(self) -> dict[str, Any]:
        """Return what anybody may know of it, as callers write it; its levels come and go, so they are not settings."""
        hidden = ("factors", "seed", "prior", "past")
        return {name: value for name, value in dataclasses.asdict(self).items() if name not in hidden}

    def note(self) -> str:
        """Return the settings as the journal's first event keeps them."""
        from rankone.live.journal.events import VERSION

        return json.dumps(dataclasses.asdict(self) | {"version": VERSION})

    @classmethod
    def of_note(cls, details: dict[str, Any]) -> Settings:
        """Read what `note` wrote."""
        from rankone.live.journal.events import VERSION

        version = details.pop("version")
        if version > VERSION:
            expected = f"a journal of version {VERSION} or older"
            raise JournalError(expected, f"version {version}", "upgrade rankone to open it")
        stored = {name: details[name] for name in GROUPS if name != "prior" and details[name] is not None}
        groups = {name: GROUPS[name](**_checked_group(name, group)) for name, group in stored.items()}
        lists = {name: as_tuples(details[name]) for name in ("factors", "prior", "past")}
        context = details["context"] and {name: as_tuples(kind) for name, kind in details["context"].items()}
        return cls(**details | lists | groups | {"context": context, "past": lists["past"] and Past(*lists["past"])})


class WantedSettings(TypedDict, total=False):
    """Settings as callers write them, of experiments and rankings. A group may be a dictionary of some of its own."""

    aim: str | None
    explore: float | None
    seed: int | None
    stopping: Stopping | Mapping[str, Any] | None
    context: Mapping[str, Any] | None
    control: Control | Mapping[str, Any] | None
    outcomes: Outcomes | Mapping[str, Any] | None


class RankingWishes(WantedSettings, total=False):
    """Keywords of `Ranking`."""

    gentle: bool | None


class _ExperimentWishes(WantedSettings, total=False):
    factors: Mapping[str, Sequence[str] | int] | None
    goals: Mapping[str, Mapping[str, Any] | None] | None
    watch: Watch | Mapping[str, Any] | None


class RemoteWishes(_ExperimentWishes, RankingWishes, total=False):
    """Keywords of `Client.create`."""

    positions: int | None


class LocalWishes(_ExperimentWishes, total=False):
    """Keywords of `Experiment`: also what cannot be sent to a service."""

    prior: Prior | Mapping[str, Any] | None


def _declared() -> Iterator[Setting]:
    for group, declared in {"": Settings, **GROUPS}.items():
        for field in dataclasses.fields(declared):
            if field.metadata:
                facts = dict(field.metadata)
                option = facts.pop("option") or field.name.replace("_", "-")
                remote = (group or field.name) in ("policy", *RemoteWishes.__annotations__)
                yield Setting(field.name, group, **facts, option=option, remote=remote)


SETTINGS = tuple(_declared())


def parsed_settings(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an experiment is asked to be, as the journal keeps it; what is left out, or None, is not in it.

    >>> parsed_settings({"factors": {"headline": ["A", "B"]}, "aim": None, "stopping": {"margin": 0.05}})
    {'factors': (('headline', ('A', 'B')),), 'stopping': {'margin': 0.05}}
    """
    given = {name: value for name, value in wanted.items() if value is not None}
    if given.get("items") is not None and given.get("factors") is None:
        given["factors"] = {ITEM: given.pop("items")}
    factors = factors_of_pair(*(given.pop(name, None) for name in ("rows", "cols", "factors")))
    result: dict[str, Any] = {} if factors is None else {"factors": checked_factors(factors)}
    alone = {setting.name: setting for setting in SETTINGS if not setting.group}
    for name, value in given.items():
        if name not in alone and name not in GROUPS:
            raise InputError("a setting of an experiment", name, _one_of(name, [*alone, *GROUPS]))
        result[name] = _checked_group(name, value) if name in GROUPS else alone[name].check(value)
    for group, first in (("control", "levels"), ("prior", "counts")):
        if group in result and first not in result[group]:
            raise InputError(f"the {first} of a {group}", "none", f"try {group}={{'{first}': ...}}")
    if {"window", "max_age"} <= set(result.get("outcomes", ())):
        raise InputError("a window or max_age", "both", "leave out max_age: the window ends what is open")
    if "goals" in result:
        _take_window(result)
    if "positions" in result:
        check_ranking(result)
    elif "control" in result and "factors" in result:
        levels_in_order(result["control"]["levels"], dict(result["factors"]))
    return result


def _take_window(result: dict[str, Any]) -> None:
    """Let the window of the goal that steers be that of decisions: they are one."""
    own = next(iter(result["goals"].values())).pop("window", None)
    if own and (outcomes := result.setdefault("outcomes", {})).setdefault("window", own) != own:
        raise InputError("one window of the first goal", f"{own:g} and {outcomes['window']:g}", "leave one of them out")


def _checked_group(group: str, value: Any) -> dict[str, Any]:
    own = {setting.name: setting for setting in SETTINGS if setting.group == group}
    if isinstance(value, GROUPS[group]):
        value = vars(value)
    if not isinstance(value, Mapping):
        some = next(iter(own.values()))
        do = f"try {group}={{{some.name!r}: {some.example!r}}}"
        raise InputError(f"{group} as a dictionary of {', '.join(own)}", value, do)
    for name in value:
        if name not in own:
            raise InputError(f"{group} with {', '.join(own)}", name, _one_of(str(name), own))
    checked = {name: own[name].check(given) for name, given in value.items() if given is not None}
    return {name: given for name, given in checked.items() if given is not False}  # which says no more than nothing


def default_policy(positions: int | None) -> str:
    """Return the policy of an experiment that names none, or of a ranking."""
    return DEFAULT_LIST_POLICY if positions else DEFAULT_POLICY


def _one_of(name: str, known: Iterable[str]) -> str:
    return did_you_mean(name, known, f"these are the settings: {', '.join(known)}")


def checked_combinations(sizes: Sequence[int]) -> None:
    """Refuse more combinations than fit in memory."""
    if math.prod(sizes) > MAX_COMBINATIONS:
        got = f"{' x '.join(map(str, sizes))} = {math.prod(sizes):,}"
        raise InputError(f"at most {MAX_COMBINATIONS:,} combinations", got, "leave out some factors or levels")
