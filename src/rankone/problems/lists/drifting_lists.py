"""Lists whose items change places in the visitors' favour while they are played, on a site whose level may swing.

Attractions are shuffled at once (``changes``), and with the level of the site (``daily``, ``weekly``) all of them rise
and fall together. Regret is against the best list at each moment.
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rankone.compiling.dispatch import extends
from rankone.errors import InputError
from rankone.kernels.decision import DecisionKind
from rankone.kernels.world import loss, move
from rankone.numerics.arrays import Floats, Ints
from rankone.problems.base import problem_from_dict, problem_to_dict
from rankone.problems.drift import Changing, Drift
from rankone.problems.lists.base import ListProblem
from rankone.problems.lists.cascade import CascadeWorld
from rankone.problems.lists.dcm import DCMWorld
from rankone.problems.lists.pbm import PBMWorld
from rankone.specs import amount


class Periods(NamedTuple):
    """What a world that changes has besides: attractions, the first decision and the best list of each period."""

    starts: Ints  # (S,)
    attractions: Floats  # (S, L)
    lists: Ints  # (S, K)
    cycles: Floats  # (cycles, 2) swing and period of the whole site
    now: Floats  # (2,) the period, and the level of the site


@extends(PBMWorld, Periods)
class DriftingPBMWorld:
    """A position-based world that changes."""


@extends(CascadeWorld, Periods)
class DriftingCascadeWorld:
    """A cascade that changes."""


@extends(DCMWorld, Periods)
class DriftingDCMWorld:
    """A dependent click world that changes."""


_WORLDS: dict[type, Any] = {PBMWorld: DriftingPBMWorld, CascadeWorld: DriftingCascadeWorld, DCMWorld: DriftingDCMWorld}


@move.register(DriftingPBMWorld)
@move.register(DriftingCascadeWorld)
@move.register(DriftingDCMWorld)
def _move(world: Any, step: int, rng: Any) -> None:
    starts, now, period = world.starts, world.now, int(world.now[0])
    if step < starts[period]:
        period = 0
    while period + 1 < len(starts) and starts[period + 1] <= step:
        period += 1
    level = 1.0
    for cycle in range(len(world.cycles)):
        swing = world.cycles[cycle, 0]
        level *= (1.0 + swing * math.sin(2.0 * math.pi * step / world.cycles[cycle, 1])) / (1.0 + swing)
    if period != now[0] or level != now[1]:
        now[0], now[1] = period, level
        for item in range(len(world.attraction)):
            world.attraction[item] = level * world.attractions[period, item]
        world.best[0] = 0.0
        world.best[0] = -loss(world, world.lists[period])  # what it loses to nothing is what it earns


class DriftingLists(Changing):
    """A world of lists that changes as a schedule says.

    Args:
        problem: what the world is like at first: a `PBM`, a `Cascade` or a `DCM`.
        schedule: a `Drift` or its settings as a text: ``changes`` (and ``at``), ``daily``, ``weekly``.
        name: what tables and charts call it.

    >>> import rankone
    >>> rankone.as_problem("cascade:8x3|changes=2,daily=0.5")
    <DriftingLists cascade:8x3|changes=2,daily=0.5: 8 items, 3 positions, 3 periods>
    """

    kind: ClassVar[str] = "drifting-lists"
    decision_kind: ClassVar[DecisionKind] = "list"

    def __init__(
        self, problem: ListProblem | Mapping[str, Any], schedule: Drift | str, *, name: str | None = None
    ) -> None:
        made: Any = problem_from_dict(problem) if isinstance(problem, Mapping) else problem
        if not isinstance(made, ListProblem) or type(made.start()) not in _WORLDS:
            raise InputError("lists of a PBM, a Cascade or a DCM that change", repr(made), "take one of these")
        self.problem = made
        self.drift = Drift.read(schedule) if isinstance(schedule, str) else schedule
        if self.drift.drift or self.drift.wear:
            do = "say changes, at, daily or weekly"
            raise InputError("lists that change at once, or with the whole site", self.drift.label, do)
        self.name = name if name is not None else f"{made.name}|{self.drift.label}"

    def start(self) -> Any:
        """Return the world before the first decision."""
        still: Any = self.problem.start()
        attractions = self.drift.tables(self.problem.attraction)
        values = problem_to_dict(self.problem)
        each = [problem_from_dict(values | {"attraction": rates.tolist()}) for rates in attractions]
        lists = np.array([problem.best_decision() for problem in each], np.int64)
        starts, cycles, now = self.drift.starts(), self.drift.cycles(), np.array([0.0, 1.0])
        return _WORLDS[type(still)](*map(np.copy, still), *Periods(starts, attractions, lists, cycles, now))

    def known(self) -> dict[str, Any]:
        """Return what policies may be told: of positions, and at which decisions the world changes."""
        return self.problem.known() | {"changes": tuple(self.drift.starts()[1:].tolist())}

    def earned(self, clicks: Ints, shown: Ints) -> Floats:
        """Return what outcomes are worth on average: as in the world that stands still."""
        return self.problem.earned(clicks, shown)

    def description(self) -> dict[str, Any]:
        """Return sizes, and how the world changes."""
        items, positions = self.shape
        return {"items": items, "positions": positions, "schedule": self.drift.label}

    def __repr__(self) -> str:
        items, positions = self.shape
        periods = amount(len(self.drift.starts()), "period")
        return f"<DriftingLists {self.name}: {amount(items, 'item')}, {amount(positions, 'position')}, {periods}>"
