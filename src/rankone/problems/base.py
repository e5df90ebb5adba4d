"""What a problem is: a world to play in, under a name that tables use and with a digest that seeds use.

A new kind is a subclass of `Problem` that states its `kind` and its `decision_kind` and returns a world from `start`
(contract: `rankone.kernels.world`). What theory knows of it is optional: where a method returns None, nothing is said.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from rankone.errors import InputError
from rankone.kernels.decision import DecisionKind, Layout, Shape
from rankone.numerics.arrays import Floats, Ints
from rankone.registry import Registry
from rankone.specs import in_words

_KINDS: Registry[type[Problem]] = Registry("kind of problem", "kinds of problems", "rankone.problems")
RANK_ONE = "rank-one"  # the kind of two factors, rows and columns: what is stored without a kind


class Problem:
    """Base of all problems. A subclass with a `kind` of its own is known by it; stored studies are read again by it."""

    kind: ClassVar[str]
    decision_kind: ClassVar[DecisionKind] = "pair"  # what a policy has to play
    n_context: int = 0  # numbers that a policy knows before each decision
    name: str  # what tables and charts call it

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "kind" in cls.__dict__:
            _KINDS.add(cls.kind, cls)
        elif "start" in cls.__dict__ and hasattr(cls, "kind"):
            expected, do = f"a kind of its own of {cls.__name__}, whose world is another", "state it: kind = 'my-kind'"
            raise InputError(expected, f"only its base has one: '{cls.kind}'", do)

    @property
    def shape(self) -> Shape:
        """What a policy starts with: see `rankone.kernels.decision`."""
        raise self._unfinished("shape")

    def start(self) -> Any:
        """Return the world before the first decision: a NamedTuple of NumPy arrays, fresh where they change."""
        raise self._unfinished("start")

    def to_dict(self) -> dict[str, Any]:
        """Plain values that the class turns back into the same problem: by default what it keeps of each parameter."""
        names = inspect.signature(type(self)).parameters
        if not all(hasattr(self, name) for name in names):
            raise self._unfinished("to_dict")
        return {name: _plain(getattr(self, name)) for name in names}

    def _unfinished(self, method: str) -> InputError:
        return InputError(f"{method} of {type(self).__name__}", "none", f"define it: see {__name__}")

    @property
    def title(self) -> str:
        """The name in words, for charts: "needle, 8 x 8, p = 0.1" for ``needle:8x8:p=0.1``."""
        return in_words(self.name)

    @property
    def layout(self) -> Layout:
        """Lengths of the arrays of a decision."""
        return Layout.of(self.decision_kind, self.shape, self.n_context)

    @property
    def digest(self) -> str:
        """Hash of the world: problems with the same digest are the same world, whatever they are called."""
        result = hashlib.sha256(repr((self.kind, self.shape)).encode())
        for array in self.start():
            result.update(repr((array.shape, array.dtype.str)).encode() + array.tobytes())
        return result.hexdigest()[:16]

    def best_decision(self) -> tuple[int, ...] | None:
        """Return what is best to show, for yardsticks; None: nobody knows, or it changes."""
        return None

    @property
    def forbidden(self) -> Ints:
        """Return what a policy must never show: rules of one level per factor, -1 where any level will do."""
        return np.empty((0, len(self.shape)), np.int64)

    def known(self) -> dict[str, Any]:
        """Return what a policy may be told beforehand, by the name of its parameter: how well positions are seen.

        A policy that has no such parameter is told nothing.
        """
        return {}

    def visitor(self, world: Any) -> tuple[str, Floats] | None:
        """Return who is there now, in words, and what each combination earns of them on average; None: nobody says."""
        return None

    def earned(self, clicks: Ints, shown: Ints) -> Floats:
        """Return what outcomes are worth on average, ``(visitors, outcomes)`` to ``(visitors,)``: their clicks.

        `shown` is what each of these visitors saw, for worlds in which a click on one thing is worth more than another.
        """
        return clicks.sum(axis=1).astype(np.float64)

    def loss_at_random(self) -> float | None:
        """Return what a decision drawn at random loses on average; None: nobody knows, or it changes."""
        return None

    def lower_bound_constant(self) -> float | None:
        """Return C where no good policy has less regret than about C log n; None: no bound is known."""
        return None

    def facts(self) -> dict[str, float]:
        """Return numbers that a sweep can be drawn against."""
        return {}

    def description(self) -> dict[str, Any]:
        """Return what a report says of the problem, by the title of the column."""
        return {"asks for": self.decision_kind, "sizes": " x ".join(map(str, self.shape))}

    def _named(self, name: str | None, *sizes: int) -> str:
        """Return the name of the problem, or what it is called without one."""
        otherwise = f"{self.kind}:{'x'.join(map(str, sizes or self.shape))}"
        return checked_name(name, lambda: f"{otherwise}:{self.digest[:6]}")

    def __eq__(self, other: object) -> bool:
        """Problems are equal that are the same world under the same names."""
        if not isinstance(other, Problem) or type(self) is not type(other):
            return NotImplemented  # the other may know better: a product of two factors is rows and columns
        return self is other or self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.kind, self.name, self.shape))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {' x '.join(map(str, self.shape))}>"


def checked_name(name: Any, otherwise: Callable[[], str]) -> str:
    """Return the name of a problem, or what it is called without one."""
    if not isinstance(name, str | None):
        raise InputError("the name as a text", name, "try name='shoes'")
    return otherwise() if name is None else name


def _plain(value: Any) -> Any:
    if isinstance(value, Problem):
        return problem_to_dict(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def problem_to_dict(problem: Problem) -> dict[str, Any]:
    """Return the plain values of a problem, and its kind where it is not the usual one."""
    values = problem.to_dict()
    return values if problem.kind == RANK_ONE else {"kind": problem.kind, **values}


def problem_from_dict(values: Mapping[str, Any]) -> Problem:
    """Return the problem of such values.

    >>> problem_from_dict({"rows": [0.9, 0.5], "cols": [0.8], "name": "mine"})
    <RankOne mine: 2 x 1, best 0.72>
    """
    rest = {key: value for key, value in values.items() if key != "kind"}
    return kind_of(values.get("kind", RANK_ONE))(**rest)


def kind_of(kind: str) -> type[Problem]:
    """Return the class of problems of this kind."""
    if kind not in _KINDS.known():  # nobody chose it, so there is nothing to choose from: its file is missing here
        raise InputError("a kind of problem that is known here", kind, "import the module that defines it")
    return _KINDS.get(kind)
