"""How the world changes, in words: abrupt changes, slow drift, days and weeks, levels that wear out.

A schedule is written as settings, ``changes=3,daily=0.6``, and becomes periods: from which decision on which levels
stand where.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Sequence
from typing import Any

import numpy as np

from rankone.errors import InputError
from rankone.kernels.decision import Shape
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.seeds import generator
from rankone.problems.base import Problem
from rankone.specs import Wholes, changed_settings, in_words, number_in, parse_settings, whole_number

_DAYS_A_WEEK = 7
_LATEST = 10**15  # decision at which a period may begin
_CHANGING = ("changes", "at", "drift", "daily", "weekly", "wear")  # settings that change something
_EXAMPLES = {"changes": 3, "at": (5_000, 20_000), "drift": 3, "daily": 0.6, "weekly": 0.2, "wear": 5_000}


@dataclasses.dataclass(frozen=True)
class Drift:
    """A schedule of changes.

    Args:
        changes: so many times the levels of every factor change places, at random and at once; the best level of a
            factor is another one afterwards.
        at: the decisions, counted from 0, from which on each change holds; default: evenly over `span`.
        drift: so many times levels do the same, but glide from place to place instead: rates in between lie on a
            straight line.
        daily: how far the level of the whole site swings in a day: 0.6 for 60% up and 60% down. The highest is that
            of the problem itself, so that no rate exceeds 1.
        weekly: the same over seven days.
        day: decisions of a day.
        wear: a level loses half of its attraction whenever it has been shown so often; 0: levels do not wear out.
        span: decisions over which changes and drift are spread.
        seed: of what is drawn.

    >>> Drift(changes=3).starts().tolist(), Drift.read("changes=2,daily=0.6").label
    ([0, 25000, 50000, 75000], 'changes=2,daily=0.6')
    """

    changes: int = 0
    at: Wholes | None = None
    drift: int = 0
    daily: float = 0.0
    weekly: float = 0.0
    day: int = 10_000
    wear: float = 0.0
    span: int = 100_000
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("changes", 0), ("drift", 0), ("day", 1), ("span", 1), ("seed", 0)):
            whole_number(name, getattr(self, name), least=least)
        for name in ("daily", "weekly"):
            number_in(name, getattr(self, name), "[0, 1)", example=0.6)
        number_in("wear", self.wear, "[0, inf)", example=5_000)
        if self.drift and (self.changes or self.at):
            got = f"both ({self.label})"
            raise InputError("changes at once or drift, whose schedules would overlap", got, "leave one out")
        if self.at is not None:
            check_starts((0, *self.at))
            if self.changes not in (0, len(self.at)):
                got = f"changes={self.changes} at {len(self.at)} decisions"
                raise InputError("as many changes as decisions to change at", got, "leave changes out")
        if max(self.changes, self.drift) >= self.span:
            do = "take fewer, or a longer span"
            raise InputError(f"fewer changes than decisions to spread them over, {self.span:,}", self.label, do)

    @classmethod
    def read(cls, text: str) -> Drift:
        """Return the schedule that a text like ``changes=3,daily=0.6`` names."""
        hints = typing.get_type_hints(cls)
        defaults = {field.name: field.default for field in dataclasses.fields(cls)}
        try:
            settings = parse_settings("schedule", text, {name: hints[name] for name in defaults}, defaults | _EXAMPLES)
        except InputError as error:
            do = error.do.replace("schedule:", "needle:8x8|")
            raise InputError(error.expected.replace("schedule:", ""), error.got, do) from None
        if not any(name in settings for name in _CHANGING):
            raise InputError(f"what changes, after |: {', '.join(_CHANGING)}", f"'{text}'", "try needle:8x8|changes=3")
        return cls(**settings)

    @property
    def label(self) -> str:
        """The settings that differ from their defaults; where nothing changes, that it does not."""
        shown = changed_settings(self)
        if not any(name in shown for name in _CHANGING):
            shown = {"changes": "0"} | shown
        return ",".join(f"{name}={value}" for name, value in shown.items())

    def starts(self) -> Ints:
        """Return the first decision of each period."""
        count = self.changes or self.drift
        pieces = [0, *self.at] if self.at is not None else [self.span * k // (count + 1) for k in range(count + 1)]
        return np.array(pieces, np.int64)

    def cycles(self) -> Floats:
        """Return the swing and the period, in decisions, of each cycle of the whole site."""
        both = [(self.daily, self.day), (self.weekly, _DAYS_A_WEEK * self.day)]
        return np.array([cycle for cycle in both if cycle[0]], np.float64).reshape(-1, 2)

    def tables(self, rates: Floats) -> Floats:
        """Return the rates of all combinations in each period, by number: the levels of each factor are shuffled."""
        rng, tables = generator(self.seed, "drift", self.changes, self.drift), [rates]
        for _ in self.starts()[1:]:
            best = np.unravel_index(tables[-1].argmax(), rates.shape)
            orders = [_another_order(size, int(level), rng) for size, level in zip(rates.shape, best, strict=True)]
            tables.append(tables[-1][np.ix_(*orders)])
        return np.array([table.ravel() for table in tables])


class Changing(Problem):
    """Base of the problems that change as a schedule says."""

    problem: Any  # what the world is like at first
    drift: Drift

    @property
    def shape(self) -> Shape:
        """What a policy starts with."""
        shape: Shape = self.problem.shape
        return shape

    @property
    def forbidden(self) -> Ints:
        """Return what a policy must never show."""
        rules: Ints = self.problem.forbidden
        return rules

    @property
    def schedule(self) -> str:
        """How the world changes, as a text."""
        return self.drift.label

    @property
    def title(self) -> str:
        """The name in words."""
        base, mark, label = self.name.partition("|")
        return f"{in_words(base)}; {label.replace('=', ' = ').replace(',', ', ')}" if mark else self.name


def _another_order(size: int, best: int, rng: np.random.Generator) -> Ints:
    """Draw an order of levels in which the best one has another place, where there is one."""
    order = rng.permutation(size)
    while size > 1 and order[best] == best:
        order = rng.permutation(size)
    return order


def check_starts(starts: Sequence[int]) -> None:
    """Refuse periods that overlap, or do not begin at the first decision."""
    for index, start in enumerate(starts):
        whole_number("the decision at which a period begins", start, least=0, most=_LATEST, example=25_000)
        if index == 0 and start != 0:
            raise InputError("a first period that begins at decision 0", start, "say how the world is at first")
        if index and start <= starts[index - 1]:
            got = f"{start:,} after {starts[index - 1]:,}"
            raise InputError("periods that begin one after the other and do not overlap", got, "put them in order")
