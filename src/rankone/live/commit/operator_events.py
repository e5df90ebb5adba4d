"""What an operator changes in an experiment: which events a stop, an exclusion or another level adds to its journal.

What visitors ask and tell is in `rankone.live.commit.planner`. Here as there the fold is read and never changed.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rankone.errors import InputError
from rankone.live.commit.era_notes import era_note
from rankone.live.factors import Factors, Levels, margin
from rankone.live.fold.fold import Fold
from rankone.live.forbidden import forbids, names_of, whole_rules
from rankone.live.journal.events import BY_OPERATOR, Draft, Events, Kind, Texts
from rankone.live.journal.exclusions import Exclusion
from rankone.live.journal.packing import unpack_shown
from rankone.live.names import MAX_FACTORS, checked_levels, checked_name, combination_text
from rankone.live.settings import checked_combinations
from rankone.live.verdict.verdict import verdict_of
from rankone.live.visitor_attributes import Declaration, declaration_text
from rankone.specs import did_you_mean


def draft_stop(fold: Fold, draft: Draft, levels: Mapping[str, str], why: str) -> dict[str, str]:
    """Draft a stop on a combination, of factors that are not named on the level that leads; return all names."""
    _check_factors(fold, levels)
    state = verdict_of(fold)
    shown = [int(live[leader]) for live, leader in zip(fold.live, state.leaders, strict=True)]
    for place, (factor, found) in enumerate(fold.factors.items()):
        if factor in levels:
            shown[place] = _living(found, factor, levels[factor])
    if not state.leads and len(levels) < len(fold.factors):
        got = "a fault in the program" if fold.weighing.fault else "too few" if fold.learned_since else "none yet"
        do = f"name a level of each factor: stop({{'{next(iter(fold.factors))}': ..., ...}})"
        raise InputError("outcomes that tell which combination leads", got, do)
    rules = whole_rules(fold.forbidden, fold.factors)
    if rules and forbids(np.array(rules), shown):
        got = combination_text(fold.factors.named(shown))
        raise InputError("a combination that may be shown", f"{got}, which is forbidden", "name another, or allow it")
    draft.add(Kind.STOP, -1, texts=Texts(note=json.dumps({"levels": shown, "why": why})))
    return fold.factors.named(shown)


def _check_factors(fold: Fold, named: Iterable[str]) -> None:
    """Refuse factors that are not there."""
    for factor in named:
        if factor not in fold.factors:
            do = did_you_mean(factor, list(fold.factors), "name a factor that is there")
            raise InputError(f"one of the factors {', '.join(fold.factors)}", f"factor '{factor}'", do)


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
    _check_factors(fold, levels)
    places = list(fold.factors)
    numbers = {
        str(places.index(factor)): _among(fold.factors[factor].names, factor, name) for factor, name in levels.items()
    }
    fits = {"source": source, "token": token, "first": first, "last": last, "levels": numbers or None}
    return {what: value for what, value in fits.items() if value is not None}


def check_exclusion(fold: Fold, fits: Mapping[str, Any], prior: bool) -> None:
    """Refuse an exclusion of nothing."""
    if prior and not fold.prior.any():
        raise InputError("an experiment that began with past counts", "one that did not", "leave prior out")
    if not fits and not prior:
        raise InputError(
            "something that tells which outcomes to exclude",
            "nothing",
            "name a source, a token, levels or a time (since, until)",
        )


def draft_no_prior(fold: Fold, draft: Draft, why: str) -> int:
    """Draft that past counts are forgotten, and nothing else; return how many outcomes that takes out: none."""
    draft.add(Kind.ERA, -1, texts=Texts(note=era_note(fold, why, forget=True, prior=False)))
    return 0


def draft_exclusion(
    fold: Fold,
    draft: Draft,
    fits: Mapping[str, Any],
    *,
    why: str,
    prior: bool = False,
    archives: bool = False,
    wanted: int | None = None,
) -> tuple[int, str]:
    """Draft the exclusion of outcomes that fit everything given, and voids of those that are held.

    Those in `archives` count on, unless this says that they are seen to. `wanted` is the event with which somebody
    wanted it, if there is one. Return how many are held, and the note of the exclusion.
    """
    if fold.archived and not archives:
        fits = {**fits, "after": fold.archived}
    # Told, but their windows are still open: they will not be learned either.
    exclusion = Exclusion(2**62, **fits)
    held = [number for number in fold.held if held_fits(fold, number, exclusion)]
    draft_voids(fold, draft, held)
    if "source" not in fits and "token" not in fits:
        # Nor those of a level that nobody has told yet: silence would count against it.
        draft_voids(fold, draft, [number for number in _open_of(fold, exclusion) if number not in fold.held])
    more: dict[str, Any] = {"prior": False} if prior else {}
    more |= {} if wanted is None else {"wanted": wanted, "held": len(held)}
    note = era_note(fold, why, forget=True, exclude=fits, asked=fold.decisions, **more)
    draft.add(Kind.ERA, -1, texts=Texts(note=note))
    return len(held), note


def _open_of(fold: Fold, exclusion: Exclusion) -> list[int]:
    """Return the open decisions of the levels that an exclusion names."""
    named = exclusion.of_factors()
    if not named:
        return []
    found = []
    for number, opened in fold.open.items():
        levels = unpack_shown(opened.shown, len(fold.factors))
        fits = all(levels[factor] == level for factor, level in named.items())
        if fits and exclusion.first <= number <= exclusion.last:
            found.append(number)
    return found


def held_fits(fold: Fold, decision: int, exclusion: Exclusion) -> bool:
    """Return whether the outcome of a decision, held until its window ends, is excluded."""
    opened, held = fold.open[decision], fold.held[decision]
    numbers = np.array([[exclusion.after + 1, 0, 0, decision, opened.tag, 0]], np.int64)  # still open
    texts = Texts(source=held.source, token=held.token, shown=opened.shown)
    asked = {decision} if opened.token is not None and opened.token == exclusion.token else set()
    return bool(exclusion.fits(Events(numbers, [texts]), asked)[0])


def open_for(fold: Fold, age: int, now: int, among: Iterable[int] | None = None) -> list[int]:
    """Return the decisions that have been open for `age` or longer, but for those whose window is over."""
    longest = fold.settings.window_micros or 2**62
    still = fold.open if among is None else [number for number in among if number in fold.open]
    return [number for number in still if age <= now - fold.open[number].at < longest]


def draft_voids(fold: Fold, draft: Draft, numbers: Iterable[int]) -> None:
    """Draft the end of open decisions, of which nothing is learned."""
    for number in numbers:
        opened = fold.open[number]
        draft.add(Kind.VOID, number, opened.tag, BY_OPERATOR, Texts(shown=opened.shown))


def draft_levels(fold: Fold, draft: Draft, factor: str, name: str, add: bool) -> int:
    """Draft a level of a factor more or less; return its number."""
    _check_factors(fold, [factor])
    factors = copy.deepcopy(fold.factors)
    held = fold.control
    if not add and held is not None and held[factor] == name:
        expected = f"a level of '{factor}' that is not the control's"
        raise InputError(expected, name, "the control keeps its share; retire another")
    number = _changed(factors[factor], factor, name, add)
    checked_combinations(factors.sizes)
    _check_all_shown(factors, whole_rules(fold.forbidden, factors), f"'{name}' {'back' if add else 'gone'}")
    why = f"{combination_text({factor: name})} {'added' if add else 'retired'}"
    draft.add(Kind.ERA, -1, texts=Texts(note=era_note(fold, why, factors)))
    return number


def draft_forbidden(fold: Fold, draft: Draft, levels: Mapping[str, str], forbid: bool) -> None:
    """Draft that a combination of some levels is never shown any more, or that it is again."""
    _check_factors(fold, levels)
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
    if not fold.policy.supports_forbidden:
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
            got = f"{change}, which leaves {combination_text({factor: alone})} nothing"
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
    fold.policy.check_kind("combination", factors.sizes, f"an experiment with {len(factors)} factors")
    why = f"factor '{name}' added, until then '{names[0]}'"
    draft.add(Kind.ERA, -1, texts=Texts(note=era_note(fold, why, factors)))


def draft_segments(fold: Fold, draft: Draft, declared: Declaration) -> None:
    """Draft which attributes of visitors are told apart from now on."""
    if declared == fold.segments.declared:
        raise InputError("segments that are not declared yet", declaration_text(declared), "no action needed")
    why = f"segments declared: {declaration_text(declared)}"
    draft.add(Kind.ERA, -1, texts=Texts(note=era_note(fold, why, segments=declared)))


def _among(names: Sequence[str], factor: str, name: str) -> int:
    if name not in names:
        do = did_you_mean(name, names, f"name a level of '{factor}' that is there")
        raise InputError(f"one of the levels of '{factor}': {', '.join(names)}", f"'{name}'", do)
    return names.index(name)


def _living(levels: Levels, factor: str, name: str) -> int:
    _among(levels.names_living(), factor, name)
    return levels.names.index(name)


def _changed(levels: Levels, factor: str, name: str, add: bool) -> int:
    """Add or retire a level; return its number. A retired name may come back, under its old number."""
    if not add:
        _among(levels.names, factor, name)
    if name not in levels.names:
        levels.names.append(name)
        levels.live.append(True)
        return len(levels.names) - 1
    number = levels.names.index(name)
    if levels.live[number] is add:
        expected = f"a level of '{factor}' that is {'not there yet' if add else 'still there'}"
        raise InputError(expected, name, "see report() for those there are")
    if not add and sum(levels.live) == 1:
        expected = f"at least one level of '{factor}' to remain"
        raise InputError(expected, f"'{name}', the last one", "add another first, or stop()")
    levels.live[number] = add
    return number
