"""What a report on an experiment says, and how it is told. Plain values: a client reads one without NumPy or Numba."""

from __future__ import annotations

import dataclasses
from typing import Any

from rankone.deprecation import OldAttribute
from rankone.notebook import Shown
from rankone.serving.report_wording import headline, level_columns, level_table, told
from rankone.specs import amount


@dataclasses.dataclass(frozen=True)
class LevelReport:
    """One row or column. Its rate is measured with the leading partner, where levels can be compared."""

    name: str
    live: bool
    decisions: int
    share: float  # of all decisions
    outcomes: int
    clicks: int
    rate: float | None  # click rate together with the leading column (row); None: no outcome yet
    low: float
    high: float
    in_race: bool  # could still be the best
    doubt: float  # it is beaten at any error rate above this one
    ratio: float | None = None  # its clicks for each click of the leading level; None: not known on this basis
    ratio_low: float = 0.0  # all these intervals hold together, at all times, but for the error rate
    ratio_high: float | None = None  # None: no bound yet
    against: str = ""  # the same in words


@dataclasses.dataclass(frozen=True)
class Shortfall:
    """A level of which fewer outcomes came back than it was chosen, compared with another level."""

    side: str  # "row" or "column"
    name: str
    told: float  # outcomes that count for each decision with this level
    other: str
    other_told: float


@dataclasses.dataclass(frozen=True, repr=False)
class Report(Shown):
    """A report on an experiment at one moment. ``str(report)`` is made for reading, `to_dict` for programs."""

    name: str
    policy: str
    policy_known: bool  # in the process that made the report; False: it can be looked at and stopped, not played
    seq: int  # events in the journal
    decisions: int
    outcomes: dict[str, int]  # by kind: clicked, not_clicked, expired, held, late, void, open
    fillers: int
    voided_by_age: int  # decisions that nobody told, to make room for new ones
    best_row: str
    best_col: str
    rate: float | None
    low: float
    high: float
    confidence: float  # lower bound on the probability that the leading pair is the best one
    error_rate: float
    decided: bool  # the winner is known at the stated error rate; not to be trusted where there are `shortfalls`
    stopped: str | None  # why the experiment was stopped
    shown_row: str | None  # what every visitor sees since it was stopped; None: it runs
    shown_col: str | None
    resumed: str | None  # why it experiments again although nobody resumed it: the pair it showed was retired
    clock_ahead: float  # seconds that the journal's time is ahead of the machine's clock, when last noted
    clock_jumped: float  # seconds by which the machine's clock, and the journal's time, last jumped ahead
    window: float | None  # seconds after which silence means "not clicked"; until then outcomes are held
    rows: tuple[LevelReport, ...]
    cols: tuple[LevelReport, ...]
    eras: tuple[str, ...]  # why the policy started (afresh)
    reward_cap: float | None = None  # clicks are rewards, rounded with probability reward / cap; None: they are clicks
    goal: str = ""  # "earn", "both" or "decide"; experiments of older programs had none
    basis: str = "steady"  # "any": holds however the click rate of the whole site moves; "steady": while none moves
    explore: float = 0.0  # share of decisions that explore now
    margin: float = 0.0  # a leading pair within this part of the best one is good enough
    good_enough: bool = False  # decided within the margin, and by no more than that
    control_row: str | None = None
    control_col: str | None = None
    control_share: float = 0.0  # of all decisions
    uplift: float | None = None  # clicks of the leading pair over the control's: 0.1 is 10 % more; None: not known
    uplift_low: float = -1.0
    uplift_high: float | None = None  # None: no bound yet
    shortfalls: tuple[Shortfall, ...] = ()  # where traffic does not match what was chosen
    visitors_left: tuple[int, int] | None = None  # until a verdict, from and to, at present estimates; None: no guess
    seconds_left: tuple[float, float] | None = None  # the same at the traffic so far

    @property
    def sentence(self) -> str:
        """What leads, how sure that is and what is still in the race, in one sentence; more where more must be said."""
        return told(self)

    def _sentence(self) -> str:
        return f"{self._head()}\n{self.sentence}"

    def _tables(self) -> dict[str, Any]:
        levels = [("row", level) for level in self.rows] + [("column", level) for level in self.cols]
        names = [field.name for field in dataclasses.fields(LevelReport)]
        columns = {name: [getattr(level, name) for _, level in levels] for name in names}
        return {"levels": {"side": [side for side, _ in levels]} | columns}

    def _shown(self) -> dict[str, Any]:
        return level_columns(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return dataclasses.asdict(self) | {"headline": headline(self), "sentence": self.sentence}

    as_dict = OldAttribute("to_dict")

    def _head(self) -> str:
        return f"{self.name} ({self.policy}): {amount(self.decisions, 'decision')}, " + ", ".join(
            f"{count} {kind.replace('_', ' ')}"
            for kind, count in self.outcomes.items()
            if count or kind in ("clicked", "open")
        )

    def __str__(self) -> str:
        return "\n".join([self._head(), self.sentence, *level_table(self, "row"), *level_table(self, "column")])
