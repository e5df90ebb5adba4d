"""Units of work sized by what they cost: long enough to be worth sending, short enough to lose little."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rankone.policies import Policy
from rankone.problems import Problem
from rankone.simulation.feedback import Feedback
from rankone.simulation.work_unit import Run, Unit, modules_of, versions

# A unit of work should take about this long.
_UNIT_SECONDS = 1.0


class Units:
    """Deals out units of work, each about `_UNIT_SECONDS` long by what earlier runs of its kind took.

    Args:
        problems: the problems to play on.
        policies: the policies that play.
        steps: steps at which regret is recorded.
        feedback: when outcomes come.
        seed: root of the seed tree.
        missing: runs still to do, in increasing order, by names of problem and policy.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        policies: Sequence[Policy],
        steps: npt.NDArray[np.int64],
        feedback: Feedback,
        seed: int,
        missing: dict[tuple[str, str], list[int]],
    ) -> None:
        self._kinds = [
            (world, player) for world in problems for player in policies if missing[world.name, player.label]
        ]
        alike: dict[tuple[type, type], tuple[Problem, Policy]] = {}
        for world, player in self._kinds:
            alike.setdefault((type(world), type(player)), (world, player))
        self._to_compile = list(alike.values())
        self._missing = missing
        self._steps, self._feedback, self._seed = steps, feedback, seed
        self._taken: dict[tuple[str, str], tuple[int, float]] = {}  # runs done and their seconds

    def next(self, parallel: int) -> Unit | None:
        """Return the next unit, None when every run is dealt out; `parallel` workers should all get a share."""
        kind = self._next_kind(parallel)
        if kind is None:
            return None
        world, player = kind
        left = self._missing[world.name, player.label]
        done, seconds = self._taken.get((world.name, player.label), (0, 0.0))
        size = int(_UNIT_SECONDS * done / max(1e-6 * done, seconds)) if done else 1
        size = max(1, min(size, -(-len(left) // parallel)))
        first, count = left[0], 1
        while count < min(size, len(left)) and left[count] == first + count:  # a stored study may have holes
            count += 1
        del left[:count]
        code = versions(*modules_of(player, world))
        return Unit(world, player, self._steps, self._seed, range(first, first + count), self._feedback, code)

    def _next_kind(self, parallel: int) -> tuple[Problem, Policy] | None:
        """Return whose turn it is; with many workers first one of each that is compiled for itself, so that they do not
        all wait for the same."""
        while parallel > 1 and self._to_compile:
            world, player = self._to_compile.pop(0)
            if self._missing[world.name, player.label]:
                return world, player
        while self._kinds:
            world, player = self._kinds[0]
            if self._missing[world.name, player.label]:
                return world, player
            self._kinds.pop(0)
        return None

    def learn(self, results: Sequence[Run]) -> None:
        """Note how long runs of this kind take."""
        for result in results:
            done, seconds = self._taken.get((result.problem, result.policy), (0, 0.0))
            self._taken[result.problem, result.policy] = done + 1, seconds + result.seconds
