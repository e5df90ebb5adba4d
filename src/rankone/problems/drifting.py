"""Problems that change while they are played. Regret is against the best combination *at each moment*."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.errors import InputError
from rankone.kernels.world import loss, move, respond
from rankone.numerics.arrays import Floats, Ints, starts_of
from rankone.problems.base import Problem, problem_from_dict, problem_to_dict
from rankone.problems.drift import Changing, Drift, check_starts
from rankone.specs import amount

_GLIDE = 50  # decisions between two steps of a slow drift
_MOST_RATES = 10_000_000  # kept in all segments
# Fields of `DriftingWorld.clock` and of `DriftingWorld.level`.
DRIFT_SEGMENT, DRIFT_SMOOTH, DRIFT_BEST = range(3)
DRIFT_SITE, DRIFT_TOP, DRIFT_HALF = range(3)

Segments = Sequence[tuple[int, Problem | Mapping[str, Any]]]


class DriftingWorld(NamedTuple):
    """Click rates of all combinations, by number, in each segment; and what they are now."""

    starts: Ints  # (S,) first decision of each segment
    rates: Floats  # (S, n)
    cycles: Floats  # (cycles, 2) swing and period of the whole site
    sizes: Ints  # (D,)
    first: Ints  # (D,) where the levels of each factor begin in `shown`
    shown: Floats  # (levels,) how often each level was shown
    now: Floats  # (n,) rates without the level of the site
    level: Floats  # (3,) level of the site; the highest of `now`; after how many times shown half is worn off, or 0
    clock: Ints  # (2,) segment, do rates glide


@inlined
def combination_of(world: DriftingWorld, shown: Any) -> int:
    """Return the number of a combination, the last factor fastest."""
    number = 0
    for factor in range(len(shown)):
        number = number * world.sizes[factor] + shown[factor]
    return number


@noalloc
def settle(world: DriftingWorld, step: int) -> None:
    """Work out the rates as they are at a decision."""
    segment, top = world.clock[DRIFT_SEGMENT], 0.0
    after, glide = segment, 0.0
    if world.clock[DRIFT_SMOOTH] and segment + 1 < len(world.starts):
        after = segment + 1
        glide = (step - world.starts[segment]) / (world.starts[after] - world.starts[segment])
    for number in range(len(world.now)):
        rate = world.rates[segment, number] * (1.0 - glide) + world.rates[after, number] * glide
        if world.level[DRIFT_HALF] > 0.0:
            rest, worn = number, 0.0
            for factor in range(len(world.sizes) - 1, -1, -1):
                above = rest // world.sizes[factor]
                worn += world.shown[world.first[factor] + rest - above * world.sizes[factor]]
                rest = above
            rate *= 0.5 ** (worn / world.level[DRIFT_HALF])
        world.now[number] = rate
        top = max(top, rate)
    world.level[DRIFT_TOP] = top


@move.register(DriftingWorld)
def _move(world: DriftingWorld, step: int, rng: Any) -> None:
    starts, clock, level = world.starts, world.clock, world.level
    segment = clock[DRIFT_SEGMENT]
    if step < starts[segment]:
        segment = 0
    while segment + 1 < len(starts) and starts[segment + 1] <= step:
        segment += 1
    glides = clock[DRIFT_SMOOTH] and step % _GLIDE == 0
    if segment != clock[DRIFT_SEGMENT] or glides or level[DRIFT_HALF] > 0.0:
        clock[DRIFT_SEGMENT] = segment
        settle(world, step)
    site = 1.0
    for cycle in range(len(world.cycles)):
        swing = world.cycles[cycle, 0]
        site *= (1.0 + swing * math.sin(2.0 * math.pi * step / world.cycles[cycle, 1])) / (1.0 + swing)
    level[DRIFT_SITE] = site


@respond.register(DriftingWorld)
def _respond(world: DriftingWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    rate = world.level[DRIFT_SITE] * world.now[combination_of(world, shown)]
    if world.level[DRIFT_HALF] > 0.0:
        for factor in range(len(shown)):
            world.shown[world.first[factor] + shown[factor]] += 1.0
    outcome[0] = 1 if rng.random() < rate else 0
    return True


@loss.register(DriftingWorld)
def _loss(world: DriftingWorld, shown: Any) -> float:
    return world.level[DRIFT_SITE] * (world.level[DRIFT_TOP] - world.now[combination_of(world, shown)])


class Drifting(Changing):
    """A problem that changes as a schedule says.

    Args:
        problem: what the world is like at first: a problem on pairs or combinations.
        schedule: a `Drift`, or its settings as a text; or periods, ``(first decision, problem)`` each, the first one
            the decision from which the world is no longer as at first.
        glides: whether rates glide from one of the periods given to the next, on straight lines.
        name: what tables and charts call it.

    >>> import rankone
    >>> Drifting(rankone.needle(8, 8), "changes=3")
    <Drifting needle:8x8|changes=3: 8 x 8, 4 periods>
    >>> Drifting(rankone.needle(8, 8), [(5_000, rankone.needle(8, 8, p=0.1))]).starts.tolist()
    [0, 5000]
    """

    kind: ClassVar[str] = "drifting"
    decision_kind: ClassVar = "combination"

    def __init__(
        self,
        problem: Problem | Mapping[str, Any],
        schedule: Drift | str | Segments,
        *,
        glides: bool = False,
        name: str | None = None,
    ) -> None:
        self.problem = _steady(problem)
        if glides and isinstance(schedule, (str, Drift)):
            raise InputError("glides with periods that are given", f"the schedule {schedule!r}", "try 'drift=3'")
        self.glides = bool(glides)
        if isinstance(schedule, (str, Drift)):
            self.drift = Drift.read(schedule) if isinstance(schedule, str) else schedule
            self.segments: tuple[tuple[int, Problem], ...] = ()
        else:
            self.drift = Drift()
            self.segments = tuple((start, _steady(each)) for start, each in _pairs(schedule))
            check_starts([0, *(start for start, _ in self.segments)])
            for _, each in self.segments:
                if each.shape != self.problem.shape:
                    got = f"{each.shape} after {self.problem.shape}"
                    raise InputError("periods with the same levels", got, "give levels that are absent a rate of 0")
        if (len(self.segments) + len(self.drift.starts())) * math.prod(self.shape) > _MOST_RATES:
            got = f"{self.problem.name} with {len(self.starts):,} periods"
            raise InputError(f"at most {_MOST_RATES:,} rates in all periods", got, "take fewer periods or levels")
        label = f"segments={len(self.segments) + 1}" if self.segments else self.drift.label
        self.name = name if name is not None else f"{self.problem.name}|{label}"

    @property
    def starts(self) -> Ints:
        """The first decision of each period."""
        own = [0, *(start for start, _ in self.segments)]
        return np.array(own, np.int64) if self.segments else self.drift.starts()

    def tables(self) -> Floats:
        """Return the click rates of all combinations in each period, ``(periods, n)``."""
        if not self.segments:
            return self.drift.tables(_means(self.problem))
        return np.array([_means(each).ravel() for each in (self.problem, *(each for _, each in self.segments))])

    def start(self) -> DriftingWorld:
        """Return the world before the first decision."""
        rates, sizes = self.tables(), np.array(self.shape, np.int64)
        first = starts_of(sizes)[:-1]
        level = np.array([1.0, rates[0].max(), self.drift.wear])
        clock = np.array([0, int(self.glides or self.drift.drift > 0)])
        now = np.zeros(int(sizes.sum())), rates[0].copy(), level, clock
        return DriftingWorld(self.starts, rates, self.drift.cycles(), sizes, first, *now)

    def to_dict(self) -> dict[str, Any]:
        """Plain values that ``Drifting(**values)`` turns back into the same problem."""
        segments = [[start, problem_to_dict(each)] for start, each in self.segments]
        return {
            "name": self.name,
            "problem": problem_to_dict(self.problem),
            "schedule": segments if segments else self.drift.label,
            "glides": self.glides,
        }

    def known(self) -> dict[str, tuple[float, ...]]:
        """Return the decisions at which the world changes at once, for yardsticks that restart there."""
        return {} if self.drift.drift or self.glides else {"changes": tuple(self.starts[1:].tolist())}

    def description(self) -> dict[str, Any]:
        """Return sizes, and how the world changes."""
        return Problem.description(self) | {"segments": len(self.starts), "schedule": self.name.partition("|")[2]}

    def __repr__(self) -> str:
        return f"<Drifting {self.name}: {' x '.join(map(str, self.shape))}, {amount(len(self.starts), 'period')}>"


def _pairs(schedule: Any) -> list[tuple[int, Any]]:
    try:
        result = [(start, each) for start, each in schedule]
    except (TypeError, ValueError):
        result = []
    if not result:
        expected = "a schedule as a text, a Drift, or (first decision, problem) of each period"
        raise InputError(expected, schedule, "try 'changes=3'")
    return result


def _means(problem: Problem) -> Floats:
    return np.asarray(problem.means, np.float64).reshape(problem.shape)  # type: ignore[attr-defined]


def _steady(problem: Any) -> Problem:
    """Return a problem on pairs or combinations whose rates are a table; refuse another."""
    result = problem_from_dict(problem) if isinstance(problem, Mapping) else problem
    if not isinstance(result, Problem) or isinstance(result, Drifting) or not hasattr(result, "means"):
        do = "pass rankone.RankOne, rankone.Product or rankone.Means, or rankone.as_problem('needle:8x8')"
        if getattr(result, "decision_kind", "") == "list":
            do = "for lists take rankone.lists.DriftingLists"
        raise InputError("a problem on pairs or combinations that does not change", repr(result), do)
    return result
