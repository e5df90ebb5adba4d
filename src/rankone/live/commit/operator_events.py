"""What an operator changes in an experiment: which events a stop, an exclusion or another level adds to its journal.

What visitors ask and tell is in `rankone.live.commit.planner`. Here as there the fold is read and never changed.
"""

import copy
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rankone.errors import InputError
from rankone.kernels.policy import check_relearns, defeats
from rankone.live.factors import Allowed, Factors, Levels, living_rules, rule_names, whole_rules
from rankone.live.fold.fold import Fold
from rankone.live.fold.list_fold import ListFold
from rankone.live.fold.unknown_policy import UnknownPolicy
from rankone.live.journal.events import BY_OPERATOR, Draft, Kind, Texts
from rankone.live.journal.exclusions import Exclusion
from rankone.live.journal.packing import unpack_shown
from rankone.live.lists import ITEM, MAX_LISTED
from rankone.live.names import MAX_FACTORS, checked_levels, checked_name
from rankone.live.settings import checked_combinations
from rankone.live.verdict.list_verdict import present_list
from rankone.live.verdict.verdict import verdict_of
from rankone.live.visitor_attributes import declaration_text
from rankone.specs import did_you_mean
from rankone.wording.combinations import combination_text


def era_note(fold: Fold, why: str, factors: Factors | None = None, forget: bool = False, **more: Any) -> str:
    """Return the note of an event that begins a new era with these levels; None: those there are.

    A level that another eliminated stays out, unless that other one is retired: then it is back in the race.
    `forget` brings all back. A stop lasts, unless a level of it is retired: then there is nothing to show but what
    the policy chooses.
    """
    factors = factors or fold.factors
    if isinstance(fold.policy, UnknownPolicy):
        raise fold.policy.error()  # whom it has eliminated, it alone can tell
    if fold.state is not None:
        check_relearns(type(fold.state))
    before, after = (
        [(factor, int(level)) for factor, live in enumerate(living) for level in live]
        for living in (fold.live, factors.living())
    )
    index_of = {level: index for index, level in enumerate(after)}
    defeated = list(range(len(after)))
    for level, winner in enumerate(defeats(fold.state, len(before)) if fold.state is not None and not forget else ()):
        if before[level] in index_of and before[winner] in index_of:
            defeated[index_of[before[level]]] = index_of[before[winner]]
    note = {"why": why, **factors.note(), "policy": fold.policy.label, "defeats": defeated}
    return json.dumps(note | _stop_after(fold, factors) | more)


def _stop_after(fold: Fold, factors: Factors) -> dict[str, Any]:
    shown, stopped = fold.shown, fold.stopped_on()
    if shown is None or stopped is None:
        return {}
    each = list(factors.items()) * (len(stopped) if fold.settings.positions else 1)
    for (factor, levels), level in zip(each, stopped, strict=False):  # some factor may be new
        if not levels.live[level]:
            on, gone = combination_text(shown), combination_text({factor: levels.names[level]})
            return {"resumed": f"it was stopped on {on} until {gone} was retired"}
    return {"stopped": fold.stopped}


def draft_stop(fold: Fold, draft: Draft, levels: Mapping[str, str], why: str) -> dict[str, str]:
    """Draft a stop on a combination, of factors that are not named on the level that leads; return all names."""
    if isinstance(fold, ListFold):
        return _draft_list_stop(fold, draft, levels, why)
    _check_factors(fold, levels)
    state = verdict_of(fold)
    living = [
        _among(known.names_living(), factor, levels[factor]) if factor in levels else leader
        for (factor, known), leader in zip(fold.factors.items(), state.leaders, strict=True)
    ]
    if not state.leads and len(levels) < len(fold.factors):
        got = "a fault in the program" if fold.evidence.fault else "too few" if fold.learned_since else "none yet"
        do = f"name a level of each factor: stop({{'{next(iter(fold.factors))}': ..., ...}})"
        raise InputError("outcomes that tell which combination leads", got, do)
    shown = fold.numbers_of(living)
    if not fold.evidence.allowed.allows(living):
        got = combination_text(fold.factors.named(shown))
        raise InputError("a combination that may be shown", f"{got}, which is forbidden", "name another, or allow it")
    draft.mark(Kind.STOP, json.dumps({"levels": shown, "why": why}))
    return fold.factors.named(shown)


def _draft_list_stop(fold: ListFold, draft: Draft, levels: Mapping[str, str], why: str) -> dict[str, str]:
    """Draft a stop on a list, the present one unless another is named; return its names by position."""
    names, live = fold.factors.each[0].names, fold.factors.each[0].live
    items, size = present_list(fold), fold.positions
    if levels:
        wanted = [levels[str(at)] for at in range(1, len(levels) + 1) if str(at) in levels]
        if len(wanted) < len(levels) or len(wanted) > size or len(set(wanted)) < len(wanted):
            expected = f"a list of at most {size} different items, by position from 1"
            raise InputError(expected, ", ".join(levels.values()), "try stop(['a', 'b', 'c'])")
        items = [_among(names, ITEM, name) for name in wanted]
        if gone := [names[item] for item in items if not live[item]]:
            raise InputError("items that are not retired", f"'{gone[0]}'", "add it again first")
    draft.mark(Kind.STOP, json.dumps({"levels": items, "why": why}))
    return {str(position): names[item] for position, item in enumerate(items, start=1)}


def _check_factors(fold: Fold, named: Iterable[str]) -> None:
    for factor in named:
        if factor not in fold.factors:
            do = did_you_mean(factor, list(fold.factors), "name one of them")
            raise InputError(f"one of the factors {', '.join(fold.factors)}", f"factor '{factor}'", do)


def draft_resume(fold: Fold, draft: Draft) -> None:
    """Draft the end of a stop."""
    if fold.stopped is None:
        raise InputError("an experiment that is stopped", "one that runs", "no action needed")
    draft.mark(Kind.ERA, era_note(fold, "resumed", stopped=None))


def exclusion_fits(
    fold: Fold, *, source: str | None, token: str | None, levels: Mapping[str, str], first: int | None, last: int | None
) -> dict[str, Any]:
    """Return which outcomes are excluded, as the journal keeps it; `first` and `last` are the numbers of decisions."""
    _check_factors(fold, levels)
    if levels and fold.settings.positions:
        do = "exclude a source, a token or a time, or retire the item"
        raise InputError("outcomes of a ranking by source, token or time", combination_text(levels), do)
    numbers = {
        str(index): _among(known.names, factor, levels[factor])
        for index, (factor, known) in enumerate(fold.factors.items())
        if factor in levels
    }
    fits = {"source": source, "token": token, "first": first, "last": last, "levels": numbers or None}
    return {what: value for what, value in fits.items() if value is not None}


def check_exclusion(fold: Fold, fits: Mapping[str, Any], prior: bool) -> None:
    """Refuse an exclusion of nothing."""
    if prior and not fold.prior.any():
        raise InputError("an experiment that began with past counts", "one that did not", "leave prior out")
    if not fits and not prior:
        do = "name a source, a token, levels or a time (since, until)"
        raise InputError("something that tells which outcomes to exclude", "nothing", do)


def draft_no_prior(fold: Fold, draft: Draft, why: str) -> int:
    """Draft that past counts are forgotten, and nothing else; return how many outcomes that takes out: none."""
    draft.mark(Kind.ERA, era_note(fold, why, forget=True, prior=False))
    return 0


def draft_exclusion(
    fold: Fold, draft: Draft, fits: Mapping[str, Any], *, why: str, prior: bool = False, wanted: int | None = None
) -> tuple[int, str]:
    """Draft the exclusion of outcomes that fit everything given, and voids of those that are held.

    `wanted` is the event with which somebody wanted it, if there is one. Return how many are held, and the note of the
    exclusion.
    """
    if fold.archived:
        fits = {**fits, "after": fold.archived}
    # Told, but their windows are still open: they will not be learned either.
    exclusion = Exclusion(2**62, **fits)
    held = [number for number in fold.held if held_fits(fold, number, exclusion)]
    draft_voids(fold, draft, held)
    if "source" not in fits and "token" not in fits:
        # Nor those of a level that nobody has told yet: silence would count against it.
        draft_voids(fold, draft, _open_of(fold, exclusion))
    more: dict[str, Any] = {"prior": False} if prior else {}
    more |= {} if wanted is None else {"wanted": wanted, "held": len(held)}
    note = era_note(fold, why, forget=True, exclude=fits, asked=fold.decisions, **more)
    draft.mark(Kind.ERA, note)
    return len(held), note


def _open_of(fold: Fold, exclusion: Exclusion) -> list[int]:
    """Return the open decisions, without an outcome that is held, of the levels that an exclusion names."""
    named = exclusion.of_factors()
    each = {number: unpack_shown(opened.shown, len(fold.factors)) for number, opened in fold.open.items() if named}
    return [
        number
        for number, levels in each.items()
        if exclusion.first <= number <= exclusion.last
        and number not in fold.held
        and all(levels[factor] == level for factor, level in named.items())
    ]


def held_fits(fold: Fold, decision: int, exclusion: Exclusion) -> bool:
    """Return whether the outcome of a decision, held until its window ends, is excluded."""
    opened, held = fold.open[decision], fold.held[decision]
    head = (exclusion.after + 1, 0, 0, decision, opened.tag, 0)  # still open
    texts = Texts(source=held.source, token=held.token, shown=opened.shown)
    asked = {decision} if opened.token is not None and opened.token == exclusion.token else set()
    return exclusion.fits(head, texts, asked)


def open_for(fold: Fold, age: int, now: int, among: Iterable[int] | None = None) -> list[int]:
    """Return the decisions that have been open for `age` or longer, but for those whose window is over."""
    longest = fold.settings.outcomes.window_micros or 2**62
    still = fold.open if among is None else [number for number in among if number in fold.open]
    return [number for number in still if age <= now - fold.open[number].at < longest]


def draft_voids(fold: Fold, draft: Draft, numbers: Iterable[int]) -> None:
    """Draft the end of open decisions, of which nothing is learned."""
    for number in numbers:
        opened = fold.open[number]
        draft.add(Kind.VOID, number, opened.tag, BY_OPERATOR, Texts(shown=opened.shown))


def draft_level(fold: Fold, draft: Draft, factor: str, name: str, add: bool) -> int:
    """Draft a level of a factor more or less; return its number."""
    _check_factors(fold, [factor])
    factors = copy.deepcopy(fold.factors)
    positions, held = fold.settings.positions, fold.control or {}
    if not add and (name in held.values() if positions else held.get(factor) == name):
        expected = f"a level of '{factor}' that is not the control's"
        raise InputError(expected, name, "the control keeps its share; retire another")
    number = _changed(factors[factor], factor, name, add)
    if positions and not positions <= sum(factors[factor].live) <= MAX_LISTED:
        got = f"{sum(factors[factor].live)} with '{name}' {'added' if add else 'gone'}"
        do = "retire some" if add else "add others first"
        raise InputError(f"from {positions} to {MAX_LISTED:,} items", got, do)
    checked_combinations(factors.sizes)
    _check_all_shown(factors, whole_rules(fold.forbidden, factors), f"'{name}' {'back' if add else 'gone'}")
    why = f"{combination_text({factor: name})} {'added' if add else 'retired'}"
    draft.mark(Kind.ERA, era_note(fold, why, factors))
    return number


def draft_forbidden(fold: Fold, draft: Draft, levels: Mapping[str, str], forbid: bool) -> None:
    """Draft that a combination of some levels is never shown any more, or that it is again."""
    _check_factors(fold, levels)
    known = fold.factors.items()
    rule = [_among(each.names, factor, levels[factor]) if factor in levels else -1 for factor, each in known]
    before = whole_rules(fold.forbidden, fold.factors)
    text = combination_text(levels)
    if forbid:
        _check_forbidden(fold, levels, rule, before)
    elif rule not in before:
        rules = "; ".join(map(combination_text, rule_names(fold.forbidden, fold.factors))) or "nothing so far"
        raise InputError(f"what is forbidden: {rules}", text, "allow one of these")
    after = [*before, rule] if forbid else [each for each in before if each != rule]
    draft.mark(Kind.ERA, era_note(fold, f"{text} {'forbidden' if forbid else 'allowed again'}", forbidden=after))


def _check_forbidden(fold: Fold, levels: Mapping[str, str], rule: list[int], before: list[list[int]]) -> None:
    """Refuse a rule that says nothing, or that leaves a level without anything to be shown with."""
    if len(levels) < 2:
        do = "to take one level out of the race, use retire_level"
        raise InputError("levels of two factors or more to forbid together", combination_text(levels) or "none", do)
    if rule in before:
        raise InputError("what is not forbidden yet", combination_text(levels), "no action needed")
    if not (fold.policy.supports_forbidden or fold.policy.decides_away):
        got = f"{fold.policy.label}, which does not"
        raise InputError("a policy that can be told what is forbidden", got, "make an experiment with uts")
    for what, kept in (("the control", fold.control), ("what every visitor sees", fold.shown)):
        if kept and all(kept[factor] == name for factor, name in levels.items()):
            raise InputError(f"to forbid something else than {what}", combination_text(levels), "forbid another")
    _check_all_shown(fold.factors, [*before, rule], combination_text(levels))


def _check_all_shown(factors: Factors, rules: list[list[int]], change: str) -> None:
    """Refuse a change after which rules leave a living level without anything to be shown with."""
    checked_combinations([size for size, *own in zip(factors.sizes, *rules, strict=True) if any(x >= 0 for x in own)])
    living = factors.living()
    alone = Allowed(living_rules(rules, factors), [len(each) for each in living]).without_company()
    if alone is not None:
        factor = list(factors)[alone[0]]
        got = f"{change}, which leaves {combination_text({factor: factors[factor].names_living()[alone[1]]})} nothing"
        raise InputError("to leave every level something to be shown with", got, "retire that level, or forbid less")


def draft_factor(fold: Fold, draft: Draft, factor: str, levels: Any) -> None:
    """Draft one factor more; all decisions so far had its first level."""
    if fold.settings.positions:
        raise InputError("an experiment on factors", "a ranking", "add items to it")
    checked_name(factor, "factor name")
    names = checked_levels(levels, factor)
    if factor in fold.factors:
        do = "add levels to it with add_level, or give the new one another name"
        raise InputError("the name of a factor that is not there yet", factor, do)
    if len(fold.factors) == MAX_FACTORS:
        raise InputError(f"at most {MAX_FACTORS} factors", f"'{factor}', one more", "begin a new experiment")
    factors = Factors(copy.deepcopy(fold.factors) | Factors.new({factor: names}))
    checked_combinations(factors.sizes)
    fold.policy.check_kind("combination", factors.sizes, f"an experiment with {len(factors)} factors")
    why = f"factor '{factor}' added, until then '{names[0]}'"
    draft.mark(Kind.ERA, era_note(fold, why, factors))


def draft_context(fold: Fold, draft: Draft, context: Mapping[str, Any]) -> None:
    """Draft which attributes of visitors are told apart from now on."""
    declared = tuple(context.items())
    if fold.policy.by_features:
        do = "begin a new experiment: the policy has learned with these attributes"
        raise InputError(f"the attributes with which {fold.policy.label} began", declaration_text(declared), do)
    if declared == fold.segments.declared:
        raise InputError("attributes that are not declared yet", declaration_text(declared), "no action needed")
    why = f"context declared: {declaration_text(declared)}"
    draft.mark(Kind.ERA, era_note(fold, why, segments=declared))


def _among(names: Sequence[str], factor: str, name: str) -> int:
    if name not in names:
        do = did_you_mean(name, names, f"choose one of {', '.join(names)}")
        raise InputError(f"No such level of '{factor}':", f"'{name}'", do)
    return names.index(name)


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
