"""What comes out of a look at an experiment: its report, and what the page shows."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field


class LevelReportAnswer(BaseModel):
    """One level; its rate is measured with the leading levels of the other factors."""

    name: str
    live: bool
    decisions: int
    share: float
    outcomes: int
    clicks: int
    rate: float | None
    low: float | None = Field(description='of a rate that stays as it is; null on the basis "any"')
    high: float | None
    in_race: bool
    doubt: float
    ratio: float | None = Field(description="its clicks for each click of the leading level; null: not known")
    ratio_low: float
    ratio_high: float | None = Field(description="null: no bound yet")
    against: str = Field(description="the same in words")
    earlier_outcomes: int = Field(description="before the last restart; all counts above are since then")
    earlier_clicks: int


class FactorReportAnswer(BaseModel):
    """One factor, and the level that leads."""

    name: str
    best: str
    levels: list[LevelReportAnswer]


class ShortfallAnswer(BaseModel):
    """A level of which fewer outcomes came back, or more clicks too late, than of another for what was chosen."""

    factor: str
    name: str
    told: float = Field(
        description="outcomes that count for each decision with this level; where clicks are late, its share in time"
    )
    other: str
    other_told: float
    late: bool = Field(description="clicks came too late to count")


class SegmentLevelAnswer(BaseModel):
    """A level of a factor among the visitors of a segment."""

    factor: str
    name: str
    ratio: float | None = Field(
        description="clicks for each click of the level that leads overall, drawn towards the ratio of all segments"
    )


class SegmentAnswer(BaseModel):
    """One segment."""

    name: str
    attributes: dict[str, str]
    decisions: int
    outcomes: int
    clicks: int
    best: dict[str, str] = Field(description="by factor, the level that looks best: an estimate")
    proven: dict[str, str] = Field(description="by factor, the level that is proven the best in this segment")
    beats: list[tuple[str, str, str]] = Field(description="factor, better level, worse level: proven in this segment")
    levels: list[SegmentLevelAnswer]


class SegmentsAnswer(BaseModel):
    """What is known of segments; all statements about them together are wrong with the error rate at most."""

    attributes: list[str]
    answer: Literal["depends", "same", "open", "unknown"] = Field(description="does what is best depend on the segment")
    depends: list[str] = Field(description="factors of which no level is the best in all segments")
    segments: list[SegmentAnswer]
    others: tuple[int, int, int] = Field(description="decisions, outcomes, clicks of those for which there is no room")
    unsaid: tuple[int, int, int] = Field(description="the same of visitors of whom nothing was said")
    ignored: dict[str, int] = Field(
        description="decisions for which another level of an attribute was said than is declared; '': another attribute"
    )
    sentence: str


class AlarmAnswer(BaseModel):
    """What rang: clicks of levels changed against each other, or levels are no product."""

    what: Literal["change", "misfit"]
    did: Literal["restart", "test-all", "warn"] = Field(description="what the experiment did about it")
    at: float = Field(description="seconds since 1970")
    decisions: int
    outcomes: int
    factor: str
    first: str
    second: str
    beside: dict[str, str] | None = Field(description="what both levels were shown with; null: whatever that was")
    before: float | None = Field(
        description="clicks of the first level for each of the second; of a misfit, beside that level; null: the first "
        "was proven to be better, and then the second"
    )
    after: float | None = Field(description="after the change; of a misfit, beside other levels")
    led: dict[str, str] = Field(description="what led then, by factor")
    won: bool
    rival: dict[str, Any] | None = Field(description="of a misfit: levels with a higher click rate than what led")


class ReportAnswer(BaseModel):
    """What leads, how sure that is, who got how much traffic, what is still in the race."""

    name: str
    policy: str
    policy_known: bool
    seq: int
    decisions: int
    outcomes: dict[str, int]
    fillers: int
    voided_by_age: int
    factors: list[FactorReportAnswer]
    leads: bool = Field(description="whether enough is known to say what leads; else what is best is a guess")
    confidence: float
    error_rate: float
    decided: bool
    stopped: str | None
    shown: dict[str, str] | None = Field(description="by factor, what every visitor sees since it was stopped")
    resumed: str | None
    clock_ahead: float
    clock_jumped: float
    window: float | None
    eras: list[str]
    reward_cap: float | None = Field(description="null: outcomes are clicks")
    goal: str
    basis: Literal["any", "steady"] = Field(
        description="what the statement rests on: any, it holds however the click rate of the whole site moves, under "
        "the product model; steady, there are only counts, and nothing is stated"
    )
    explore: float = Field(description="share of decisions that explore now")
    margin: float
    good_enough: bool = Field(description="decided within the margin, and by no more than that")
    control: dict[str, str] | None = Field(description="by factor")
    control_share: float
    uplift: float | None = Field(description="of what leads over the control: 0.1 is 10 % more clicks")
    uplift_low: float
    uplift_high: float | None
    shortfalls: list[ShortfallAnswer] = Field(description="where traffic does not match what was chosen")
    fault: str | None = Field(description="of the program: nothing is stated until it is mended; decisions go on")
    faults: int = Field(description="decisions whose policy said no sound probabilities: no statement rests on them")
    visitors_left: tuple[int, int] | None = Field(
        description="until a verdict, from and to, if the differences so far are real; null: no guess"
    )
    seconds_left: tuple[float, float] | None = Field(description="the same at the traffic so far")
    prior_impressions: int = Field(description="from before the experiment, which the policy began with")
    prior_weight: float | None = Field(description="how much each of them counts")
    prior_left_out: list[str] = Field(description="levels of the past counts that the experiment does not have")
    excluded: int = Field(description="outcomes that no longer count")
    alarms: list[AlarmAnswer] = Field(description="the oldest first; the last restart began what is reported")
    forbidden: list[dict[str, str]] = Field(description="levels that are never shown together, by factor")
    apart: list[tuple[str, str, str]] = Field(
        description="a factor, and two levels in the race that are never shown with the same: nobody can compare them"
    )
    even_clicks: float | None = Field(
        description="clicks that an even test of all combinations would have had, by the product; null: not known"
    )
    segments: SegmentsAnswer | None = Field(None, description="left out where nobody said anything of a visitor")
    headline: str = Field(description="how the sentence begins: what leads or has won")
    sentence: str


class ViewAnswer(BaseModel):
    """What the page shows: the report, the busiest combinations and the course of time. It may be seconds old."""

    report: ReportAnswer
    heat: dict[str, Any] | None = Field(
        description="counts of two factors: a list for each of the `levels` of the first; null: there are not two"
    )
    combinations: dict[str, Any] | None = Field(
        description="the busiest of other than two factors: numbers of levels, decisions, outcomes, clicks; how many "
        "there are, and how many were shown"
    )
    timeline: dict[str, Any]
    stage: int | None
    left: dict[str, list[str]] | None = Field(
        description="by factor, levels that the policy has not eliminated; null: it eliminates none"
    )
    click_rate: float | None
    uniform_rate: float | None = Field(
        description="estimated click rate had all combinations been shown equally often; null: few outcomes of a level"
    )
    simulated: int = Field(description="decisions that a simulated audience asked for")
