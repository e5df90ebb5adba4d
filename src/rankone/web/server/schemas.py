"""What goes in and out: the bodies of requests and answers. The OpenAPI document is made of these."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from rankone.errors import InputError
from rankone.serving.messages import MAX_BATCH
from rankone.serving.names import MAX_LEVELS, MAX_NAME, checked_name
from rankone.serving.settings import MAX_SECONDS


def _printable(value: str) -> str:
    return checked_name(value, "text")


def _addressable(value: str) -> str:
    if value in (".", ".."):
        raise InputError("a name that can be part of an address", "only dots", "give another name")
    return value


# JSON Schema cannot say "printable": the pattern leaves out control characters, `checked_name` the rest.
Text = Annotated[
    str, Field(min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00-\x1f\x7f]+$"), AfterValidator(_printable)
]
Name = Annotated[Text, AfterValidator(_addressable)]
Count = Annotated[int, Field(ge=1, le=MAX_BATCH)]
Seconds = Annotated[float, Field(gt=0, le=MAX_SECONDS)]
Levels = Annotated[list[Text], Field(min_length=1, max_length=MAX_LEVELS)]


class Body(BaseModel):
    """A request's body: nothing is guessed, nothing unknown is let pass."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    @property
    def weight(self) -> int:
        """What it counts for in the rate of a token."""
        return 1


Reward = Annotated[float, Field(ge=0, description="from 0 to the reward_cap; rounded to a click or none, once")]


class NewExperiment(Body):
    """An experiment to create. Left out: as `rankone.Experiment` has it."""

    name: Name
    rows: Levels | Annotated[int, Field(ge=1, le=MAX_LEVELS)]
    cols: Levels | Annotated[int, Field(ge=1, le=MAX_LEVELS)]
    policy: Text | None = None
    window: Seconds | None = Field(None, description="seconds after which silence means: not clicked")
    auto_stop: Annotated[float, Field(gt=0, le=0.5)] | None = Field(
        None, description="stop when a winner is known with at most this probability of error"
    )
    seed: Annotated[int, Field(ge=0, lt=2**62)] | None = None
    max_open: Annotated[int, Field(ge=1)] | None = None
    max_age: Seconds | None = Field(
        None, description="seconds after which an open decision makes room where max_open is reached; without a window"
    )
    reward_cap: Annotated[float, Field(gt=0, le=1e15)] | None = Field(
        None, description="the largest reward there can be; outcomes may then be rewards"
    )
    goal: Literal["earn", "both", "decide"] | None = Field(
        None, description="what it is for; left out: both, and earn where a policy is named and no auto_stop"
    )
    explore: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="share of decisions that explore until there is a verdict; left out: as the goal has it"
    )
    margin: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="a leading pair within this part of the best one is good enough, such as 0.05"
    )
    control: Annotated[list[Text], Field(min_length=2, max_length=2)] | None = Field(
        None, description="the row and the column of a pair that always keeps a share of the decisions"
    )
    share: Annotated[float, Field(gt=0, le=0.9)] | None = Field(
        None, description="that share; a tenth if left out; with a control only"
    )


class PlanBody(Body):
    """An experiment to be planned. Left out: as `rankone.plan` has it."""

    rows: Annotated[int, Field(ge=1, le=MAX_LEVELS)]
    cols: Annotated[int, Field(ge=1, le=MAX_LEVELS)]
    rate: Annotated[float, Field(gt=0, le=1)] = Field(description="click rate of a pair one change away from the best")
    lift: Annotated[float, Field(gt=0)] = Field(description="how much more often the best is clicked: 0.1 is 10 % more")
    visitors_a_day: Annotated[float, Field(gt=0)] | None = Field(None, description="to have days too")
    goal: Literal["earn", "both", "decide"] | None = Field(None, description="left out: all of them")
    margin: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="a winner within this part of the best is enough"
    )
    error: Annotated[float, Field(ge=1e-6, le=0.5)] = Field(0.05, description="the verdict may be wrong so often")


class AskBody(Body):
    """Ask for one decision or a batch."""

    count: Count = 1
    source: Text | None = Field(None, description="who asks; kept with the decision")

    @property
    def weight(self) -> int:
        """As many as the decisions."""
        return self.count


class OutcomeBody(Body):
    """Whether the pair of a decision was clicked; or its reward, where the experiment has a `reward_cap`."""

    clicked: bool | None = None
    reward: Reward | None = None
    source: Text | None = Field(None, description="who tells; false clicks can be excluded by it")


class Told(Body):
    """One outcome of a batch."""

    id: Annotated[str, Field(max_length=MAX_NAME)]
    clicked: bool | None = None
    reward: Reward | None = None


class TellBody(Body):
    """Outcomes to tell together."""

    outcomes: Annotated[list[Told], Field(min_length=1, max_length=MAX_BATCH)]
    source: Text | None = None

    @property
    def weight(self) -> int:
        """As many as the outcomes."""
        return len(self.outcomes)


_TOKEN = Field(None, max_length=MAX_NAME, description="the token, where there is no header Authorization")


class VisitBody(Body):
    """Ask for a visitor of a page."""

    visitor: Annotated[Text, Field(max_length=100)] | None = Field(
        None, description="who it is, such as a random number that the browser keeps; left out: nobody seen before"
    )
    token: str | None = _TOKEN


class BeaconBody(Body):
    """Tell that what a page showed was clicked; or, with `void`, that it was not shown at all."""

    id: Annotated[str, Field(max_length=MAX_NAME)]
    void: bool = False
    token: str | None = _TOKEN


class StopBody(Body):
    """Which pair to play from now on (the leading one if left out), and why."""

    row: Text | None = None
    col: Text | None = None
    why: Text = "by hand"


class ExcludeBody(Body):
    """Which outcomes shall no longer count: those that fit everything given."""

    source: Text | None = None
    token: Text | None = Field(None, description="id of a token: what was asked or told with it")
    row: Text | None = None
    col: Text | None = None
    since: Annotated[float, Field(ge=0, le=1e11)] | None = Field(None, description="seconds since 1970")
    until: Annotated[float, Field(ge=0, le=1e11)] | None = Field(None, description="seconds since 1970")
    prior: bool = Field(False, description="also forget the past counts that the experiment began with")
    why: Text = "outcomes excluded"


class VoidOpenBody(Body):
    """Which open decisions to close: those asked so long ago, by this source and with this token if they are given."""

    older_than: Seconds = Field(description="seconds since they were asked")
    source: Text | None = None
    token: Text | None = Field(None, description="id of a token: what was asked with it")


class LineBody(Body):
    """A row or a column by its name."""

    name: Text


class ExportQuery(Body):
    """How to write the export."""

    format: Literal["csv", "jsonl", "parquet"] = "jsonl"


class DecisionAnswer(BaseModel):
    """A pair to show. Whoever has the id can tell the outcome, at any time and once."""

    id: str
    row: int
    col: int
    row_name: str
    col_name: str
    number: int
    filler: bool = Field(description="the policy does not learn from its outcome: it waits, or the experiment stopped")


class Decisions(BaseModel):
    """The decisions asked for."""

    decisions: list[DecisionAnswer]


class Explanation(BaseModel):
    """An error in one sentence, and its three parts."""

    detail: str = Field(description="what was expected, what came, what to do")
    expected: str
    got: str
    do: str


class ProblemAnswer(Explanation):
    """An error."""

    type: str
    title: str
    status: int
    code: str = Field(description="the kind of error, for programs")


class OutcomeAnswer(BaseModel):
    """What became of a decision."""

    id: str
    clicked: bool | None = Field(description="null: void")
    status: Literal["learned", "held", "late", "void"]
    learned: bool
    repeated: bool = Field(description="told before; this time changed nothing")


class Outcomes(BaseModel):
    """For each outcome told, in the same order, what became of it or why it was refused."""

    outcomes: list[OutcomeAnswer | ProblemAnswer]


class ExperimentAnswer(BaseModel):
    """An experiment and its settings."""

    name: str
    policy: str
    policy_known: bool = Field(description="false: the service has not imported it; nothing can be asked or told")
    rows: list[str] = Field(description="living rows")
    cols: list[str] = Field(description="living columns")
    window: float | None
    auto_stop: float | None
    max_open: int
    max_age: float | None = Field(description="null: a window ends what is open")
    goal: str = Field(description="earn, both or decide; empty: made by an older program, the policy chooses alone")
    explore: float = Field(description="share of decisions that explore until there is a verdict")
    exploring: float = Field(description="that share now")
    margin: float | None
    control: list[str] | None
    share: float | None = Field(description="of all decisions, for the control")
    decisions: int
    clicks: int
    open: int
    stopped: str | None
    shown_row: str | None = Field(description="what every visitor sees since it was stopped; null: it runs")
    shown_col: str | None
    eras: list[str]


class DamagedAnswer(Explanation):
    """An experiment whose journal cannot be read, and why."""

    name: str


class Experiments(BaseModel):
    """The experiments that the token may read, and those that nobody can read."""

    experiments: list[ExperimentAnswer]
    damaged: list[DamagedAnswer]


class LineAnswer(BaseModel):
    """The number of a row or column that came or went."""

    number: int


class ExcludeAnswer(BaseModel):
    """How many outcomes no longer count."""

    excluded: int


class VoidOpenAnswer(BaseModel):
    """How many decisions were closed."""

    voided: int


class Health(BaseModel):
    """The service answers, and so does its database."""

    status: Literal["ok"]
    version: str


class SpanAnswer(BaseModel):
    """One way to run an experiment: what it takes and what it costs."""

    way: str = Field(description="a goal, or 'equal split'")
    median: float | None = Field(description="visitors until half have a verdict; null: most had none, see beyond")
    late: float | None = Field(description="until nine of ten have one")
    lost: float | None = Field(description="clicks until the verdict, on average")
    beyond: float | None = Field(description="visitors after which rehearsals gave up; null: never is never")


class PlanAnswer(BaseModel):
    """What an experiment of this size would take, with each goal and as a classic test."""

    rows: int
    cols: int
    rate: float
    lift: float
    margin: float
    error: float
    visitors_a_day: float | None
    bound: float = Field(description="visitors that rules which compare neighbours need at least, roughly")
    spans: list[SpanAnswer]
    advice: list[str] = Field(description="what would be possible, where a verdict takes more than a year")
    meaning: str = Field(description="what rate and lift say about the pairs")
    sentence: str


class LineOfReport(BaseModel):
    """One row or column; its rate is measured with the leading partner."""

    name: str
    live: bool
    decisions: int
    share: float
    outcomes: int
    clicks: int
    rate: float | None
    low: float
    high: float
    in_race: bool
    doubt: float
    ratio: float | None = Field(description="its clicks for each click of the leading level; null: not known")
    ratio_low: float
    ratio_high: float | None = Field(description="null: no bound yet")
    against: str = Field(description="the same in words")


class ShortfallAnswer(BaseModel):
    """A level of which fewer outcomes came back than it was chosen, compared with another level."""

    side: Literal["row", "column"]
    name: str
    told: float = Field(description="outcomes that count for each decision with this level")
    other: str
    other_told: float


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
    best_row: str
    best_col: str
    rate: float | None
    low: float
    high: float
    confidence: float
    error_rate: float
    decided: bool
    stopped: str | None
    shown_row: str | None
    shown_col: str | None
    resumed: str | None
    clock_ahead: float
    clock_jumped: float
    window: float | None
    rows: list[LineOfReport]
    cols: list[LineOfReport]
    eras: list[str]
    reward_cap: float | None = Field(description="null: outcomes are clicks")
    goal: str
    basis: Literal["any", "steady"] = Field(
        description="what the statement rests on: any, it holds however the click rate of the whole site moves, under "
        "the product model; steady, it holds while click rates stay as they are"
    )
    explore: float = Field(description="share of decisions that explore now")
    margin: float
    good_enough: bool = Field(description="decided within the margin, and by no more than that")
    control_row: str | None
    control_col: str | None
    control_share: float
    uplift: float | None = Field(description="of the leading pair over the control: 0.1 is 10 % more clicks")
    uplift_low: float
    uplift_high: float | None
    shortfalls: list[ShortfallAnswer] = Field(description="where traffic does not match what was chosen")
    visitors_left: tuple[int, int] | None = Field(description="until a verdict, from and to; null: no guess")
    seconds_left: tuple[float, float] | None = Field(description="the same at the traffic so far")
    headline: str = Field(description="how the sentence begins: what leads or has won")
    sentence: str


class ViewAnswer(BaseModel):
    """What the page shows: the report, heat maps of the busiest pairs, and the course of time. At most seconds old."""

    report: ReportAnswer
    heat: dict[str, Any]
    timeline: dict[str, Any]
    stage: int | None
    rows_left: list[str] | None = Field(description="rows the policy has not eliminated; null: it eliminates none")
    cols_left: list[str] | None
    click_rate: float | None
    uniform_rate: float | None = Field(
        description="estimated click rate had all pairs been shown equally often; null: few outcomes of a row or column"
    )
    simulated: int = Field(description="decisions that a simulated audience asked for")
    window: float | None
