"""The rules of asking and telling: which events a request adds to the journal, and how it is answered.

* Outcomes of goals other than a click are in `rankone.live.commit.goal_requests`.
* A key is of one request, and of the token that sent it: another request with it is an error. A visitor of a token gets
  the same decision again until there is something new to choose from: other levels, fewer outcomes, a stop. Whoever
  claims to be that visitor gets an id that can tell the outcome and not void the decision. Where the policy chooses for
  each visitor, every ask names one and gets a new decision.
* An outcome counts once. The same again is answered the same; a contradiction and an unknown id are errors.
* Without a window, outcomes are learned when they are told. With a window, silence means "not clicked" when it ends;
  what is told before is held until then (learning clicks early and silence late would bias every estimate), and what
  is told after is recorded as late, not learned.
* Where too many decisions are open, those that have been for long are voided to make room for new ones; what is told of
  them later is late too. Nothing is voided for its age while there is room.
* The journal's time never runs backwards and never stands still (`rankone.live.journal.clock`), so windows end in the
  order they began and each ends once.
"""

import functools
import itertools
import json
import re
import secrets
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from rankone.errors import Contradiction, InputError, KeyReused, TooManyOpen, UnknownDecision
from rankone.live.commit.decisions import (
    KnownDecision,
    PromisedDecisions,
    advice,
    decision_of,
    items_of,
    knows,
    list_limits,
    once_more,
    request_text,
    retired_note,
)
from rankone.live.commit.goal_requests import BESIDE, ONCE, GoalRequests, visitor_hash, visitor_key
from rankone.live.fold.fold import Fold
from rankone.live.journal.clock import JournalTime
from rankone.live.journal.events import (
    AT,
    BY_AGE,
    BY_SILENCE,
    CLOSING,
    DECISION,
    KIND,
    NUMBERS,
    OUTCOMES,
    TAG,
    TEXTS,
    VALUE,
    Draft,
    Kind,
    Texts,
    as_texts,
)
from rankone.live.lists import CLICKED, VOID, clicked_positions, limits_of, together, told_in
from rankone.live.messages import Answer, Ask, Decision, Outcome, Request, Tell, Track, Void
from rankone.live.setting_kinds import micros
from rankone.live.storage import Storage
from rankone.live.visitor_attributes import VisitorContext, declared_part, settled_by
from rankone.specs import amount

_ID = re.compile(r"(0|[1-9][0-9]{0,17})-([0-9a-f]{32})")
_ASK = int(Kind.ASK)
_SECRET = len(NUMBERS)
_SOURCE, _NOTE, _SHOWN, _CONTEXT, _CROSS = (
    len(NUMBERS) + TEXTS.index(name) for name in ("source", "note", "shown", "context", "cross_chances")
)
_ASKED = DECISION, VALUE, _SOURCE, _CONTEXT, _NOTE
_NEW_KEY = "use a new key for a new request"
_STATUS = {
    Kind.TELL: ("learned", True),
    Kind.LEARN: ("learned", True),
    Kind.HOLD: ("held", False),
    Kind.LATE: ("late", False),
    Kind.VOID: ("void", False),
}


class Planner:
    """Turns requests that wait together into events; the answers are given once the events are applied and stored.

    Planning only reads the fold: what is drafted here is known to it when it is applied, and not before.
    """

    def __init__(self, fold: Fold, storage: Storage, experiment: int, time: JournalTime) -> None:
        self._fold, self._ranking = fold, bool(fold.settings.positions)
        # The stored events of a decision, and the one with a key.
        self._of_decision = functools.partial(storage.of_decision, experiment)
        self._of_key = functools.partial(storage.of_key, experiment)
        self._goals = GoalRequests(self, fold, self._of_decision, self._of_key)
        self.draft = Draft(fold.seq, time.now())
        news = time.news(fold.clock_ahead)
        if news is not None:
            self.draft.add(Kind.CLOCK, -1, value=news)
        self.new: dict[int, list[tuple[int, int]]] = {}  # outcomes drafted here: decision -> [(kind, value)]
        # Keys drafted here -> (first place, count, source, context, the visitor and what is restricted of a list).
        self._keys: dict[str, tuple[int, int, str | None, str | None, list[Any]]] = {}
        self._declared = fold.segments.declared
        self._asked = self._closed = 0
        self._old, self._aging = deque[int](), self._each_old()  # decisions that may make room: found, to be found
        self._end_windows()

    def plan(self, requests: Sequence[Request]) -> list[Answer | PromisedDecisions]:
        """Draft what requests ask for; return for each its answer, or the promise of it."""
        planned: list[Any] = list(requests)
        asks = [index for index, request in enumerate(requests) if isinstance(request, Ask)]
        outcomes = [index for index, request in enumerate(requests) if not isinstance(request, Ask)]
        # Outcomes first, so that what is known by now is used.
        for indices, carry_out in ((outcomes, self._outcome), (asks, self._ask)):
            for index in indices:
                try:
                    planned[index] = carry_out(planned[index])
                except InputError as error:  # any other error is the whole group's
                    planned[index] = error
        ends = None if self._fold.goals is None else self._fold.goals.next_end
        if ends is not None and ends <= self.draft.at and not len(self.draft):
            self.draft.add(Kind.CLOCK, -1, value=self._fold.clock_ahead)  # so that windows end
        return planned

    def _outcome(self, request: Tell | Track | Void) -> Outcome:
        """Draft the event of an outcome; return the answer, or raise why there is none."""
        if self._ranking and not isinstance(request, Void) and (isinstance(request, Track) or request.clicked is None):
            do = "tell clicked=[1, 3] with the decision's id"
            raise InputError("the clicked positions of a list", "a value, or a visitor", do)
        if not isinstance(request, Void) and (
            self._fold.goals is not None or isinstance(request, Track) or request.clicked is None
        ):
            return self._goals.outcome(request)
        decision = self.find(request.id)
        if isinstance(request, Void) and not decision.whole:
            do = "report its outcome, or nothing: an earlier view may have shown it"
            raise Contradiction("the id of the first answer, to cancel a decision", "the id of a later answer", do)
        return self.told(request, decision, None if isinstance(request, Void) else self._value(request, decision))

    def _value(self, request: Tell, decision: KnownDecision) -> int:
        if self._ranking:
            items = items_of(self._fold, decision.shown, decision.limits)
            return clicked_positions(request.clicked, request.seen, items).packed
        if isinstance(request.clicked, Sequence) or request.seen is not None:
            do = "tell positions, and how many were seen, to a ranking alone"
            raise InputError("clicked as True or False", request.clicked, do)
        return int(bool(request.clicked))

    def told(self, request: Tell | Track | Void, decision: KnownDecision, value: int | None) -> Outcome:
        """Draft what came of a decision, as the journal keeps it; None: it is void."""
        before = decision.outcome()
        if before is None:
            return self._first(request, decision, value)
        kind, known = before
        value_before = None if kind == Kind.VOID else known
        ended = any(kind in CLOSING for kind, _ in decision.so_far)
        # A list may be reported in parts.
        if self._ranking and kind == Kind.HOLD and isinstance(request, Tell) and value is not None and not ended:
            value = together(known, value)
            if value != known:
                texts = _texts(request.source, request.token, decision.shown)
                self._add(Kind.HOLD, decision.number, decision.tag, value, texts)
            return self._answer(request, value, Kind.HOLD, repeated=value == known)
        if value_before != value:
            expected = f"'{self._said(value_before)}' again, or nothing"
            raise Contradiction(expected, self._said(value), ONCE)
        return self._answer(request, value, Kind(kind), repeated=True)

    def _said(self, value: int | None) -> str:
        if value is None:
            return "void"
        return told_in(value).text if self._ranking else "clicked" if value else "not clicked"

    def _answer(self, request: Any, value: int | None, kind: Kind, **more: Any) -> Outcome:
        if self._ranking and value is not None:
            more |= told_in(value)._asdict()
        return Outcome(request.id, None if value is None else bool(value & CLICKED), *_STATUS[kind], **more)

    def _ask(self, request: Ask) -> PromisedDecisions | list[Decision]:
        """Draft decisions; return the promise of them, or the decisions that the same key got before."""
        if self._fold.policy.decides_away:
            do = "decide by weights(), with rankone.edge.decide, and tell what was shown with ingest()"
            raise InputError("an experiment that decides when it is asked", f"policy '{self._fold.policy.label}'", do)
        context: VisitorContext | None = request.context
        said, stored_key = None if context is None else context.text, self._stored_key(request)
        note: dict[str, Any] = self._whose(request) | list_limits(self._fold, request)
        about = [note.get("visitor"), note.get("list")]
        if stored_key is not None:
            before = self._asked_before(request, stored_key, said, about)
            if before is not None:
                return before
        if context is not None:
            context, ignored = declared_part(context, self._declared, request.undeclared)
            note |= {"ignored": ignored} if ignored else {}
        counts = None if context is None else context.text
        fold, first = self._fold, self._asked
        waiting, most = len(fold.open) + self._asked - self._closed + request.count, fold.settings.outcomes.max_open
        if waiting > most and not self._make_room(waiting - most):
            raise TooManyOpen(f"at most {most} open decisions", waiting, advice(fold.settings))
        if context is not None and self._declared is None:
            self._declared = settled_by(context)
        noise = secrets.token_bytes(16 * request.count)
        for index in range(request.count):
            secret, key = noise[16 * index : 16 * index + 16], None if index else stored_key
            details = note if index or request.key is None or said == counts else note | {"said": said}
            noted = json.dumps(details) if details else None
            texts = Texts(secret, key, request.source, noted, context=counts, token=request.token)
            number = fold.decisions + first + index
            self.draft.add(Kind.ASK, number, value=0 if index else request.count, texts=texts)
        self._asked += request.count
        if stored_key is not None:
            self._keys[stored_key] = first, request.count, request.source, said, about
        return PromisedDecisions(first, request.count)

    def _make_room(self, needed: int) -> bool:
        """Void so many decisions for their age, oldest first; return False, and void none, if fewer are old."""
        self._old.extend(itertools.islice(self._aging, max(0, needed - len(self._old))))
        if len(self._old) < needed:
            return False
        for _ in range(needed):
            number = self._old.popleft()
            opened = self._fold.open[number]
            self._add(Kind.VOID, number, opened.tag, BY_AGE, _texts(None, None, opened.shown))
        return True

    def _each_old(self) -> Iterator[int]:
        """Yield the decisions open for `max_age` or longer, oldest first; none with a window, which ends them."""
        window, age = self._fold.settings.outcomes.window, micros(self._fold.settings.outcomes.max_age)
        for number, opened in self._fold.open.items():
            if window or opened.at + age > self.draft.at:
                return
            if number not in self.new:
                yield number

    def _add(self, kind: Kind, number: int, tag: int, value: int, texts: Texts) -> None:
        self.draft.add(kind, number, tag, value, texts)
        self.new.setdefault(number, []).append((kind, value))
        self._closed += kind in CLOSING

    def _end_windows(self) -> None:
        """Draft the end of every window that is over: held outcomes are learned, silence is no click."""
        fold, window = self._fold, self._fold.settings.outcomes.window_micros
        for number in fold.due:
            opened = fold.open.get(number)
            if opened is None:  # closed before its window ended
                continue
            if opened.at + window > self.draft.at:
                break
            held = fold.held.get(number)
            if held is None and fold.settings.outcomes.silence == VOID:
                self._add(Kind.VOID, number, opened.tag, BY_SILENCE, _texts(None, None, opened.shown))
            elif held is None:
                self._add(Kind.EXPIRE, number, opened.tag, 0, _texts(None, None, opened.shown))
            else:
                texts = _texts(held.source, held.token, opened.shown)
                self._add(Kind.LEARN, number, opened.tag, held.clicked, texts)

    def round_to(self, request: Tell | Track, decision: KnownDecision, clicked: bool, held: bool) -> None:
        """Draft the click to which what a decision brought so far is rounded."""
        before = decision.outcome()
        if before is None or bool(before[1]) != clicked:
            texts = _texts(request.source, request.token, decision.shown)
            self._add(Kind.HOLD if held else Kind.TELL, decision.number, decision.tag, int(clicked), texts)

    def find(self, id: str) -> KnownDecision:
        """Find a decision by its id, or raise that there is none."""
        match = _ID.fullmatch(id) if isinstance(id, str) else None
        known = self.known(int(match[1]), bytes.fromhex(match[2]), id) if match is not None else None
        if known is None:
            do = "tell the experiment that was asked"
            raise UnknownDecision("the id of a decision that ask() returned", id, do)
        return known

    def known(self, number: int, secret: bytes | None = None, id: str = "") -> KnownDecision | None:
        """Return a decision by its number and what proves that one may tell it (None: that is known); None: neither."""
        opened, held = self._fold.open.get(number), self._fold.held.get(number)
        if opened is not None:
            tag, at, own, shown, cross = opened.tag, opened.at, opened.secret, opened.shown, opened.cross
            so_far, limits = [] if held is None else [(int(Kind.HOLD), held.clicked)], opened.context
        else:
            events = self._of_decision(number) if number < self._fold.decisions else []
            if self._fold.archives and number < self._fold.decisions and not (events and events[0][KIND] == _ASK):
                do = "no action needed: what became of it is in its archive"
                raise UnknownDecision("a decision that is not archived yet", id, do)
            if not events:
                return None
            own, tag, at, shown, cross = (events[0][column] for column in (_SECRET, TAG, AT, _SHOWN, _CROSS))
            so_far = [(event[KIND], event[VALUE]) for event in events if event[KIND] in OUTCOMES]
            limits = limits_of(as_texts(events[0])) if self._ranking else None
        if secret is not None and not knows(own or b"", secret):
            return None
        so_far += self.new.get(number, [])
        return KnownDecision(number, tag, bytes(shown), cross, opened is not None, own == secret, so_far, at, limits)

    def _first(self, request: Tell | Track | Void, decision: KnownDecision, value: int | None) -> Outcome:
        ended = not decision.open or decision.number in self.new
        if isinstance(request, Void):
            if not decision.open and any(kind == Kind.VOID for kind, _ in decision.so_far):  # for its age, for example
                return self._answer(request, None, Kind.VOID, repeated=True)
            if ended:
                do = "cancel decisions within the window"
                raise Contradiction("a decision still open", "one whose window has ended", do)
            kind, texts = Kind.VOID, _texts(None, request.token, decision.shown)
        else:
            kind, texts = Kind.TELL, _texts(request.source, request.token, decision.shown)
            if ended:
                kind = Kind.LATE
                if value and not self._ranking:  # for `rankone.live.verdict.unequal_lateness`
                    texts = texts._replace(cross_chances=decision.cross)
            elif self._fold.settings.outcomes.window:
                kind = Kind.HOLD
        self._add(kind, decision.number, decision.tag, int(value or 0), texts)
        note = retired_note(self._fold, decision) if kind in (Kind.TELL, Kind.HOLD) else None
        return self._answer(request, value, kind, note=note)

    def _whose(self, request: Ask) -> dict[str, Any]:
        """Return what the journal says of the visitor for whom a policy shall choose; nothing where it does not."""
        if self._fold.visitors is None or (request.visitor is None and self._fold.stopped is not None):
            return {}
        if request.visitor is None:
            got, do = f"none, and the policy is {self._fold.policy.name}", "name one: ask(visitor='ann')"
            raise InputError("a visitor, as this experiment chooses for each", got, do)
        return {"visitor": visitor_hash(request.signer, request.token, request.visitor)}

    def _stored_key(self, request: Ask) -> str | None:
        """Return the key of a request as the journal has it, apart from those of other tokens; None: it has none."""
        if request.visitor is not None and self._fold.visitors is None:
            if request.key is not None:
                do = "leave out the key: asking again for a visitor is safe"
                raise InputError("a key or a visitor", "both", do)
            stretch = len(self._fold.eras), self._fold.stopped is not None
            return visitor_key(request.signer, request.token, request.visitor, *stretch)
        if request.key is None or request.token is None:
            return request.key
        return f"{request.token}{BESIDE}{request.key}"

    def _asked_before(
        self, request: Ask, stored_key: str, said: str | None, about: list[Any]
    ) -> PromisedDecisions | list[Decision] | None:
        """Return the decisions that the same key or visitor got; None: none so far."""
        if stored_key in self._keys:
            first, count, *before = self._keys[stored_key]
        else:
            result = self._of_key(stored_key)
            if not result:
                return None
            first, count, source, counts, note = (result[0][column] for column in _ASKED)
            noted = json.loads(note or "{}")
            before = [source, noted.get("said", counts), [noted.get("visitor"), noted.get("list")]]
        key, again = request.key, request.visitor is not None and self._fold.visitors is None
        if not again and [count, *before] != [request.count, request.source, said, about]:
            expected = f"with key '{key}' the same request as before, {request_text(count, *before)}"
            raise KeyReused(expected, request_text(request.count, request.source, said, about), _NEW_KEY)
        if stored_key in self._keys:
            return PromisedDecisions(first, count, before=True, visitor=again)
        numbers = range(first, first + count)
        firsts = [event for number in numbers for event in self._of_decision(number)[:1]]
        events = [event for event in firsts if event[KIND] == _ASK]
        if len(events) < count:
            got = f"key '{key}', of whose {amount(count, 'decision')} some are archived"
            raise KeyReused("a key whose decisions are all there", got, _NEW_KEY)
        decisions = [decision_of(self._fold, event, as_texts(event)) for event in events]
        return once_more(decisions, again)


@functools.lru_cache(1000)
def _texts(source: str | None, token: str | None, shown: bytes) -> Texts:
    """Return the texts of an outcome: whoever told it may have named neither. Those of one caller share them."""
    return Texts(source=source, token=token, shown=shown)
