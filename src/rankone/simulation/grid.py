"""Grids: texts with ``{names}`` in them, filled in with every combination of the names' values."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

from rankone.errors import InputError
from rankone.lazy import pl
from rankone.policies import Policy, as_policy
from rankone.problems import Problem, as_problem
from rankone.simulation.feedback import IMMEDIATE, Feedback, as_feedback
from rankone.specs import as_whole_number, one_of, parse_whole_number, value_text

Grid = Mapping[str, Sequence[Any]]


class Point(NamedTuple):
    """One policy on one problem for one horizon under one feedback, and the values of the grid that led there."""

    values: dict[str, Any]
    problem: Problem
    policy: Policy
    horizon: int
    feedback: Feedback
    problem_text: str  # as written, with the names of the grid in it
    policy_text: str

    @property
    def facts(self) -> dict[str, Any]:
        """Everything known of the point before it is played; the values of the grid win over facts of the same name."""
        world, late = self.problem, self.feedback
        facts = {
            "problem_text": self.problem_text,
            "policy_text": self.policy_text,
            "problem": world.name,
            "policy": self.policy.label,
            "horizon": self.horizon,
            "feedback": late.label,
            **world.facts(),
            "delay": late.steps + late.mean,
            "batch": late.size,
        }
        return {**self.values, **facts, **self.values}


class Points(NamedTuple):
    """The points of a sweep, what is known of them before they are played, and what to draw against."""

    points: list[Point]
    facts: pl.DataFrame
    x: str


def lay_out(
    problems: Problem | str | Path | Sequence[Problem | str | Path],
    policies: Policy | str | Sequence[Policy | str],
    horizon: int | str | Sequence[int | str],
    grid: Grid,
    feedback: Feedback | str | Sequence[Feedback | str] = IMMEDIATE,
    x: str | None = None,
) -> Points:
    """Lay out a sweep and refuse what cannot be played or drawn, before anything is played."""
    if not isinstance(grid, Mapping) or not grid:
        raise InputError("a grid of at least one name with values", grid, "try grid={'k': [8, 16, 32]}")
    points = list(_points(grid, *(several(given) for given in (problems, policies, horizon, feedback))))
    facts = pl.DataFrame([point.facts for point in points], infer_schema_length=None)
    if x is None:
        x = next((name for name in numbers(facts) if facts[name].n_unique() > 1), "horizon")
    return Points(points, facts, checked_x(x, facts))


def numbers(facts: pl.DataFrame) -> list[str]:
    """Return the names of what may be drawn against, those of the grid first."""
    return [name for name, kind in facts.schema.items() if kind.is_numeric()]


def checked_x(x: str, facts: pl.DataFrame) -> str:
    """Refuse an x that is no number of the sweep."""
    return str(one_of("x", x, numbers(facts)))


def several(given: Any) -> list[Any]:
    """Return one or several as a list; a text is one."""
    return list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]


def _points(grid: Grid, *given: list[Any]) -> Iterator[Point]:
    """Yield every point of the grid; given are problems, policies, horizons and feedbacks."""
    combined = list(itertools.product(*given))
    _check_grid(grid, {text for entry in combined for text in entry if isinstance(text, str)})
    known: dict[tuple[Any, str], Any] = {}

    def made(make: Any, text: Any, values: dict[str, Any]) -> Any:
        if not isinstance(text, str):
            return make(text)
        filled = text.format(**{name: value_text(value) for name, value in values.items()})
        if (make, filled) not in known:
            known[make, filled] = make(filled)
        return known[make, filled]

    for chosen in itertools.product(*grid.values()):
        values = dict(zip(grid, chosen, strict=True))
        for world_text, player_text, horizon, late in combined:
            world, player = made(as_problem, world_text, values), made(as_policy, player_text, values)
            player.check_kind(world.decision_kind, world.shape, f"the problem {world.name}")
            texts = [
                text if isinstance(text, str) else name
                for text, name in ((world_text, world.name), (player_text, player.label))
            ]
            steps, when = made(_horizon, horizon, values), made(as_feedback, late, values)
            yield Point(values, world, player, steps, when, *texts)


def _check_grid(grid: Grid, texts: Iterable[str]) -> None:
    used = {name for text in texts for _, name, _, _ in _parts(text) if name is not None}
    for name, values in grid.items():
        if isinstance(values, (str, bytes)) or not isinstance(values, Sequence) or len(values) == 0:
            raise InputError(f"a list of values for '{name}' of the grid", values, f"try {name} = [1, 2, 4]")
        if name not in used:
            raise InputError(f"'{{{name}}}' in a problem, policy, horizon or feedback", "none", f"leave {name} out")
    for name in sorted(used - set(grid)):
        raise InputError(f"values for '{{{name}}}'", "none in the grid", f"try {name} = [1, 2, 4] in the grid")


def _parts(text: str) -> list[tuple[str, str | None, str | None, str | None]]:
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        raise InputError("names in braces, such as {gap}", f"{text} ({error})", "close every brace") from None
    if any(style or conversion for _, _, style, conversion in parts):
        raise InputError("names in braces, such as {gap}", text, "write nothing but the name between the braces")
    return parts


def _horizon(given: Any) -> int:
    return parse_whole_number("horizon", given) if isinstance(given, str) else as_whole_number("horizon", given)
