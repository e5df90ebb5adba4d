"""Families of problems by name, and `as_problem`, which turns a text into a problem.

A family is one function from sizes and parameters to probabilities of rows and columns, or to problems of another kind
(then its first two parameters are called what they are: `n_items`, `n_positions`); its decorator registers it. One with
problems of any number of factors says how these are drawn, too (`family`).
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import string
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, overload

from rankone.errors import InputError
from rankone.kernels.decision import check_combinations
from rankone.numerics.arrays import Floats
from rankone.problems.base import Problem
from rankone.problems.files import is_problem_file, load_problem
from rankone.problems.product import Product
from rankone.problems.rank_one import RankOne
from rankone.registry import Registry
from rankone.specs import did_you_mean, parse_settings, parse_whole_number, value_text, whole_number

_FAMILIES: Registry[Family] = Registry("family", "families", "rankone.problems")
_P = ParamSpec("_P")
Some = TypeVar("Some", bound=Problem)
Factors = Callable[..., Sequence[Floats]]


@dataclasses.dataclass(frozen=True)
class Family:
    """A family of problems: its name, a line of explanation, its parameters with their defaults, and the maker."""

    name: str
    explanation: str
    parameters: Mapping[str, Any]
    make: Callable[..., Problem]
    sizes: tuple[str, str] = ("n_rows", "n_cols")
    factors: Callable[..., Problem] | None = None  # from other than two sizes

    @property
    def spelling(self) -> str:
        """How a problem of the family is written: ``needle:ROWSxCOLS``, of any number of factors ``needle:AxBxC``."""
        if self.factors is not None:
            return f"{self.name}:AxBxC"
        return f"{self.name}:" + "x".join(size.removeprefix("n_").upper() for size in self.sizes)


@overload
def family(
    name: str, *, factors: Factors | None = None
) -> Callable[[Callable[_P, tuple[Floats, Floats]]], Callable[_P, RankOne]]: ...
@overload
def family(name: str, kind: type[Some]) -> Callable[[Callable[_P, Some]], Callable[_P, Some]]: ...
def family(name: str, kind: type[Problem] = RankOne, *, factors: Factors | None = None) -> Any:
    """Register a function of sizes and parameters as a family; it then returns problems with canonical names.

    Args:
        name: what the family is called.
        kind: class of the problems that the function returns; by default it returns probabilities of rows and columns.
        factors: a function of a list of sizes and the same parameters to probabilities, one vector a factor: with it
            the family has problems of any number of factors (``needle:10x10x10``).
    """

    def register(draw: Callable[..., Any]) -> Callable[..., Problem]:
        signature = inspect.signature(draw)
        first, second, *others = signature.parameters
        defaults = {key: signature.parameters[key].default for key in others}

        def canonical(sizes: Sequence[int], given: Mapping[str, Any]) -> str:
            values = {key: _shortest(given.get(key, default)) for key, default in defaults.items()}
            changed = [f"{key}={value_text(value)}" for key, value in values.items() if value != defaults[key]]
            return ":".join(filter(None, [name, "x".join(map(str, sizes)), ",".join(changed)]))

        @functools.wraps(draw)
        def make(*args: Any, **keywords: Any) -> Problem:
            given = signature.bind(*args, **keywords)
            for side in (first, second):
                given.arguments[side] = whole_number(side, given.arguments[side])
            drawn = draw(*given.args, **given.kwargs)
            made: Problem = RankOne(*drawn) if kind is RankOne else drawn
            made.name = canonical([given.arguments[first], given.arguments[second]], given.arguments)
            return made

        def make_factors(sizes: Sequence[int], **parameters: Any) -> Product:
            check_combinations(sizes)
            drawn = typing.cast("Factors", factors)(list(sizes), **defaults | parameters)
            named = dict(zip(string.ascii_uppercase, drawn, strict=False))
            levels = {key: [f"{key}{index + 1}" for index in range(len(values))] for key, values in named.items()}
            return Product(named, level_names=levels, name=canonical(sizes, parameters))

        explanation = (inspect.getdoc(draw) or "").partition("\n")[0]
        parameters = types.MappingProxyType(defaults)
        many = None if factors is None else make_factors
        _FAMILIES.add(name, Family(name, explanation, parameters, make, (first, second), many), origin=draw)
        return make

    return register


def known_families() -> Mapping[str, Family]:
    """Every family by name: those of the package and those the user's own modules register."""
    return _FAMILIES.known()


@overload
def as_problem(spec: str | Path) -> Any: ...  # the kind that the text names
@overload
def as_problem(spec: Some) -> Some: ...
def as_problem(spec: Any) -> Problem:
    """Turn a text into a problem; a problem stays as it is.

    The text is a family with sizes and perhaps parameters (``needle:32x32``, ``random:8x10:seed=3``), a CSV or JSON
    file, or one problem of a JSON file of several (``models.json#QUERY``); after a bar, how it changes while it is
    played (``needle:8x8|changes=3``). An array or a frame of click rates is a problem, too (`rankone.Means`).

    >>> as_problem("needle:32x32:p=0.1,gap=0.4")
    <RankOne needle:32x32:p=0.1,gap=0.4: 32 x 32, best 0.25>
    """
    if isinstance(spec, Problem):
        return spec
    if is_table(spec):
        from rankone.problems.means import Means

        return Means(spec)
    if not isinstance(spec, (str, Path)):
        raise InputError("a problem, its name or its file", spec, "see `rankone problems`")
    steady, bar, schedule = str(spec).partition("|")
    if bar:
        from rankone.problems.drifting import Drifting
        from rankone.problems.lists import DriftingLists

        problem = as_problem(steady)
        return (DriftingLists if problem.decision_kind == "list" else Drifting)(problem, schedule)
    name, _, rest = str(spec).partition(":")
    if name == "table" and rest:
        from rankone.problems.arrivals.table import table_world

        return table_world(rest)
    named = known_families().get(name)
    if named is not None:
        return _member(named, str(spec), rest)
    if is_problem_file(spec):
        return load_problem(spec)
    do = did_you_mean(name, known_families(), "see `rankone problems`, or name a .csv or .json file")
    raise InputError("No such problem:", str(spec) or "an empty name", do)


def is_table(given: Any) -> bool:
    """Whether something is an array or a frame of rows and columns."""
    return len(getattr(given, "shape", ())) == 2


def as_rank_one(spec: str | Path | Problem, why: str) -> RankOne:
    """Turn a text into a rank-1 problem; refuse another kind, in words that end in `why`."""
    result = as_problem(spec)
    if not isinstance(result, RankOne):
        raise InputError(f"a rank-1 problem, {why}", f"{result!r}", "try rankone.RankOne(rows, cols) or needle:8x8")
    return result


def _member(named: Family, spec: str, rest: str) -> Problem:
    sizes, _, settings = rest.partition(":")
    first, cross, second = sizes.partition("x")
    hints = {key: hint for key, hint in typing.get_type_hints(named.make).items() if key in named.parameters}
    if named.factors is not None and sizes and ("x" in second or not cross):
        each = enumerate(sizes.split("x"), start=1)
        numbers = [parse_whole_number(f"levels of factor {index}", size or "nothing") for index, size in each]
        return named.factors(numbers, **parse_settings(f"{named.name}:{sizes}", settings, hints, named.parameters))
    if not cross:
        pairs = named.sizes == ("n_rows", "n_cols")
        what = "rows x columns" if pairs else " x ".join(size.removeprefix("n_") for size in named.sizes)
        example = "32x32" if pairs else "16x4"
        raise InputError(f"sizes, {what}, after '{named.name}'", spec, f"try {named.name}:{example}")
    one, other = named.sizes
    counts = parse_whole_number(one, first), parse_whole_number(other, second)
    values = parse_settings(f"{named.name}:{sizes}", settings, hints, named.parameters)
    return named.make(*counts, **values)


def _shortest(value: Any) -> Any:
    """One number for a pair of two equal ones, so that a problem has one name."""
    if isinstance(value, (tuple, list)):
        return value[0] if len(set(value)) == 1 else tuple(value)
    return value
