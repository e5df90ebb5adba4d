"""What a report on an experiment says, and how it is told. Plain values: a client reads one without NumPy or Numba."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

from rankone.live.report import headline as first_words
from rankone.live.report import report_wording as wording
from rankone.live.report.edge_report import EdgeReport
from rankone.live.report.goal_report import GoalReport, goal_table
from rankone.live.report.ranking_report import RankingReport, list_table
from rankone.live.report.segment_report import SegmentsReport, restored, segment_table, segments_text
from rankone.notebook import Shown
from rankone.specs import amount

_MORE = "Assumptions and method: --details, in Python report.details"


@dataclasses.dataclass(frozen=True)
class LevelReport:
    """One level. Its rate is measured with the leading levels of the other factors, where levels can be compared."""

    name: str
    live: bool
    decisions: int
    share: float  # of all decisions
    outcomes: int
    clicks: int
    rate: float | None = None  # click rate with the leading levels of the others; None: not known, or nobody leads
    low: float | None = None  # of a rate that stays as it is, on the basis "steady"; None: no interval is known
    high: float | None = None
    in_race: bool = False  # could still be the best; where there are `shortfalls`, nothing says that it could not
    doubt: float = 0.0  # it is beaten at any error rate above this one
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
    """A level of which fewer outcomes came back, or more clicks too late, than of another for what was chosen."""

    factor: str
    name: str
    told: float  # outcomes that count for each decision with this level; where clicks are late, its share in time
    other: str
    other_told: float
    late: bool = False  # clicks came too late to count


@dataclasses.dataclass(frozen=True)
class Alarm:
    """Why an alarm was raised: clicks of levels changed, or levels interact."""

    what: str  # "change" or "misfit"
    did: str  # what the experiment did about it: "restart", "test-all", or "warn" and no more
    at: float  # seconds since 1970
    decisions: int  # up to then
    outcomes: int  # that count, up to then
    factor: str
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
    factors: tuple[FactorReport, ...]
    leads: bool  # whether enough is known to say what leads; else `best` is nothing but a guess
    confidence: float  # lower bound on the probability that what leads is the best; 0 with `shortfalls`
    error_rate: float
    decided: bool  # the winner is known at the stated error rate; not to be trusted where there are `shortfalls`
    stopped: str | None  # why the experiment was stopped
    shown: dict[str, str] | None  # by factor, what every visitor sees since it was stopped; None: it runs
    resumed: str | None  # why it experiments again although nobody resumed it: a level it showed was retired
    clock_ahead: float  # seconds that the journal's time is ahead of the machine's clock, when last noted
    clock_jumped: float  # seconds by which the machine's clock, and the journal's time, last jumped ahead
    window: float | None  # seconds after which silence means "not clicked"; until then outcomes are held
    eras: tuple[str, ...]  # why the policy started (afresh)
    aim: str = ""  # "earn", "both" or "decide"
    basis: str = "steady"  # "any": holds however the rate of the whole site moves; "steady": counts, nothing is stated
    explore: float = 0.0  # share of decisions that explore now
    margin: float = 0.0  # what leads is good enough within this part of the best
    good_enough: bool = False  # decided within the margin, and by no more than that
    control: dict[str, str] | None = None  # by factor
    control_share: float = 0.0  # of all decisions
    uplift: float | None = None  # clicks of what leads over the control's: 0.1 is 10% more; None: not known
    uplift_low: float = -1.0
    uplift_high: float | None = None  # None: no bound yet
    shortfalls: tuple[Shortfall, ...] = ()  # where traffic does not match what was chosen
    fault: str | None = None  # in the program: nothing is stated until it is mended; decisions go on
    faults: int = 0  # decisions whose policy said no sound probabilities: no statement rests on them
    visitors_left: tuple[int, int] | None = None  # until a verdict if differences so far are real; None: no guess
    seconds_left: tuple[float, float] | None = None  # the same at the traffic so far
    forbidden: tuple[dict[str, str], ...] = ()  # levels that are never shown together, by factor
    drawn: int | None = None  # outcomes of what was drawn at random, where the policy chooses for each visitor: what it
    # says of all visitors rests on these; None: it shows all visitors the same
    apart: tuple[tuple[str, str, str], ...] = ()  # a factor, and two levels in the race that rules let nobody compare
    prior_impressions: int = 0  # from before the experiment, which the policy began with; no statement rests on them
    prior_weight: float | None = None  # how much each of them counts; None: there are none, or nobody noted it
    prior_left_out: tuple[str, ...] = ()  # levels of the past counts that the experiment does not have
    excluded: int = 0  # outcomes that no longer count
    even_clicks: float | None = None  # what an even test of all combinations would have had by now, or since the last
    # restart; None: not known
    segments: SegmentsReport | None = None  # what is known of segments; None: nobody said anything of a visitor
    goals: tuple[GoalReport, ...] = ()  # other than a click that steers, the one that steers first
    edge: EdgeReport | None = None  # of an experiment that decides at the edge; None: it decides when it is asked
    alarms: tuple[Alarm, ...] = ()  # that rang, the oldest first; the last restart began what is reported
    ranking: RankingReport | None = (
        None  # where a ranking stands: its items are the levels of one factor; None: it is none
    )

    @property
    def best(self) -> dict[str, str]:
        """What leads, by factor."""
        return {factor.name: factor.best for factor in self.factors}

    @property
    def leader(self) -> LevelReport:
        """The leading level of the first factor: its rate, with the leading levels of the others, is of what leads."""
        first = self.factors[0]
        return next(level for level in first.levels if level.name == first.best)

    @property
    def steering(self) -> GoalReport | None:
        """The goal that steers, if it is a count or an amount; None: clicks do."""
        return next((goal for goal in self.goals if goal.steers), None)

    @property
    def present_alarms(self) -> tuple[Alarm, ...]:
        """The last alarm that restarted the experiment, if there was one, and those since."""
        restarts = [index for index, alarm in enumerate(self.alarms) if alarm.did == "restart"]
        return self.alarms[restarts[-1] if restarts else 0 :]

    @property
    def doubted(self) -> tuple[Alarm, ...]:
        """The alarms because of which the present statement may be wrong."""
        return tuple(alarm for alarm in self.present_alarms if alarm.did != "restart")

    @property
    def headline(self) -> str:
        """What won or leads and whether that is proven, in at most 25 words."""
        return first_words.headline(self)

    @property
    def assumes(self) -> str:
        """A line that says what every statement rests on; empty where nothing is stated."""
        return first_words.assumes(self)

    @property
    def brief(self) -> str:
        """The headline and what it assumes."""
        return "\n".join(filter(None, [self.headline, self.assumes]))

    @property
    def warnings(self) -> list[str]:
        """What a person must see, a short sentence each: alarms, missing outcomes, segments that differ."""
        return wording.warnings(self)

    @property
    def notes(self) -> list[str]:
        """What is good to know: the leader against the control, how long a verdict takes."""
        return wording.notes(self)

    @property
    def details(self) -> str:
        """What the answer rests on: confidence, assumptions, alarms and what happened to the experiment."""
        return "\n".join(wording.details(self))

    @property
    def segments_sentence(self) -> str:
        """Whether what is best depends on the segment; empty if nobody said anything of a visitor."""
        return segments_text(self)

    def _sentence(self) -> str:
        return "\n".join([self._head(), self.brief, *self.warnings, *self.notes])

    def _tables(self) -> dict[str, Any]:
        levels = [(factor.name, level) for factor in self.factors for level in factor.levels]
        names = [field.name for field in dataclasses.fields(LevelReport)]
        columns = {name: [getattr(level, name) for _, level in levels] for name in names}
        return {"levels": {"factor": [factor for factor, _ in levels]} | columns}

    def _shown(self) -> dict[str, Any]:
        return wording.level_columns(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, with what it says."""
        result = dataclasses.asdict(self) | {"details": self.details.splitlines()}
        result |= {name: getattr(self, name) for name in ("headline", "assumes", "warnings", "notes")}
        result["control_effect"] = wording.control_effect(self)
        for rare in ("goals", "edge", "ranking"):
            if not result[rare]:
                del result[rare]
        if self.segments is None:
            del result["segments"]
        else:
            result["segments"]["sentence"] = self.segments_sentence
        return result

    @classmethod
    def of_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return what `to_dict` wrote."""
        return restored(cls, values)

    def _head(self) -> str:
        counts = self.outcomes
        kinds = {"clicked": counts["clicked"], "not clicked": counts["not_clicked"] + counts["expired"]}
        kinds |= {kind: counts[kind] for kind in ("held", "late") if counts[kind]}
        kinds |= {"cancelled": counts["void"]} if counts["void"] else {}
        each = ", ".join(f"{count:,} {kind}" for kind, count in (kinds | {"open": counts["open"]}).items())
        return f"{self.name} ({self.policy}): {amount(self.decisions, 'decision')}, {each}"

    def __str__(self) -> str:
        if self.ranking is not None:
            tables = list_table(self, self.ranking)
        else:
            tables = [line for factor in self.factors for line in wording.level_table(self, factor)]
        if self.segments is not None:
            tables += [self.segments_sentence, *segment_table(self.segments)]
        tables += [line for goal in self.goals for line in goal_table(goal)]
        return "\n".join([self._head(), self.brief, "", *tables, "", *self.warnings, *self.notes, _MORE])
