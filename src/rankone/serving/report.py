"""What a report on an experiment says, and how it is told. Plain values: a client reads one without NumPy or Numba."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

from rankone.deprecation import OldAttribute
from rankone.notebook import Shown
from rankone.serving.names import PAIR, factor_text
from rankone.serving.report_wording import condition, headline, level_columns, level_table, told
from rankone.serving.segment_report import SegmentsReport, segment_table, segments_text
from rankone.specs import amount

_OF_FACTORS = ("factors", "shown_levels", "control_levels")  # more than rows and columns need


@dataclasses.dataclass(frozen=True)
class LevelReport:
    """One level. Its rate is measured with the leading levels of the other factors, where levels can be compared."""

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
    earlier_outcomes: int = 0  # before the last restart; all counts above are since then
    earlier_clicks: int = 0


@dataclasses.dataclass(frozen=True)
class FactorReport:
    """One factor: its levels, and the one that leads."""

    name: str
    best: str
    levels: tuple[LevelReport, ...]


@dataclasses.dataclass(frozen=True)
class Shortfall:
    """A level of which fewer outcomes came back than it was chosen, compared with another level."""

    side: str  # "row" or "column", or the name of another factor
    name: str
    told: float  # outcomes that count for each decision with this level
    other: str
    other_told: float


@dataclasses.dataclass(frozen=True)
class Interaction:
    """Two levels of different factors that are clicked together more often than the product of levels says."""

    levels: dict[str, str]  # by factor
    other: str  # level of the first of the two factors, with which its level is compared
    times: float  # as many clicks for each on `other` beside the second level as beside others; 1 for a product
    p: float  # for all comparisons together, at one look, whatever the click rate of the whole site does, if each level
    # keeps its ratio to the others at all times and outcomes of all levels come back alike (without a
    # window, also equally soon)


@dataclasses.dataclass(frozen=True)
class Alarm:
    """What rang: a change of the world, or levels that are no product."""

    what: str  # "change" or "misfit"
    did: str  # what the experiment did about it: "restart", "insure", or "tell" no more than this
    at: float  # seconds since 1970
    decisions: int  # up to then
    outcomes: int  # that count, up to then
    side: str  # "row" or "column", or the name of another factor
    first: str  # the level whose clicks, for each click of the second one, changed or differ
    second: str
    beside: dict[str, str] | None  # what both were shown with, by factor; None: whatever that was
    before: float | None  # clicks of the first for each click of the second; of a misfit, beside that level; None: the
    # first was proven to be better, and then the second
    after: float | None  # after the change; of a misfit, beside other levels
    led: dict[str, str]  # by factor, what led then
    won: bool  # it had won, or was good enough
    rival: dict[str, Any] | None = None  # of a misfit: `levels` that differ in more than one from what led and had the
    # highest click `rate`, and that of what `led`; None: none had a higher one


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
    best_row: str | None  # of two factors, here and below; see `factors`
    best_col: str | None
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
    factors: tuple[FactorReport, ...] = ()  # all of them; two may be rows and columns
    shown_levels: dict[str, str] | None = None  # by factor, what every visitor sees since it was stopped
    control_levels: dict[str, str] | None = None  # by factor
    forbidden: tuple[dict[str, str], ...] = ()  # levels that are never shown together, by factor
    prior_impressions: int = 0  # from before the experiment, which the policy began with; no statement rests on them
    prior_weight: float | None = None  # how much each of them counts; None: there are none, or nobody noted it
    prior_left_out: tuple[str, ...] = ()  # levels of the past counts that the experiment does not have
    excluded: int = 0  # outcomes that no longer count
    interactions: tuple[Interaction, ...] = ()  # of three factors and more; the strongest first, striking or not
    even_clicks: float | None = None  # what an even test of all combinations would have had by now, or since the last
    # restart; None: not known
    segments: SegmentsReport | None = None  # what is known of segments; None: nobody said anything of a visitor
    on_change: str = "ignore"  # what it does when clicks of levels change against each other
    on_misfit: str = "ignore"  # what it does when levels are no product
    alarms: tuple[Alarm, ...] = ()  # that rang, the oldest first; the last restart began what is reported

    @property
    def best(self) -> dict[str, str]:
        """What leads, by factor."""
        return {factor.name: factor.best for factor in self.factors}

    @property
    def present_alarms(self) -> tuple[Alarm, ...]:
        """The last alarm that restarted the experiment, if there was one, and those since."""
        restarts = [place for place, alarm in enumerate(self.alarms) if alarm.did == "restart"]
        return self.alarms[restarts[-1] if restarts else 0 :]

    @property
    def doubted(self) -> tuple[Alarm, ...]:
        """The alarms because of which the present statement may be wrong."""
        return tuple(alarm for alarm in self.present_alarms if alarm.did != "restart")

    @property
    def are_pair(self) -> bool:
        """Whether its factors are rows and columns."""
        return tuple(self.best) == PAIR

    @property
    def sentence(self) -> str:
        """What leads, how sure that is and what is still in the race, in one sentence; more where more must be said."""
        return told(self)

    @property
    def segments_sentence(self) -> str:
        """Whether what is best depends on the segment; empty if nobody said anything of a visitor."""
        return segments_text(self, condition(self, "each segment"))

    def _sentence(self) -> str:
        return f"{self._head()}\n{self.sentence}"

    def _tables(self) -> dict[str, Any]:
        levels = [(factor_text(factor.name), level) for factor in self.factors for level in factor.levels]
        names = [field.name for field in dataclasses.fields(LevelReport)]
        columns = {name: [getattr(level, name) for _, level in levels] for name in names}
        return {"levels": {"side" if self.are_pair else "factor": [side for side, _ in levels]} | columns}

    def _shown(self) -> dict[str, Any]:
        return level_columns(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values; of rows and columns it names no factors."""
        found = dataclasses.asdict(self) | {"headline": headline(self), "sentence": self.sentence}
        if self.segments is None:
            del found["segments"]
        else:
            found["segments"]["sentence"] = self.segments_sentence
        return {key: value for key, value in found.items() if not self.are_pair or key not in _OF_FACTORS}

    @classmethod
    def of_dict(cls, found: Mapping[str, Any]) -> Self:
        """Return what `to_dict` wrote, here or in a service of an older version."""
        given = {key: value for key, value in found.items() if key not in ("headline", "sentence")}
        rows, cols = (tuple(LevelReport(**level) for level in given[side]) for side in ("rows", "cols"))
        factors = [(each["name"], each["best"], each["levels"]) for each in given.get("factors", ())]
        given["factors"] = tuple(
            FactorReport(name, best, tuple(LevelReport(**level) for level in levels)) for name, best, levels in factors
        ) or (FactorReport("row", given["best_row"], rows), FactorReport("col", given["best_col"], cols))
        for key in ("shown", "control") if not factors else ():  # of rows and columns
            pair = {side: given.get(f"{key}_{side}") for side in PAIR}
            given[f"{key}_levels"] = None if None in pair.values() else pair
        given["interactions"] = tuple(Interaction(**each) for each in given.get("interactions", ()))
        if "segments" in given:
            given["segments"] = SegmentsReport.of_dict(given["segments"])
        given["shortfalls"] = tuple(Shortfall(**each) for each in given.get("shortfalls", ()))
        given["alarms"] = tuple(Alarm(**each) for each in given.get("alarms", ()))
        lists = {key: tuple(value) for key, value in given.items() if isinstance(value, list)}
        return cls(**given | lists | {"rows": rows, "cols": cols})

    as_dict = OldAttribute("to_dict")

    def _head(self) -> str:
        return f"{self.name} ({self.policy}): {amount(self.decisions, 'decision')}, " + ", ".join(
            f"{count:,} {kind.replace('_', ' ')}"
            for kind, count in self.outcomes.items()
            if count or kind in ("clicked", "open")
        )

    def __str__(self) -> str:
        tables = [line for factor in self.factors for line in level_table(self, factor)]
        if self.segments is not None:
            tables += [self.segments_sentence, *segment_table(self.segments)]
        return "\n".join([self._head(), self.sentence, *tables])
