"""How an experiment is opened: what a new one begins with, and what must not contradict one that is there."""

import dataclasses
import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rankone.errors import InputError
from rankone.evidence.list_lottery import LIST_EXPLORE
from rankone.evidence.steering import AIMS
from rankone.kernels.policy import believe, check_relearns
from rankone.live import settings as declared
from rankone.live.fold.fold import Fold
from rankone.live.names import checked_factors, levels_in_order
from rankone.live.setting_kinds import ATTRIBUTES, SECONDS, as_tuples
from rankone.live.settings import GROUPS, TEST_ALL, Past, Prior, Settings, Stopping, Watch
from rankone.live.visitor_attributes import declaration_text, features_of
from rankone.policies import Policy, as_policy
from rankone.policies.chances import check_chances

_INSTEAD = {
    "factors": "; sync=True takes them over, as add_level and retire_level do",
    "context": "; declare_context changes them",
}


_AWAY = {"earn": 0.0, "both": 0.1, "decide": 0.5}  # the part of published weights that decides, by what they are for


def checked_settings(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an experiment is asked to be (`parsed_settings`), its policy and its past counts checked, too."""
    asked = declared.parsed_settings(wanted)
    if wanted.get("policy") is not None:
        sizes = [len(levels) for _, levels in asked.get("factors", ())]
        of_lists = not sizes and as_policy(wanted["policy"]).decision_kind == "list"  # of a ranking that is there
        positions = asked.get("positions", 1 if of_lists else None)
        asked["policy"] = checked_policy(wanted["policy"], sizes or (2, 2), positions).label
    if "prior" in asked:
        asked["prior"]["counts"] = read_prior(asked["prior"]["counts"])
    return asked


def checked_policy(spec: str | Policy, sizes: Sequence[int] = (2, 2), positions: int | None = None) -> Policy:
    """Refuse policies that do not play such combinations or lists, or that their label does not describe whole."""
    result = as_policy(spec)
    if positions:
        result.check_kind("list", (sizes[0], positions), "a ranking")
    else:
        result.check_kind("pair" if len(sizes) == 2 else "combination", tuple(sizes), "a live experiment")
    if as_policy(result.label) != result:  # the journal keeps it
        do = "give it simple parameters: numbers and texts"
        raise InputError("a policy that its label describes", repr(result), do)
    return result


def new_settings(name: str, asked: Mapping[str, Any], names: Callable[[], Iterable[str]]) -> Settings:
    """Return the settings of a new experiment: what was asked for (`parsed_settings`), else the defaults.

    `names` returns the experiments that are there, for whoever meant one of these.
    """
    prior = Prior(**asked["prior"]) if "prior" in asked else None
    named = None if prior is None else dict(zip(prior.counts.factors, prior.counts.levels, strict=True))
    factors = asked.get("factors") or (named and checked_factors(named))
    if not factors:
        known = ", ".join(list(names())[:10]) or "none"
        do = "pass factors={'headline': ['A', 'B']}, of a ranking its items and positions"
        do = f"{do}; or continue an experiment of this database ({known})"
        raise InputError(f"factors for the new experiment '{name}'", "none", do)
    levels = dict(factors)
    sizes = [len(each) for each in levels.values()]
    declared.checked_combinations(sizes)
    groups = {group: kind(**asked[group]) for group, kind in GROUPS.items() if group in asked}
    stops = groups.get("stopping", Stopping()).auto
    positions = asked.get("positions")
    chosen = checked_policy(asked.get("policy", declared.default_policy(positions)), sizes, positions)
    # Who wants to stop wants a verdict.
    named_alone = "policy" in asked and not stops and not chosen.decides_away and not positions
    aim = asked.get("aim", "earn" if named_alone else "both")
    explore = LIST_EXPLORE[aim] if positions else _AWAY[aim] if chosen.decides_away else AIMS[aim].explore
    result = {"seed": secrets.randbits(62), "aim": aim, "explore": explore, **asked, **groups}
    if positions:
        _check_ranks(chosen, sizes[0], positions)
        return Settings(**result | {"name": name, "factors": factors, "policy": chosen.label})
    chosen = _ready(chosen.live() if result["explore"] else chosen, sizes, result.get("context"))
    if "control" in groups:
        held = levels_in_order(groups["control"].levels, levels)
        result["control"] = dataclasses.replace(groups["control"], levels=held)
    _check_plays(chosen, sizes, stops, groups.get("watch", Watch()))
    if chosen.decides_away:
        _check_away(asked)
    if prior is not None:
        result["prior"], result["past"] = weighted(prior.counts, levels, prior.weight)
    return Settings(**result | {"name": name, "factors": factors, "policy": chosen.label})


def _check_ranks(chosen: Policy, n_items: int, positions: int) -> None:
    """Refuse a policy that cannot say how likely its lists are, or not start afresh when items come and go."""
    state = chosen.start(n_items, positions)
    if chosen.uses_context or not believe.has(type(state)):
        do = f"try {declared.default_policy(positions)}, or leave it out"
        raise InputError("a policy that says how likely its lists are", chosen.label, do)
    check_relearns(type(state))


def _check_plays(chosen: Policy, sizes: Sequence[int], stops: bool, watch: Watch) -> None:
    """Refuse what a policy cannot do now, before anything is written, and not when the first level comes or goes."""
    state = chosen.start(*sizes)  # refuses what it cannot play
    if chosen.uses_context and stops:
        do = "leave out auto: what is best may depend on the visitor, so there is no one winner to stop on"
        raise InputError("to stop automatically, or a policy that tells visitors apart", "both", do)
    if chosen.uses_context and watch.interaction == TEST_ALL:
        do = "leave out interaction: the policy that tests all combinations does not tell visitors apart"
        raise InputError(f"interaction='{TEST_ALL}', or a policy that tells visitors apart", "both", do)
    check_relearns(type(state))
    if len(sizes) == 2:
        check_chances(chosen, *sizes)


def _check_away(asked: Mapping[str, Any]) -> None:
    """Refuse what an experiment that decides away from the server does not count."""
    for what in ("goals", "context", "prior", "watch"):
        if what in asked:
            do = f"leave out {what}, or choose another policy"
            raise InputError("settings that sums of shown and clicked can serve", f"{what} with policy 'edge'", do)


def check_continues(fold: Fold, asked: Mapping[str, Any]) -> None:
    """Refuse what contradicts the settings of an experiment that is there, its living levels and its segments."""
    settings, whose = fold.settings, f"experiment '{fold.settings.name}'"
    living = {name: tuple(each.names_living()) for name, each in fold.factors.items()}
    now: dict[str, Any] = {"factors": tuple(living.items()), "context": dict(fold.segments.declared or ())}
    if settings.outcomes.window and "max_age" in asked.get("outcomes", ()):
        got, do = f"{asked['outcomes']['max_age']:g} (seconds)", "leave it out: the window ends what is open"
        raise InputError(f"no max_age for {whose}, which has a window", got, do)
    grouped = {f"{group}.{name}": value for group in GROUPS for name, value in asked.get(group, {}).items()}
    prior = grouped.pop("prior.counts", None), grouped.pop("prior.weight", Prior().weight)
    for path, value in ({name: value for name, value in asked.items() if name not in GROUPS} | grouped).items():
        group, _, name = path.rpartition(".")
        stored = getattr((getattr(settings, group) or GROUPS[group]()) if group else settings, name)
        if path == "control.levels" and not settings.positions:
            value = levels_in_order(value, settings.levels)
        if value in (stored, now.get(path, stored)):
            continue
        if path == "policy" and _as_live(value, living, settings).label == stored:
            continue
        expected, do = f"{path} {_shown(path, now.get(path, stored))}, with which {whose} runs", "leave it out"
        raise InputError(expected, _shown(path, value), f"{do}, or use another name{_INSTEAD.get(path, '')}")
    if prior[0] is not None and weighted(prior[0], settings.levels, prior[1])[0] != settings.prior:
        expected = f"the past counts and the weight with which {whose} began"
        raise InputError(expected, "others" if settings.prior else "some, where it began with none", "leave prior out")


def _as_live(policy: str, living: Mapping[str, Sequence[str]], settings: Settings) -> Policy:
    sizes = [len(each) for each in living.values()]
    chosen = checked_policy(policy, sizes, settings.positions)
    return chosen if settings.positions else _ready(chosen.live(), sizes, settings.context)


def _ready(policy: Policy, sizes: Sequence[int], context: Mapping[str, Any] | None) -> Policy:
    """Return a policy that knows how many features visitors have, or how many are in memory; refuse one that looks at
    features where there is none."""
    if policy.by_visitor:
        return policy.with_known(policy.known_live(sizes))
    if hasattr(policy, "users"):
        raise InputError("a policy that takes visitors as they come", policy.label, "choose 'mixture-ts'")
    if not policy.uses_context or policy.by_segment:
        return policy
    count = len(features_of(None, tuple((context or {}).items())))
    if not count or getattr(policy, "features", None) not in (None, count):
        got = f"{count or 'none'}, and the policy is {policy.label}"
        do = "try context={'device': ['phone', 'desktop'], 'age': (18, 90)}"
        raise InputError("attributes of visitors that make features", got, do)
    return policy.with_known({"features": count})


def _shown(path: str, value: Any) -> str:
    """Return a setting as the caller would write it."""
    kind = next((setting.kind for setting in declared.SETTINGS if setting.path == path), None)
    if kind is ATTRIBUTES:
        return declaration_text(tuple((value or {}).items())) or "None"
    if path == "factors":
        return "{" + ", ".join(f"{factor!r}: {_shown_levels(names)}" for factor, names in value) + "}"
    return f"{value:g} (seconds)" if value and kind is SECONDS else repr(value)


def _shown_levels(names: Sequence[str]) -> str:
    some = ", ".join(repr(name) for name in names[:10])
    return f"[{some}]" if len(names) <= 10 else f"[{some}, ... {len(names)} in all]"


MOST = 1_000  # outcomes of a combination that the past may count for: enough to start well, few enough to be overruled


def read_prior(table: Any) -> Any:
    """Return the counts in whatever `rankone.analyse` takes but a database: a file, a dataframe, a pair of arrays."""
    from rankone.clicks.counts.factor_counts import as_factor_counts
    from rankone.clicks.counts.table_files import naming_lines, read_table

    with naming_lines(table):
        return as_factor_counts(read_table(table) if isinstance(table, str | os.PathLike) else table)


def weighted(counts: Any, levels: Mapping[str, Sequence[str]], weight: float) -> tuple[Any, Past]:
    """Return pulls and clicks of each combination, in whole numbers, and where they come from.

    The factors of what `read_prior` returned may come in any order if they have the experiment's names; levels that the
    experiment does not have are left out, and named.
    """
    order = _order(counts, levels)
    indices = [
        np.array([own.index(name) if name in own else -1 for name in counts.levels[factor]])
        for own, factor in zip(map(list, levels.values()), order, strict=True)
    ]
    cells = np.stack([index[counts.cells[:, factor]] for index, factor in zip(indices, order, strict=True)], axis=1)
    pulls, clicks = np.zeros((2, *(len(own) for own in levels.values())))
    kept = (cells >= 0).all(axis=1)
    for result, counted in ((pulls, counts.shown), (clicks, counts.clicked)):
        np.add.at(result, tuple(cells[kept].T), counted[kept])
    if not pulls.any():
        got = "counts of " + " with ".join(", ".join(names[:3]) for names in counts.levels)
        raise InputError("past counts of the experiment's levels", got, "call the levels by the same names")
    scale = np.minimum(weight, MOST / np.maximum(pulls, 1.0))
    result = tuple(as_tuples(np.rint(counted * scale).astype(int).tolist()) for counted in (pulls, clicks))
    own = zip(levels.values(), order, strict=True)
    left_out = tuple(str(name) for names, factor in own for name in counts.levels[factor] if name not in names)
    return result, Past(int(pulls.sum()), weight, left_out)


def _order(counts: Any, levels: Mapping[str, Sequence[str]]) -> list[int]:
    """Return which factor of the counts is which of the experiment's."""
    if len(counts.factors) != len(levels):
        expected, got = f"past counts of the factors {', '.join(levels)}", f"counts of {', '.join(counts.factors)}"
        raise InputError(expected, got, "keep one column for each")
    if set(counts.factors) == set(levels):
        return [list(counts.factors).index(factor) for factor in levels]
    rows, result = set(next(iter(levels.values()))), counts.levels
    if len(levels) == 2 and not set(result[0]) & rows and set(result[1]) & rows:
        return [1, 0]
    return list(range(len(levels)))
