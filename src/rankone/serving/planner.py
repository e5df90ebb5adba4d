"""The rules of asking and telling: which events a request adds to the journal, and how it is answered.

* A reward is rounded to a click with probability reward / cap, by a number that only the experiment's seed and the
  decision settle: told again it is rounded the same way. The journal keeps the click, and the reward in a note; another
  reward told later is a contradiction, however both are rounded.
* An outcome counts once. The same again is answered the same; a contradiction and an unknown id are errors.
* Without a window, outcomes are learned when they are told. With a window, silence means "not clicked" when it ends;
  what is told before is held until then (learning clicks early and silence late would bias every estimate), and what
  is told after is recorded as late, not learned.
* Where too many decisions are open, those that have been for long are voided to make room for new ones; what is told of
  them later is late too. Nothing is voided for its age while there is room.
* The journal's time never runs backwards and never stands still (`rankone.serving.clock`), so windows end in the order
  they began and each ends once.
"""

from __future__ import annotations

import dataclasses
import functools
import hmac
import itertools
import json
import re
import secrets
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rankone.errors import Contradiction, InputError, KeyReused, TooManyOpen, UnknownDecision
from rankone.numerics.seeds import generator
from rankone.serving.clock import JournalTime
from rankone.serving.fold import Fold
from rankone.serving.journal import (
    BY_AGE,
    BY_ASKER,
    CLOSING,
    DECISION,
    KIND,
    NO_TEXTS,
    NUMBERS,
    OUTCOMES,
    ROW,
    TAG,
    TEXTS,
    VALUE,
    Draft,
    Events,
    Kind,
    Texts,
)
from rankone.serving.messages import Answer, Ask, AskedBefore, Decision, Outcome, Request, Tell, Void
from rankone.serving.names import level_text
from rankone.serving.packing import unpack_shown
from rankone.serving.segment_names import check_attributes
from rankone.serving.settings import Settings
from rankone.serving.storage import Storage
from rankone.specs import amount, duration

_ID = re.compile(r"(0|[1-9][0-9]{0,17})-([0-9a-f]{32})")
_ASK = int(Kind.ASK)
_SECRET = len(NUMBERS)
_SOURCE, _NOTE, _SHOWN = (len(NUMBERS) + TEXTS.index(name) for name in ("source", "note", "shown"))


@dataclasses.dataclass(slots=True)
class PromisedDecisions:
    """The answer to an `Ask` until the policy has chosen: so many decisions from this place of the group on."""

    first: int
    count: int
    before: bool = False  # somebody else in the group asked with the same key

    def of(self, made: list[Decision]) -> list[Decision]:
        """Return them out of the decisions that the group made."""
        found = made[self.first : self.first + self.count]
        return AskedBefore(found) if self.before else found


class KnownDecision(NamedTuple):
    """A decision that was asked before, and what has become of it up to here."""

    number: int
    pair: Sequence[int]  # row, column and tag
    shown: bytes | None  # all levels, where they are more than two
    open: bool  # before this group
    so_far: list[tuple[int, int]]  # (kind, value) of every event since

    def told(self) -> tuple[int, int] | None:
        """Return the outcome that it was told, if it was: not what time or an operator made of it."""
        for kind, value in self.so_far:
            if kind not in (Kind.LEARN, Kind.EXPIRE) and (kind != Kind.VOID or value == BY_ASKER):
                return kind, value
        return None


class Planner:
    """Turns requests that wait together into events; the answers are given once the events are applied and stored.

    Planning only reads the fold: what is drafted here is known to it when it is applied, and not before.
    """

    def __init__(self, fold: Fold, storage: Storage, experiment: int, time: JournalTime) -> None:
        self._fold, self._storage, self._experiment = fold, storage, experiment
        self.draft = Draft(fold.seq, time.now())
        news = time.news(fold.clock_ahead)
        if news is not None:
            self.draft.add(Kind.CLOCK, -1, value=news)
        self._new: dict[int, list[tuple[int, int]]] = {}  # outcomes drafted here: decision -> [(kind, value)]
        self._keys: dict[str, tuple[int, int, str | None]] = {}  # keys drafted here -> (first place, count, source)
        self._rewards: dict[int, float | None] = {}  # of outcomes drafted here
        self._attributes = fold.segments.attributes
        self._asked = self._closed = 0
        self._old, self._aging = deque[int](), self._each_old()  # decisions that may make room: found, to be found
        self._end_windows()

    def plan(self, requests: Sequence[Request]) -> list[Answer | PromisedDecisions]:
        """Draft what requests ask for; return for each its answer, or the promise of it."""
        planned: list[Any] = list(requests)
        asks = [place for place, request in enumerate(requests) if isinstance(request, Ask)]
        outcomes = [place for place, request in enumerate(requests) if not isinstance(request, Ask)]
        for places, carry_out in ((outcomes, self._outcome), (asks, self._ask)):  # so that what is known by now is used
            for place in places:
                try:
                    planned[place] = carry_out(planned[place])
                except InputError as error:  # any other error is the whole group's
                    planned[place] = error
        return planned

    def _outcome(self, request: Tell | Void) -> Outcome:
        """Draft the event of an outcome; return the answer, or raise why there is none."""
        decision = self._find(request.id)
        clicked = None if isinstance(request, Void) else self._clicked(request, decision.number)
        told = decision.told()
        if told is None:
            return self._first(request, decision, clicked)
        kind, value = told
        before = None if kind == Kind.VOID else bool(value)
        if before != clicked:
            said = {None: "void", True: "clicked", False: "not clicked"}
            raise Contradiction(
                f"'{said[before]}' again, or nothing", said[clicked], "tell each decision once; the first outcome stays"
            )
        if isinstance(request, Tell) and request.reward is not None:
            self._same_reward(request.reward, decision.number)
        return Outcome(request.id, before, *_STATUS[Kind(kind)], repeated=True)

    def _same_reward(self, reward: float, number: int) -> None:
        """Refuse a reward that is not the one told before."""
        before = self._rewards.get(number)
        if number not in self._rewards:
            events = self._storage.of_decision(self._experiment, number)
            notes = [json.loads(event[_NOTE]) for event in events if event[KIND] in OUTCOMES and event[_NOTE]]
            before = next((note["reward"] for note in notes if "reward" in note), None)
        if before != reward:
            expected = (
                "no reward, as a click was told" if before is None else f"a reward of {before:g} again, or nothing"
            )
            raise Contradiction(expected, f"{reward:g}", "tell each decision once; the first outcome stays")

    def _clicked(self, request: Tell, number: int) -> bool:
        """Return whether a decision counts as clicked: as told, or its reward rounded, the same way every time."""
        if request.reward is None:
            return bool(request.clicked)
        cap = self._fold.settings.reward_cap
        if not cap:
            do = "tell clicked=True or False, or make the experiment with reward_cap="
            raise InputError("clicked, as the experiment has no reward_cap", f"a reward of {request.reward:g}", do)
        if request.reward > cap:
            do = "tell at most the cap: cut larger rewards off at it"
            raise InputError(f"a reward from 0 to {cap:g}, the experiment's reward_cap", request.reward, do)
        chance = generator(self._fold.settings.seed, "reward", number).random()
        return bool(chance * cap < request.reward)

    def _ask(self, request: Ask) -> PromisedDecisions | list[Decision]:
        """Draft decisions; return the promise of them, or the decisions that the same key got before."""
        if request.key is not None:
            before = self._asked_before(request)
            if before is not None:
                return before
        segment = request.segment
        if segment is not None:
            check_attributes(segment, self._attributes)
        fold, first = self._fold, self._asked
        waiting, most = len(fold.open) + self._asked - self._closed + request.count, fold.settings.max_open
        if waiting > most and not self._make_room(waiting - most):
            raise TooManyOpen(f"at most {most} open decisions", waiting, _advice(fold.settings))
        self._attributes = self._attributes if segment is None else segment.attributes
        said = None if segment is None else segment.text
        noise = secrets.token_bytes(16 * request.count)
        for place in range(request.count):
            secret, key = noise[16 * place : 16 * place + 16], None if place else request.key
            texts = Texts(secret, key, request.source, context=said, token=request.token)
            number = fold.decisions + first + place
            self.draft.add(Kind.ASK, number, value=0 if place else request.count, texts=texts)
        self._asked += request.count
        if request.key is not None:
            self._keys[request.key] = first, request.count, request.source
        return PromisedDecisions(first, request.count)

    def _make_room(self, needed: int) -> bool:
        """Void so many decisions for their age, oldest first; return False, and void none, if fewer are old."""
        self._old.extend(itertools.islice(self._aging, max(0, needed - len(self._old))))
        if len(self._old) < needed:
            return False
        for _ in range(needed):
            number = self._old.popleft()
            opened = self._fold.open[number]
            self._add(Kind.VOID, number, opened.pair, BY_AGE, NO_TEXTS.of_shown(opened.shown))
        return True

    def _each_old(self) -> Iterator[int]:
        """Yield the decisions open for `max_age` or longer, oldest first; none with a window, which ends them."""
        settings = self._fold.settings
        for number, opened in self._fold.open.items():
            if settings.window or opened.at + settings.max_age > self.draft.at:
                return
            if number not in self._new:
                yield number

    def _add(self, kind: Kind, number: int, pair: Sequence[int], value: int, texts: Texts = NO_TEXTS) -> None:
        """Draft an event of a decision that was asked before."""
        self.draft.add(kind, number, pair, value, texts)
        self._new.setdefault(number, []).append((kind, value))
        self._closed += kind in CLOSING

    def _end_windows(self) -> None:
        """Draft the end of every window that is over: held outcomes are learned, silence is no click."""
        fold, window = self._fold, self._fold.settings.window
        for number in fold.due:
            opened = fold.open.get(number)
            if opened is None:  # closed before its window ended
                continue
            if opened.at + window > self.draft.at:
                break
            held = fold.held.get(number)
            if held is None:
                self._add(Kind.EXPIRE, number, opened.pair, 0, NO_TEXTS.of_shown(opened.shown))
            else:
                texts = _texts(held.source, held.token).of_shown(opened.shown)
                self._add(Kind.LEARN, number, opened.pair, held.clicked, texts)

    def _find(self, id: str) -> KnownDecision:
        """Find a decision by its id, or raise that there is none."""
        match = _ID.fullmatch(id) if isinstance(id, str) else None
        if match is not None:
            number, secret = int(match[1]), bytes.fromhex(match[2])
            opened = self._fold.open.get(number)
            if opened is not None:
                if hmac.compare_digest(opened.secret, secret):
                    held = self._fold.held.get(number)
                    so_far = [] if held is None else [(int(Kind.HOLD), held.clicked)]
                    return KnownDecision(number, opened.pair, opened.shown, True, so_far + self._new.get(number, []))
            elif number < self._fold.decisions:
                events = self._storage.of_decision(self._experiment, number)
                if self._fold.archives and not (events and events[0][KIND] == _ASK):
                    do = "nothing is to be done: what became of it is in its archive"
                    raise UnknownDecision("a decision that is not archived yet", id, do)
                if events and hmac.compare_digest(events[0][_SECRET] or b"", secret):
                    so_far = [(event[KIND], event[VALUE]) for event in events if event[KIND] in OUTCOMES]
                    pair, shown = events[0][ROW : TAG + 1], events[0][_SHOWN]
                    return KnownDecision(number, pair, shown, False, so_far + self._new.get(number, []))
        raise UnknownDecision("the id of a decision that ask() returned", id, "tell the experiment that was asked")

    def _first(self, request: Tell | Void, decision: KnownDecision, clicked: bool | None) -> Outcome:
        """Draft the first outcome told of a decision."""
        ended = not decision.open or decision.number in self._new
        if isinstance(request, Void):
            if not decision.open and any(kind == Kind.VOID for kind, _ in decision.so_far):  # for its age, for example
                return Outcome(request.id, None, *_STATUS[Kind.VOID], repeated=True)
            if ended:
                raise Contradiction(
                    "a decision still open", "one whose window has ended", "void decisions within the window"
                )
            kind, texts = Kind.VOID, _texts(None, request.token)
        else:
            kind, texts = Kind.TELL, _texts(request.source, request.token)
            self._rewards[decision.number] = request.reward
            if request.reward is not None:  # what was told, beside the click that it was rounded to
                texts = texts._replace(note=json.dumps({"reward": request.reward}))
            if ended:
                kind = Kind.LATE
            elif self._fold.settings.window:
                kind = Kind.HOLD
        self._add(kind, decision.number, decision.pair, int(bool(clicked)), texts.of_shown(decision.shown))
        note = self._retired(decision) if kind in (Kind.TELL, Kind.HOLD) else None
        return Outcome(request.id, clicked, *_STATUS[kind], note=note)

    def _retired(self, decision: KnownDecision) -> str | None:
        """Say which levels of a decision were retired since it was made; None: all of them live."""
        factors, live = self._fold.factors, self._fold.live
        if not any(len(numbers) < size for numbers, size in zip(live, factors.sizes, strict=True)):
            return None
        levels = levels_of(decision.pair, decision.shown, len(factors))
        gone = {
            factor: own.names[level]
            for (factor, own), level in zip(factors.items(), levels, strict=True)
            if not own.live[level]
        }
        if not gone:
            return None
        some = " and ".join(level_text(factor, name) for factor, name in gone.items())
        was, it = ("was", "it") if len(gone) == 1 else ("were", "them")
        said = f"{some} {was} retired after this was shown: nobody is shown {it} any more"
        return f"{said}, and this outcome counts all the same"

    def _asked_before(self, request: Ask) -> PromisedDecisions | list[Decision] | None:
        key = request.key or ""
        if key in self._keys:
            first, count, source = self._keys[key]
        else:
            found = self._storage.of_key(self._experiment, key)
            if not found:
                return None
            first, count, source = found[0][DECISION], found[0][VALUE], found[0][_SOURCE]
        if (count, source) != (request.count, request.source):
            before = f"key '{key}' for {amount(count, 'decision')} of source {source!r}, as before"
            now = f"{request.count} of source {request.source!r}"
            raise KeyReused(before, now, "use a new key for a new request")
        if key in self._keys:
            return PromisedDecisions(first, count, before=True)
        numbers = range(first, first + count)
        firsts = [event for number in numbers for event in self._storage.of_decision(self._experiment, number)[:1]]
        events = [event for event in firsts if event[KIND] == _ASK]
        if len(events) < count:
            got = f"key '{key}', of whose {amount(count, 'decision')} some are archived"
            raise KeyReused("a key whose decisions are all there", got, "use a new key for a new request")
        return AskedBefore(decision_of(self._fold, event, event[_SECRET], event[_SHOWN]) for event in events)


@functools.lru_cache(1000)
def _texts(source: str | None, token: str | None) -> Texts:
    """Return the texts of an outcome: whoever told it may have named neither. Those of one caller share them."""
    return Texts(source=source, token=token) if source or token else NO_TEXTS


def _advice(settings: Settings) -> str:
    """Return what to do where too many decisions are open."""
    if settings.window:
        return f"wait, since windows of {duration(settings.window / 1e6)} end them, or void old ones with void_open()"
    age = duration(settings.max_age / 1e6)
    return f"tell or void open decisions, or void old ones with void_open(); after {age} they make room by themselves"


_STATUS = {
    Kind.TELL: ("learned", True),
    Kind.LEARN: ("learned", True),
    Kind.HOLD: ("held", False),
    Kind.LATE: ("late", False),
    Kind.VOID: ("void", False),
}


def levels_of(pair: Sequence[int], shown: bytes | None, n_factors: int) -> list[int]:
    """Return the level of each factor of a decision: of factors that came later, the first."""
    known = list(pair[: min(2, n_factors)]) if shown is None else unpack_shown(shown)
    return [*known, *[0] * (n_factors - len(known))]


def decision_of(fold: Fold, event: Sequence[Any], secret: bytes, shown: bytes | None) -> Decision:
    """Return the decision of an event ASK, as its asker sees it."""
    number, row, col, tag = event[DECISION : TAG + 1]
    id, n_factors = f"{number}-{secret.hex()}", len(fold.factors)
    if n_factors == 2:
        (first, rows), (second, cols) = fold.factors.items()
        row_name, col_name = rows.names[row], cols.names[col]
        return Decision(id, row, col, row_name, col_name, number, tag < 0, {first: row_name, second: col_name})
    levels = fold.factors.named(levels_of((row, col), shown, n_factors))
    return Decision(id, None, None, None, None, number, tag < 0, levels)


def decisions_of(fold: Fold, events: Events) -> list[Decision]:
    """Return the decisions among events that were just applied."""
    return [
        decision_of(fold, numbers, texts.secret or b"", texts.shown)
        for numbers, texts in zip(events.numbers.tolist(), events.texts, strict=True)
        if numbers[KIND] == _ASK
    ]
