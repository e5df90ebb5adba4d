"""What goes between those who ask and tell and an experiment, be it in this process or at a service.

Plain values and their checks, without NumPy, Numba or a database: the client has nothing else.
"""

import dataclasses
import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypedDict, TypeVar

from rankone.errors import InputError
from rankone.live.lists import checked_clicks, restriction
from rankone.live.names import checked_name
from rankone.live.visitor_attributes import SETTLE, VisitorContext, checked_context
from rankone.specs import is_number, whole_number

T = TypeVar("T")
MAX_BATCH = 1_000  # decisions or outcomes in one request


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """What to show: ``decision["headline"]`` is the name of a level, `levels` has that of each factor, by its name.

    The id is unguessable; whoever has it can tell the outcome, at any time and once.
    """

    id: str
    levels: dict[str, str]
    number: int
    filler: bool  # True: the policy does not learn from its outcome (it waits, or the experiment is stopped)
    items: tuple[str, ...] | None = None  # of a ranking: what to show, from the top
    chances: tuple[float, ...] | None = None  # how likely each item was at its position, given those above it; None:
    # the policy cannot say, or this is no list

    def __getitem__(self, factor: str) -> str:
        return self.levels[factor]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        result = {"id": self.id, "levels": self.levels, "number": self.number, "filler": self.filler}
        if self.items is not None:
            result |= {"items": list(self.items), "chances": self.chances and list(self.chances)}
        return result

    @classmethod
    def of_dict(cls, found: dict[str, Any]) -> Self:
        """Return what `to_dict` wrote, here or in a service of another version, which may say more."""
        lists: dict[str, Any] = {key: found[key] and tuple(found[key]) for key in ("items", "chances") if key in found}
        return cls(*(found[key] for key in ("id", "levels", "number", "filler")), **lists)


class AskedBefore(list[Decision]):
    """Decisions that are not new: the same key or visitor got them before, and somebody may have been shown them."""


class Outcome(NamedTuple):
    """What became of a decision."""

    id: str
    clicked: bool | None  # None: void
    status: str  # "learned", "held" (until its window ends), "late", "void", "unmatched" (of no decision) or "refused"
    learned: bool
    repeated: bool = False  # True: it was told before, this time changed nothing
    note: str | None = None  # what else there is to know: a level was retired after it was shown; why it was refused
    goal: str | None = None  # of which it is, where that is not a click
    value: float | None = None  # what the decision brought so far
    positions: tuple[int, ...] | None = None  # of a list: those that were clicked, counted from 1
    seen: int | None = None  # and how many were seen, where that was told

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; without what only some outcomes have."""
        rare = ("note", "goal", "value", "positions", "seen")
        return {key: value for key, value in self._asdict().items() if key not in rare or value is not None}

    @classmethod
    def of_dict(cls, found: dict[str, Any]) -> Self:
        """Return what `to_dict` wrote, here or in a service of another version, which may say more."""
        known = {key: found[key] for key in cls._fields if key in found}
        if known.get("positions") is not None:
            known["positions"] = tuple(known["positions"])
        return cls(**known)


class Change(NamedTuple):
    """Something that an operator did, or the experiment."""

    seq: int  # the event
    at: float  # seconds since 1970
    what: str
    by: str | None  # the id of the token that requested it; None: on the machine of the database, or automatically
    kind: str = ""  # create, change, stop, archive, exclude, alarm, or guardrail violated, cleared or open


class AskDetails(TypedDict, total=False):
    """Keywords of every `ask`; `Ask` says what they mean."""

    key: str | None
    source: str | None
    context: VisitorContext | Mapping[str, Any] | None
    visitor: str | None
    candidates: Sequence[str] | None
    pinned: Mapping[int, str] | None
    exclude: Sequence[str] | None


@dataclasses.dataclass
class Ask:
    """Ask for `count` decisions; the same request with the same `key` again gets the same decisions.

    `token` is the id of the token with which a service was asked, here and below: keys and visitors of different tokens
    never meet. `context` says what is known of the visitor, such as ``{"device": "phone"}``, and `undeclared` what
    becomes of attributes that nobody declared (`rankone.live.visitor_attributes`). `visitor` says who it is: the same
    one gets the same decision while there is nothing new to choose from, or a new one where the policy chooses for each
    visitor. `signer` is the id of a token that vouches for
    that: then visitors are the same with every `token`.

    Of a ranking alone: only `candidates` may be shown, none that `exclude` names, and `pinned` ones at their positions
    (from 1), where anything may stand.
    """

    count: int = 1
    key: str | None = None
    source: str | None = None
    token: str | None = None
    context: Any = None
    visitor: str | None = None
    signer: str | None = None
    undeclared: str = SETTLE
    candidates: Sequence[str] | None = None
    pinned: Mapping[int, str] | None = None
    exclude: Sequence[str] | None = None


@dataclasses.dataclass
class Tell:
    """Tell the outcome of a decision: whether it was clicked, or the `value` of a `goal` (left out: that steers).

    An outcome with a `key` counts once for that key. Of a list, `clicked` are positions from 1 or names of items, and
    `seen` is how many positions from the top were seen.
    """

    id: str
    clicked: bool | int | Sequence[int | str] | None = None
    source: str | None = None
    token: str | None = None
    goal: str | None = None
    value: float | None = None
    key: str | None = None
    seen: int | None = None


@dataclasses.dataclass
class Track:
    """Tell an outcome of a visitor's latest decision; `signer` as in `Ask`. An outcome with a `key` counts once."""

    visitor: str
    goal: str
    value: float | None = None
    key: str | None = None
    source: str | None = None
    token: str | None = None
    signer: str | None = None
    id: str = dataclasses.field(default="", init=False)  # decisions have one, which visitors do not know


@dataclasses.dataclass
class Void:
    """Close a decision that was never shown."""

    id: str
    token: str | None = None


Request = Ask | Tell | Track | Void
Answer = list[Decision] | Outcome | InputError  # to an Ask; to a Tell or a Void; to one that is refused


def id_of(decision: str | Decision) -> str:
    """Return the id of a decision that is given whole or by its id."""
    return decision.id if isinstance(decision, Decision) else decision


def tells(
    outcomes: Iterable[tuple[str | Decision, bool | float]], source: str | None, goal: str | None = None
) -> list[Tell]:
    """Return pairs (id or decision, clicked or the value of a goal) as requests."""
    requests = []
    for outcome in outcomes:
        try:
            id, clicked = outcome
        except (TypeError, ValueError):
            do = "pass [(decision.id, True), ...]"
            raise InputError("outcomes as pairs of a decision's id and True or False", outcome, do) from None
        details: dict[str, Any] = {"clicked": clicked} if goal is None else {"value": clicked, "goal": goal}
        requests.append(Tell(id_of(id), source=source, **details))
    return requests


def each_answered(
    requests: Iterable[object], carry_out: Callable[[list[Request]], Iterable[T]]
) -> list[T | InputError]:
    """Return for each request its answer; one that makes no sense is answered by its error and not carried out."""
    checked = [checked_request(request) for request in requests]
    sound = [request for request in checked if not isinstance(request, InputError)]
    answers = iter(carry_out(sound) if sound else ())
    if len(sound) == len(checked):
        return list(answers)
    return [request if isinstance(request, InputError) else next(answers) for request in checked]


def checked_request(request: Any) -> Request | InputError:
    """Return a request that makes sense; of one that does not, the error: it must not harm those that wait with it."""
    try:
        if type(request) in (Tell, Void) and isinstance(request.id, Decision):
            request = dataclasses.replace(request, id=id_of(request.id))
        if not isinstance(request, Ask | Tell | Track | Void):
            raise InputError("requests Ask, Tell or Void", request, "try do([Tell(decision.id, True), Ask()])")
        needed = ("visitor", "goal") if isinstance(request, Track) else ()
        for what in ("visitor", "goal", "key", "source", "token"):
            text = getattr(request, what, None)
            if text is not None or what in needed:
                checked_name(text, what)
        if isinstance(request, Ask):
            return _checked_ask(request)
        if isinstance(request, Track) or (isinstance(request, Tell) and _has_value(request)):
            _check_value(request)
        elif isinstance(request, Tell) and type(request.clicked) is not bool:
            request = dataclasses.replace(request, clicked=_checked_click(request.clicked, request.seen))
        return request
    except InputError as error:
        return error


def _checked_ask(request: Ask) -> Ask:
    count, context = request.count, request.context
    if request.visitor is not None and count != 1:
        raise InputError("one decision for a visitor", count, "leave out count")
    if type(count) is not int or not 0 < count <= MAX_BATCH:
        count = whole_number("count", count, most=MAX_BATCH)
    if context is not None:
        context = checked_context(context)
    restriction(request.candidates, request.pinned, request.exclude)
    same = count is request.count and context is request.context
    return request if same else dataclasses.replace(request, count=count, context=context)


def _has_value(tell: Tell) -> bool:
    """Whether an outcome is the value of a goal; left out it is 1."""
    return tell.value is not None or (tell.goal is not None and tell.clicked is None)


def _check_value(request: Tell | Track) -> None:
    if isinstance(request, Tell) and request.clicked is not None:
        raise InputError("clicked or a value", "both", "leave clicked out")
    value = request.value
    if value is not None and (not (is_number(value) or isinstance(value, bool)) or not 0.0 <= value < math.inf):
        raise InputError("a value as a number of at least 0", value, "tell value=49.9, for example")


def _checked_click(clicked: Any, seen: int | None) -> bool | tuple[int | str, ...]:
    if seen is not None or isinstance(clicked, list | tuple | set | frozenset) or bool(getattr(clicked, "ndim", None)):
        return checked_clicks(() if clicked is None else clicked)  # of a list
    kind = type(clicked)
    is_numpy_truth = kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_")  # told without importing NumPy
    if (isinstance(clicked, numbers.Integral) or is_numpy_truth) and clicked in (0, 1):
        return bool(clicked)
    raise InputError("clicked as True or False", clicked, "tell True for a click and False for none")
