"""What a fold holds, and what can be told of it without changing anything."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankone.live.evidence.segments import Segments
from rankone.live.evidence.weighing import Weighing
from rankone.live.factors import Factors
from rankone.live.fold.open_decisions import Open
from rankone.live.forbidden import living_rules
from rankone.live.settings import RESTART, Settings
from rankone.numerics.arrays import Ints

_BYTES, _OPEN_BYTES = 30_000, 600  # of memory besides arrays: of a fold, and of each decision that is open


class FoldFacts:
    """The facts of an experiment that its journal adds up to (`rankone.live.fold.fold`)."""

    settings: Settings
    weighing: Weighing
    segments: Segments
    factors: Factors
    live: list[Ints]  # the numbers of the living levels of each factor
    prior: Ints  # pulls and clicks of each combination from before the experiment, (2, *sizes)
    asked: Ints  # decisions of each combination, and below outcomes that count and clicks; since the last restart
    pulls: Ints
    clicks: Ints
    late: Ints  # clicks of each combination that came too late to count; since the last restart
    earlier: Ints  # all three before it, (3, *sizes)
    state: Any  # of the policy
    open: dict[int, Open]  # decisions without an outcome, oldest first
    stopped: dict[str, Any] | None
    alarms: list[dict[str, Any]]  # that rang (`rankone.live.commit.alarms`)
    archives: list[dict[str, Any]]  # what each moved to a file, see `rankone.live.operate.archive`
    learned: int  # outcomes that count
    learned_before: int  # the last restart
    forbidden: list[list[int]]  # a level of each factor, -1: any; all that fits is never shown

    @property
    def archived(self) -> int:
        """The last event that was moved to a file; 0: none was."""
        return int(self.archives[-1]["upto"]) if self.archives else 0

    @property
    def nbytes(self) -> int:
        """How much memory this takes, roughly."""
        counts = (self.pulls, self.clicks, self.asked, self.late, self.earlier, self.prior)
        known = sum(array.nbytes for array in (*(self.state or ()), *counts, *self.weighing.arrays))
        return _BYTES + known + _OPEN_BYTES * len(self.open)

    @property
    def shown(self) -> dict[str, str] | None:
        """What every visitor sees since the experiment was stopped, by factor; None while it runs."""
        levels = self.stopped_on()
        return None if levels is None else self.factors.named(levels)

    @property
    def control(self) -> dict[str, str] | None:
        """The control's level of each factor, of factors that came later the first; None: there is no control."""
        return self.factors.with_first(tuple(self.settings.control.levels) if self.settings.control else None)

    def stopped_on(self) -> list[int] | None:
        """Return the level of each factor that every visitor sees; None while it runs."""
        if self.stopped is None:
            return None
        levels = self.stopped["levels"]
        return [*levels, *[0] * (len(self.factors) - len(levels))]

    @property
    def learned_since(self) -> int:
        """Outcomes that count since the last restart."""
        return self.learned - self.learned_before

    @property
    def restarted_at(self) -> int:
        """The first decision since the last restart."""
        return max((int(alarm["decisions"]) for alarm in self.alarms if alarm["did"] == RESTART), default=0)

    def since_restart(self) -> list[dict[str, Any]]:
        """Return the alarms since the last restart, and the one that caused it."""
        restarts = [place for place, alarm in enumerate(self.alarms) if alarm["did"] == RESTART]
        return self.alarms[restarts[-1] if restarts else 0 :]

    @property
    def misfit_known(self) -> bool:
        """Whether it rang that levels are no product."""
        return any(alarm["what"] == "misfit" for alarm in self.since_restart())

    @property
    def doubted(self) -> bool:
        """Whether something rang since the last restart: statements about all that time may be wrong."""
        return any(alarm["did"] != RESTART for alarm in self.since_restart())

    def of_living(self, counts: Ints) -> Ints:
        """Return counts of the combinations of living levels, not to be changed."""
        return counts if self.factors.sizes == tuple(map(len, self.live)) else counts[np.ix_(*self.live)]

    @property
    def rules(self) -> Ints:
        """What is forbidden, as the policy counts levels."""
        return living_rules(self.forbidden, self.factors)
