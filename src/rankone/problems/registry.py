"""Families of problems by name, and `as_problem`, which turns a text into a problem.

A family is one file with one function from sizes and parameters to probabilities; its decorator registers it::

    @family("steps")
    def steps(n_rows: int, n_cols: int, drop: float = 0.1) -> tuple[Vector, Vector]:
        \"\"\"Probabilities fall by `drop` from one level to the next.\"\"\"
        ...
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, overload

from rankone.errors import InputError
from rankone.problems.base import Problem
from rankone.problems.files import is_problem_file, load_problem
from rankone.problems.rank_one import RankOne, Vector
from rankone.registry import Registry
from rankone.specs import did_you_mean, parse_settings, parse_whole_number, value_text, whole_number

_FAMILIES: Registry[Family] = Registry("family", "families", "rankone.problems")
_P = ParamSpec("_P")
Some = TypeVar("Some", bound=Problem)


@dataclasses.dataclass(frozen=True)
class Family:
    """A family of problems: its name, a line of explanation, its parameters with their defaults, and the maker."""

    name: str
    explanation: str
    parameters: Mapping[str, Any]
    make: Callable[..., RankOne]


def family(name: str) -> Callable[[Callable[_P, tuple[Vector, Vector]]], Callable[_P, RankOne]]:
    """Register a function of sizes and parameters as a family; it then returns problems with canonical names."""

    def register(draw: Callable[_P, tuple[Vector, Vector]]) -> Callable[_P, RankOne]:
        signature = inspect.signature(draw)
        defaults = {
            key: value.default for key, value in signature.parameters.items() if key not in ("n_rows", "n_cols")
        }

        @functools.wraps(draw)
        def make(*args: _P.args, **keywords: _P.kwargs) -> RankOne:
            given = signature.bind(*args, **keywords)
            for side in ("n_rows", "n_cols"):
                given.arguments[side] = whole_number(side, given.arguments[side])
            rows, cols = draw(*given.args, **given.kwargs)
            values = {key: _shortest(given.arguments.get(key, default)) for key, default in defaults.items()}
            changed = [f"{key}={value_text(value)}" for key, value in values.items() if value != defaults[key]]
            parts = [name, f"{len(rows)}x{len(cols)}", ",".join(changed)]
            return RankOne(rows, cols, name=":".join(filter(None, parts)))

        explanation = (inspect.getdoc(draw) or "").partition("\n")[0]
        _FAMILIES.add(name, Family(name, explanation, types.MappingProxyType(defaults), make), origin=draw)
        return make

    return register


def known_families() -> Mapping[str, Family]:
    """Every family by name: those of the package and those the user's own modules register."""
    return _FAMILIES.known()


@overload
def as_problem(spec: str | Path) -> RankOne: ...
@overload
def as_problem(spec: Some) -> Some: ...
def as_problem(spec: str | Path | Problem) -> Problem:
    """Turn a text into a problem; a problem stays as it is.

    The text is a family with sizes and perhaps parameters (``needle:32x32``, ``random:8x10:seed=3``), a CSV or JSON
    file, or one problem of a JSON file of several (``models.json#QUERY``).

    >>> as_problem("needle:32x32:p=0.1,gap=0.4")
    <RankOne needle:32x32:p=0.1,gap=0.4: 32 x 32, best 0.25>
    """
    if isinstance(spec, Problem):
        return spec
    if not isinstance(spec, (str, Path)):
        raise InputError("a problem, its name or its file", spec, "see `rankone problems`")
    name, _, rest = str(spec).partition(":")
    found = known_families().get(name)
    if found is not None:
        return _member(found, str(spec), rest)
    if is_problem_file(spec):
        return load_problem(spec)
    families = ", ".join(sorted(known_families()))
    do = did_you_mean(name, known_families(), "see `rankone problems`")
    raise InputError(f"a family of problems ({families}) or a .csv or .json file", str(spec), do)


def as_rank_one(spec: str | Path | Problem, why: str) -> RankOne:
    """Turn a text into a rank-1 problem; refuse another kind, in words that end in `why`."""
    found = as_problem(spec)
    if not isinstance(found, RankOne):
        raise InputError(
            f"a rank-1 problem, {why}", f"{found!r}", "pass rankone.RankOne(rows, cols) or needle:8x8, say"
        )
    return found


def _member(found: Family, spec: str, rest: str) -> RankOne:
    sizes, _, settings = rest.partition(":")
    rows, cross, cols = sizes.partition("x")
    if not cross:
        raise InputError(f"sizes, rows x columns, after '{found.name}'", spec, f"write {found.name}:32x32, say")
    hints = {key: hint for key, hint in typing.get_type_hints(found.make).items() if key in found.parameters}
    n_rows, n_cols = parse_whole_number("n_rows", rows), parse_whole_number("n_cols", cols)
    values = parse_settings(f"{found.name}:{sizes}", settings, hints, found.parameters)
    return found.make(n_rows, n_cols, **values)


def _shortest(value: Any) -> Any:
    """One number for a pair of two equal ones, so that a problem has one name."""
    if isinstance(value, (tuple, list)):
        return value[0] if len(set(value)) == 1 else tuple(value)
    return value
