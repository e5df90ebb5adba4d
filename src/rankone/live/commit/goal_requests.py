"""Telling outcomes of goals, by decision or by visitor: which events that adds to the journal, and how it is answered.

* A yes-no goal counts once for a decision: told again it is answered the same. Counts and amounts add up until the
  window ends; one with a key counts once for that key, so a retry with the key is safe.
* What comes after its window is recorded as late and does not count. Silence needs no event: it is nothing.
* Of the goal that steers the policy learns a click. An amount is rounded to one with probability amount / cap, by a
  number that only the experiment's seed and the decision settle; statements rest on the amounts themselves.
* A visitor's outcome belongs to the latest decision made for that visitor. A visitor without one is counted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rankone.errors import Contradiction, InputError, KeyReused
from rankone.live.commit.decisions import KnownDecision
from rankone.live.evidence.goal_outcomes import as_value, window_of
from rankone.live.fold.fold import Fold
from rankone.live.goals import AMOUNT, Goal
from rankone.live.journal.events import BY_ASKER, DECISION, KIND, TAG, VALUE, Kind, Texts
from rankone.live.messages import Outcome, Tell, Track
from rankone.live.storage.driver import Row
from rankone.numerics.seeds import generator
from rankone.specs import did_you_mean

if TYPE_CHECKING:
    from rankone.live.commit.planner import Planner

BESIDE = "\t"  # between the parts of a stored key: no key that anybody names has one
_ERAS = 20  # looked through, the latest first, for a visitor's decision
ONCE = "tell each decision once; the first outcome stays"


def visitor_key(signer: str | None, token: str | None, visitor: str, eras: int, stopped: bool) -> str:
    """Return the key under which a visitor's decision is stored, while there is the same to choose from."""
    return f"visitor{BESIDE}{visitor_hash(signer, token, visitor, eras, stopped)}"


def visitor_hash(signer: str | None, token: str | None, visitor: str, *when: int) -> str:
    """Return what the journal has of a visitor's name."""
    whose = ["signed", signer] if signer else ["token", token]
    return hashlib.blake2b(json.dumps([*whose, visitor, *when]).encode(), digest_size=16).hexdigest()


_Stored = Callable[[Any], list[Row]]  # the events of a decision, or with a key


class GoalRequests:
    """Plans the outcomes of goals among requests that wait together."""

    def __init__(self, planner: Planner, fold: Fold, of_decision: _Stored, of_key: _Stored) -> None:
        self._planner, self._fold, self._of_decision, self._of_key = planner, fold, of_decision, of_key
        self._units: dict[tuple[int, int], int] = {}  # drafted here, by goal and decision
        self._keys: dict[str, tuple[int, int]] = {}  # drafted here: decision and units

    def outcome(self, request: Tell | Track) -> Outcome:
        """Draft the event of an outcome; return the answer, or raise why there is none."""
        index, goal = self._goal(request.goal)
        value = request.value if isinstance(request, Track) or request.clicked is None else request.clicked
        if value is None and request.goal is not None and goal.kind != AMOUNT:
            value = 1.0
        if value is None:
            raise InputError(f"a value for the goal '{goal.name}'", "none", "tell value=49.9, for example")
        if isinstance(request, Tell) and request.clicked and goal.adds_up:
            raise InputError(f"a value for the goal '{goal.name}'", "clicked", "tell value=49.9, for example")
        units = goal.units(value)
        known = self._planner.find(request.id) if isinstance(request, Tell) else self._of_visitor(request)
        key = self._stored_key(request, index)
        again = self._before(request, key, goal, units)
        if again is not None:
            return again
        if known is None:
            self._draft(index, -1, units, Texts(key=key, source=request.source, token=request.token))
            return _answer(request, goal, units, "unmatched")
        if index == 0 and not goal.adds_up:
            return self._planner.told(request, known, bool(units))
        if any((kind, who) == (Kind.VOID, BY_ASKER) for kind, who in known.so_far):
            raise Contradiction("no outcome of a cancelled decision", f"an outcome of '{goal.name}'", ONCE)
        return self._tell(request, index, goal, known, units, key)

    def _tell(
        self, request: Tell | Track, index: int, goal: Goal, known: KnownDecision, units: int, key: str | None
    ) -> Outcome:
        window, at, number = window_of(goal, self._fold.settings), self._planner.draft.at, known.number
        pending = self._fold.goals and self._fold.goals.pending[index].get(number)
        already = (pending.units if pending else 0) + self._units.get((index, number), 0)
        if (not window and known.outcome() is not None) or (already and not goal.adds_up):
            already = already or self._told(index, number)
            if already != units:
                again = f"{as_value(already):g} again, or nothing, for '{goal.name}'"
                raise Contradiction(again, f"{as_value(units):g}", ONCE)
            return _answer(request, goal, units, "held" if window else "learned", repeated=True)
        late = known.at + window <= at if window else not known.open or number in self._planner.new
        if late and key is None and units and units == self._told(index, number):
            return _answer(request, goal, units, "held", repeated=True)
        details: dict[str, Any] = {"late": True} if late else {"due": known.at + window if window else at}
        note = json.dumps(details)
        if units:
            cross = None if late else known.cross
            told = Texts(None, key, request.source, note, known.shown, token=request.token, cross_chances=cross)
            self._draft(index, number, units, told)
        if index == 0 and not late:
            clicked = generator(self._fold.settings.seed, "reward", number).random() < goal.share(already + units)
            self._planner.round_to(request, known, bool(clicked), window > 0)
        status = "late" if late else "held" if window else "learned"
        return _answer(request, goal, units if late else already + units, status)

    def _draft(self, index: int, number: int, units: int, texts: Texts) -> None:
        self._planner.draft.add(Kind.GOAL, number, index, units, texts)
        self._units[index, number] = self._units.get((index, number), 0) + units
        if texts.key is not None:
            self._keys[texts.key] = number, units

    def _goal(self, name: str | None) -> tuple[int, Goal]:
        goals = self._fold.settings.all_goals
        for index, goal in enumerate(goals):
            if name in (goal.name, None):
                return index, goal
        names = [goal.name for goal in goals]
        raise InputError("No such goal:", name, did_you_mean(str(name), names, f"goals: {', '.join(names)}"))

    def _told(self, index: int, number: int) -> int:
        """Return what was told of a decision in time, as the journal has it."""
        return sum(row[VALUE] for row in self._of_decision(number) if (row[KIND], row[TAG]) == (Kind.GOAL, index))

    def _stored_key(self, request: Tell | Track, index: int) -> str | None:
        return request.key and BESIDE.join(["goal", request.token or "", str(index), request.key])

    def _before(self, request: Tell | Track, key: str | None, goal: Goal, units: int) -> Outcome | None:
        """Return the answer to an outcome with a key that was told before; None: it was not."""
        if key is None:
            return None
        stored = ((row[DECISION], row[VALUE]) for row in self._of_key(key))
        told = self._keys.get(key) or next(stored, None)
        if told is None:
            return None
        if told[1] != units:
            got, do = f"{as_value(units):g}", "use a new key for a new outcome"
            raise KeyReused(f"with key '{request.key}' the same outcome, {as_value(told[1]):g}", got, do)
        return _answer(request, goal, units, "unmatched" if told[0] < 0 else "held", repeated=True)

    def _of_visitor(self, request: Track) -> KnownDecision | None:
        if self._fold.visitors is not None:
            number = self._fold.visitors.latest(visitor_hash(request.signer, request.token, request.visitor))
            return None if number is None else self._planner.known(number)
        eras, stopped = len(self._fold.eras), self._fold.stopped is not None
        for era in range(eras, max(0, eras - _ERAS), -1):
            for state in (stopped, not stopped):
                key = visitor_key(request.signer, request.token, request.visitor, era, state)
                rows = self._of_key(key)
                if rows:
                    return self._planner.known(rows[0][DECISION])
        return None


def _answer(request: Tell | Track, goal: Goal, units: int, status: str, repeated: bool = False) -> Outcome:
    return Outcome(request.id, None, status, status == "learned", repeated, goal=goal.name, value=as_value(units))
