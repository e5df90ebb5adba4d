"""Decisions as askers see them and as the planner finds them again by their ids; what askers of lists restrict."""

import dataclasses
import hashlib
import hmac
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from rankone.errors import InputError
from rankone.live.fold.fold import Fold
from rankone.live.journal.events import BY_ASKER, DECISION, KIND, TAG, Events, Kind, Texts
from rankone.live.journal.packing import unpack_chances, unpack_shown
from rankone.live.lists import limits_of, names_at, restriction
from rankone.live.messages import Ask, AskedBefore, Decision
from rankone.live.settings import Settings
from rankone.specs import amount, did_you_mean, duration
from rankone.wording.combinations import combination_text
from rankone.wording.lists import listed

_ASK = int(Kind.ASK)


@dataclasses.dataclass(slots=True)
class PromisedDecisions:
    """The answer to an `Ask` until the policy has chosen: so many decisions from this place of the group on."""

    first: int
    count: int
    before: bool = False  # somebody else in the group asked with the same key
    visitor: bool = False  # or for the same visitor

    def of(self, made: list[Decision]) -> list[Decision]:
        """Return them out of the decisions that the group made."""
        result = made[self.first : self.first + self.count]
        return once_more(result, self.visitor) if self.before else result


class KnownDecision(NamedTuple):
    """A decision that was asked before, and what has become of it up to here."""

    number: int
    tag: int
    shown: bytes  # the level of each factor that there was
    cross: bytes | None  # the probabilities of its cross
    open: bool  # before this group
    whole: bool  # the id is the one with which it was made, so it may be voided
    so_far: list[tuple[int, int]]  # (kind, value) of every outcome since
    at: int  # when it was asked
    limits: str | None = None  # of a list, what its request restricted

    def outcome(self) -> tuple[int, int] | None:
        """Return the outcome that it was told, if it was: not what time or an operator made of it.

        Of what is held until a window ends the last one stands.
        """
        result = None
        for kind, value in self.so_far:
            told = kind not in (Kind.LEARN, Kind.EXPIRE) and (kind != Kind.VOID or value == BY_ASKER)
            if told and (result is None or kind == Kind.HOLD):
                result = kind, value
        return result


def once_more(decisions: list[Decision], visitor: bool) -> AskedBefore:
    """Return decisions once more: to who claims to be the visitor, with an id that can tell but not void."""
    if visitor:
        secrets = [_telling(bytes.fromhex(each.id.partition("-")[2])).hex() for each in decisions]
        each_secret = zip(decisions, secrets, strict=True)
        decisions = [dataclasses.replace(each, id=f"{each.number}-{secret}") for each, secret in each_secret]
    return AskedBefore(decisions)


def _telling(secret: bytes) -> bytes:
    """Return what proves that somebody may tell a decision's outcome; nobody can work out its secret from it."""
    return hashlib.blake2b(secret, digest_size=16, person=b"rankone tell").digest()


def knows(secret: bytes, given: bytes) -> bool:
    """Return whether somebody has a decision's secret, or what was given out instead."""
    return hmac.compare_digest(secret, given) or hmac.compare_digest(_telling(secret), given)


def decision_of(fold: Fold, event: Sequence[Any], texts: Texts) -> Decision:
    """Return the decision of an event ASK, as its asker sees it; of a list its levels are those of each position."""
    shown, secret = texts.shown or b"", texts.secret or b""
    facts = f"{event[DECISION]}-{secret.hex()}", event[DECISION], event[TAG] < 0
    if not fold.settings.positions:
        return Decision(facts[0], fold.factors.named(unpack_shown(shown, len(fold.factors))), *facts[1:])
    items = items_of(fold, shown, limits_of(texts))
    levels = {str(position): item for position, item in enumerate(items, start=1)}
    return Decision(facts[0], levels, *facts[1:], items, unpack_chances(texts.cross_chances))


def items_of(fold: Fold, shown: bytes, limits: str | None) -> tuple[str, ...]:
    """Return the names of the items of a list."""
    pinned = json.loads(limits).get("pinned", {}) if limits else {}
    return names_at(unpack_shown(shown), fold.factors.each[0].names, pinned)


def decisions_of(fold: Fold, events: Events) -> list[Decision]:
    """Return the decisions among events that were just applied."""
    return [
        decision_of(fold, numbers, texts)
        for numbers, texts in zip(events.heads, events.texts, strict=True)
        if numbers[KIND] == _ASK
    ]


def retired_note(fold: Fold, decision: KnownDecision) -> str | None:
    """Say which levels of a decision were retired since it was made; None: all of them live."""
    factors, live = fold.factors, fold.live
    if not any(len(numbers) < size for numbers, size in zip(live, factors.sizes, strict=True)):
        return None
    levels = unpack_shown(decision.shown, len(factors))
    each = list(factors.items()) * (len(levels) if fold.settings.positions else 1)
    gone = [
        (factor, own.names[level])
        for (factor, own), level in zip(each, levels, strict=True)
        if level < len(own.live) and not own.live[level]
    ]
    if not gone:
        return None
    was, it = ("was", "it") if len(gone) == 1 else ("were", "them")
    named = listed([combination_text({factor: name}) for factor, name in gone])
    said = f"{named} {was} retired after this was shown: nobody is shown {it} any more"
    return f"{said}, and this outcome counts all the same"


def request_text(count: int, source: Any, said: Any, known: Any) -> str:
    """Return an ask in words."""
    whose, limits = known
    about = [f"source '{source}'"] * (source is not None) + [f"context {said}"] * (said is not None)
    about += [f"visitor {whose[:6]}..."] if whose else []
    about += [f"a list with {listed(list(limits))}"] if limits else []
    return ", ".join([amount(count, "decision"), *about])


def advice(settings: Settings) -> str:
    """Return what to do where too many decisions are open."""
    if settings.outcomes.window:
        window = duration(settings.outcomes.window)
        return f"wait, since windows of {window} end them, or cancel old ones with void_open()"
    age = duration(settings.outcomes.max_age)
    do = "report or cancel open decisions, or cancel old ones with void_open()"
    return f"{do}; after {age} they make room automatically"


def list_limits(fold: Fold, request: Ask) -> dict[str, Any]:
    """Return the part of a note that says what a request restricts, nothing if it restricts nothing.

    Items that were retired are no candidates any more, whoever still names them. What is pinned need not be an item.
    Where a pin is deeper than the list is long, it is the last one.
    """
    said = restriction(request.candidates, request.pinned, request.exclude)
    positions = fold.settings.positions
    if not positions:
        if said:
            raise InputError("candidates, pinned and exclude of a ranking", "an experiment", "leave them out")
        return {}
    if not said:
        return {}
    items = fold.factors.each[0]
    numbers = {what: _numbers(items.names, said[what], what) for what in ("candidates", "exclude") if what in said}
    pinned = {int(at): name for at, name in said.get("pinned", {}).items()}
    if pinned and max(pinned) > positions:
        expected = f"a pinned position from 1 to {positions}, the length of the list"
        raise InputError(expected, max(pinned), "pin it further up")
    allowed = {number for number, live in enumerate(items.live) if live and items.names[number] not in pinned.values()}
    allowed -= set(numbers.get("exclude", ()))
    allowed &= set(numbers.get("candidates", allowed))
    size = min(positions, len(allowed) + len(pinned))
    if not size:
        raise InputError("at least one item that may be shown", "none", "name more candidates, or exclude fewer")
    deep = sorted((at for at in pinned if at > size), reverse=True)
    free = [at for at in range(size, 0, -1) if at not in pinned]
    moved = dict(zip(deep, free, strict=False))
    places = {str(moved.get(at, at)): name for at, name in pinned.items()}
    stands = {"pinned": dict(sorted(places.items(), key=lambda each: int(each[0])))} if places else {}
    return {"list": numbers | stands}


def _numbers(names: list[str], given: list[str], what: str) -> list[int]:
    known = {name: number for number, name in enumerate(names)}
    for name in given:
        if name not in known:
            expected = f"items of the ranking to {'choose from' if what == 'candidates' else what}"
            raise InputError(expected, f"'{name}'", did_you_mean(name, names, "add it first, or leave it out"))
    return sorted(known[name] for name in given)
