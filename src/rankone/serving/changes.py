"""What an operator changes in an experiment: which events a stop, an exclusion or another row adds to its journal.

What visitors ask and tell is in `rankone.serving.planner`. Here as there the fold is read and never changed.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rankone.errors import InputError
from rankone.serving.era_notes import era_note
from rankone.serving.exclusions import Exclusion
from rankone.serving.factors import Factors, Levels, margin
from rankone.serving.fold import Fold
from rankone.serving.forbidden import forbids, names_of, whole_rules
from rankone.serving.journal import BY_OPERATOR, NO_TEXTS, Draft, Events, Kind, Texts
from rankone.serving.names import (
    MAX_FACTORS,
    PAIR,
    called,
    called_all,
    checked_levels,
    checked_name,
    combination_text,
    level_text,
)
from rankone.serving.settings import checked_combinations
from rankone.serving.verdict import verdict_of
from rankone.specs import did_you_mean


def draft_stop(fold: Fold, draft: Draft, levels: Mapping[str, str], why: str) -> dict[str, str]:
    """Draft a stop on a combination, of factors that are not named on the level that leads; return all names."""
    unknown = [factor for factor in levels if factor not in fold.factors]
    if unknown:
        raise _no_factor(fold, unknown[0])
    if fold.learned_since == 0 and len(levels) < len(fold.factors):
        what, do = _told_whole(fold)
        raise InputError(f"outcomes that tell which {what} leads", "none yet", do)
    shown = [int(live[leader]) for live, leader in zip(fold.live, verdict_of(fold).leaders, strict=True)]
    for place, (factor, found) in enumerate(fold.factors.items()):
        if factor in levels:
            shown[place] = _living(found, factor, levels[factor])
    rules = whole_rules(fold.forbidden, fold.factors)
    if rules and forbids(np.array(rules), shown):
        got = combination_text(fold.factors.named(shown))
        raise InputError("a combination that may be shown", f"{got}, which is forbidden", "name another, or allow it")
    draft.add(Kind.STOP, -1, texts=Texts(note=json.dumps(fold.factors.note_of(shown) | {"why": why})))
    return fold.factors.named(shown)


def _told_whole(fold: Fold) -> tuple[str, str]:
    """Return what is shown, and how to name it whole to stop on it."""
    if fold.factors.are_pair:
        return "pair", "name the pair: stop(row, col)"
    return "combination", f"name a level of each factor: stop(levels={{'{next(iter(fold.factors))}': ..., ...}})"


def _no_factor(fold: Fold, factor: str) -> InputError:
    do = did_you_mean(factor, list(fold.factors), "name a factor that is there")
    return InputError(f"one of the factors {', '.join(fold.factors)}", f"factor '{factor}'", do)


def draft_resume(fold: Fold, draft: Draft) -> None:
    """Draft the end of a stop."""
    if fold.stopped is None:
        raise InputError("an experiment that is stopped", "one that runs", "nothing is to be done")
    draft.add(Kind.ERA, -1, texts=Texts(note=era_note(fold, "resumed", stopped=None)))


def exclusion_fits(
    fold: Fold,
    *,
    source: str | None,
    token: str | None,
    levels: Mapping[str, str],
    first: int | None,
    last: int | None,
) -> dict[str, Any]:
    """Return which outcomes are excluded, as the journal keeps it; `first` and `last` are the numbers of decisions."""
    fits: dict[str, Any] = {"source": source, "token": token, "first": first, "last": last}
    fits |= _excluded_levels(fold, levels)
    return {what: value for what, value in fits.items() if value is not None}


def check_exclusion(fold: Fold, fits: Mapping[str, Any], prior: bool) -> None:
    """Refuse an exclusion of nothing."""
    if prior and not fold.prior.any():
        raise InputError("an experiment that began with past counts", "one that did not", "leave prior out")
    if not fits and not prior:
        raise InputError(
            "something that tells which outcomes to exclude",
            "nothing",
            f"name a source, a token, {'a row, a column' if fold.factors.are_pair else 'levels'} or a time (since, "
            "until)",
        )


def draft_exclusion(
    fold: Fold, draft: Draft, fits: Mapping[str, Any], *, why: str, prior: bool = False, archives: bool = False
) -> int:
    """Draft the exclusion of outcomes that fit everything given, and voids of those that are held; return how many are.

    Those in `archives` count on, unless this says that they are seen to.
    """
    check_exclusion(fold, fits, prior)
    if not fits:
        note = era_note(fold, why, forget=True, prior=False)
        draft.add(Kind.ERA, -1, texts=Texts(note=note))
        return 0
    if fold.archived and not archives:
        fits = {**fits, "after": fold.archived}
    # Told, but their windows are still open: they will not be learned either.
    exclusion = Exclusion(2**62, **fits)
    held = [number for number in fold.held if held_fits(fold, number, exclusion)]
    draft_voids(fold, draft, held)
    if "source" not in fits and "token" not in fits:
        # Nor those of a level that nobody has told yet: silence would count against it.
        draft_voids(fold, draft, [number for number in _open_of(fold, exclusion) if number not in fold.held])
    forgotten: dict[str, Any] = {"prior": False} if prior else {}
    note = era_note(fold, why, forget=True, exclude=fits, asked=fold.decisions, **forgotten)
    draft.add(Kind.ERA, -1, texts=Texts(note=note))
    return len(held)


def _excluded_levels(fold: Fold, levels: Mapping[str, str]) -> dict[str, Any]:
    """Return which levels an exclusion names, as the journal keeps them: rows and columns as ever."""
    numbers = {}
    for factor, name in levels.items():
        if factor not in fold.factors:
            raise _no_factor(fold, factor)
        numbers[factor] = _among(fold.factors[factor].names, factor, name)
    if fold.factors.are_pair:
        return dict(numbers)
    places = list(fold.factors)
    return {"levels": {str(places.index(factor)): number for factor, number in numbers.items()}} if numbers else {}


def _open_of(fold: Fold, exclusion: Exclusion) -> list[int]:
    """Return the open decisions of the levels that an exclusion names."""
    named = exclusion.of_factors()
    if not named:
        return []
    found = []
    for number, opened in fold.open.items():
        levels = opened.levels(len(fold.factors))
        fits = all(levels[factor] == level for factor, level in named.items())
        if fits and exclusion.first <= number <= exclusion.last:
            found.append(number)
    return found


def held_fits(fold: Fold, decision: int, exclusion: Exclusion) -> bool:
    """Return whether the outcome of a decision, held until its window ends, is excluded."""
    opened, held = fold.open[decision], fold.held[decision]
    numbers = np.array([[exclusion.after + 1, 0, 0, decision, *opened.pair, 0]], np.int64)  # still open
    texts = Texts(source=held.source, token=held.token, shown=opened.shown)
    asked = {decision} if opened.token is not None and opened.token == exclusion.token else set()
    return bool(exclusion.fits(Events(numbers, [texts]), asked)[0])


def open_for(fold: Fold, age: int, now: int, among: Iterable[int] | None = None) -> list[int]:
    """Return the decisions that have been open for `age` or longer, but for those whose window is over."""
    longest = fold.settings.window or 2**62
    still = fold.open if among is None else [number for number in among if number in fold.open]
    return [number for number in still if age <= now - fold.open[number].at < longest]


def draft_voids(fold: Fold, draft: Draft, numbers: Iterable[int]) -> None:
    """Draft the end of open decisions, of which nothing is learned."""
    for number in numbers:
        opened = fold.open[number]
        draft.add(Kind.VOID, number, opened.pair, BY_OPERATOR, NO_TEXTS.of_shown(opened.shown))


def draft_levels(fold: Fold, draft: Draft, factor: str, name: str, add: bool) -> int:
    """Draft a level of a factor more or less; return its number."""
    if factor not in fold.factors:
        raise _no_factor(fold, factor)
    factors = copy.deepcopy(fold.factors)
    held = fold.control
    if not add and held is not None and held[factor] == name:
        expected = f"a {called(factor)} that is not the control's"
        raise InputError(expected, name, "the control keeps its share; retire another")
    number = _changed(factors[factor], factor, name, add)
    checked_combinations(factors.sizes)
    _check_all_shown(factors, whole_rules(fold.forbidden, factors), f"'{name}' {'back' if add else 'gone'}")
    what = f"{factor} '{name}'" if factor in PAIR else level_text(factor, name)
    why = f"{what} {'added' if add else 'retired'}"
    draft.add(Kind.ERA, -1, texts=Texts(note=era_note(fold, why, factors)))
    return number


def draft_forbidden(fold: Fold, draft: Draft, levels: Mapping[str, str], forbid: bool) -> None:
    """Draft that a combination of some levels is never shown any more, or that it is again."""
    for factor in levels:
        if factor not in fold.factors:
            raise _no_factor(fold, factor)
    rule = [
        _among(found.names, factor, levels[factor]) if factor in levels else -1
        for factor, found in fold.factors.items()
    ]
    before = whole_rules(fold.forbidden, fold.factors)
    text = combination_text(levels)
    if forbid:
        _check_forbidden(fold, levels, rule, before)
    elif rule not in before:
        known = "; ".join(combination_text(named) for named in names_of(fold.forbidden, fold.factors))
        if not known:
            raise InputError("something that is forbidden", f"{text}, and nothing is", "nothing is to be done")
        raise InputError(f"what is forbidden: {known}", text, "allow one of these")
    rules = [*before, rule] if forbid else [known for known in before if known != rule]
    note = era_note(fold, f"{text} {'forbidden' if forbid else 'allowed again'}", forbidden=rules)
    draft.add(Kind.ERA, -1, texts=Texts(note=note))


def _check_forbidden(fold: Fold, levels: Mapping[str, str], rule: list[int], before: list[list[int]]) -> None:
    """Refuse a rule that says nothing, or that leaves a level without anything to be shown with."""
    if len(levels) < 2:
        do = "retire_level takes a level out of the race"
        raise InputError("levels of two factors or more to forbid together", combination_text(levels) or "none", do)
    if rule in before:
        raise InputError("what is not forbidden yet", combination_text(levels), "nothing is to be done")
    if not fold.policy.leaves_out:
        got = f"{fold.policy.label}, which does not"
        raise InputError("a policy that can be told what is forbidden", got, "make an experiment with uts")
    control, shown = fold.control or {}, fold.shown or {}
    for what, kept in (("the control", control), ("what every visitor sees", shown)):
        if kept and all(kept[factor] == name for factor, name in levels.items()):
            raise InputError(f"to forbid something else than {what}", combination_text(levels), "forbid another")
    _check_all_shown(fold.factors, [*before, rule], combination_text(levels))


def _check_all_shown(factors: Factors, rules: list[list[int]], change: str) -> None:
    """Refuse a change after which rules leave a living level without anything to be shown with."""
    named = [place for place in range(len(factors)) if any(rule[place] >= 0 for rule in rules)]
    if not named:
        return
    sizes = [factors.sizes[place] for place in named]
    checked_combinations(sizes)
    allowed = np.ones(sizes, bool)
    for rule in rules:
        allowed[tuple(slice(None) if rule[place] < 0 else rule[place] for place in named)] = False
    living = factors.living()
    alive = np.ix_(*(living[place] for place in named))
    for axis, place in enumerate(named):
        left = margin(allowed[alive].astype(np.int64), axis)
        if not left.all():
            factor = list(factors)[place]
            alone = factors[factor].names[living[place][int(np.argmin(left))]]
            expected = "to leave every level something to be shown with"
            got = f"{change}, which leaves {level_text(factor, alone)} nothing"
            raise InputError(expected, got, "retire that level instead, or forbid less")


def draft_factor(fold: Fold, draft: Draft, name: str, levels: Any) -> None:
    """Draft one factor more; all decisions so far had its first level."""
    checked_name(name, "factor name")
    names = checked_levels(levels, name)
    if name in fold.factors:
        do = "add levels to it with add_level, or give the new one another name"
        raise InputError("the name of a factor that is not there yet", name, do)
    if len(fold.factors) == MAX_FACTORS:
        raise InputError(f"at most {MAX_FACTORS} factors", f"'{name}', one more", "begin a new experiment")
    factors = Factors(copy.deepcopy(fold.factors) | Factors.new({name: names}))
    checked_combinations(factors.sizes)
    fold.policy.check_plays("combination", factors.sizes, f"an experiment with {len(factors)} factors")
    why = f"factor '{name}' added, until then '{names[0]}'"
    draft.add(Kind.ERA, -1, texts=Texts(note=era_note(fold, why, factors)))


def _among(names: Sequence[str], factor: str, name: str) -> int:
    if name not in names:
        side = called(factor)
        do = did_you_mean(name, names, f"name a {side} that is there")
        raise InputError(f"one of the {called_all(factor)} {', '.join(names)}", level_text(factor, name), do)
    return names.index(name)


def _living(levels: Levels, factor: str, name: str) -> int:
    _among(levels.names_living(), factor, name)
    return levels.names.index(name)


def _changed(levels: Levels, factor: str, name: str, add: bool) -> int:
    """Add or retire a level; return its number. A retired name may come back, under its old number."""
    side = called(factor)
    if name not in levels.names:
        if not add:
            expected = f"one of the {called_all(factor)} {', '.join(levels.names_living())}"
            raise InputError(expected, name, "retire one of these")
        levels.names.append(name)
        levels.live.append(True)
        return len(levels.names) - 1
    number = levels.names.index(name)
    if levels.live[number] is add:
        raise InputError(
            f"a {side} that is {'not there yet' if add else 'still there'}",
            name,
            "see report() for those there are",
        )
    if not add and sum(levels.live) == 1:
        raise InputError(
            f"at least one {side} to remain", f"'{name}', the last one", f"add another {side} first, or stop()"
        )
    levels.live[number] = add
    return number
