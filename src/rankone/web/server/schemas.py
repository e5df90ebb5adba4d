"""What goes in and out: the bodies of requests and answers. The OpenAPI document is made of these."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from rankone.errors import InputError
from rankone.serving.messages import MAX_BATCH
from rankone.serving.names import MAX_FACTORS, MAX_LEVELS, MAX_NAME, checked_name
from rankone.serving.segment_names import MAX_ATTRIBUTE, MAX_ATTRIBUTES, MAX_LINE, checked_segment
from rankone.serving.settings import MAX_SECONDS


def _printable(value: str) -> str:
    return checked_name(value, "text")


def _addressable(value: str) -> str:
    if value in (".", ".."):
        raise InputError("a name that can be part of an address", "only dots", "give another name")
    return value


def _of_a_visitor(value: object) -> object:
    checked_segment(value)  # in the words that the library has for it
    return value


# JSON Schema cannot say "printable": the pattern leaves out control characters, `checked_name` the rest.
Text = Annotated[
    str, Field(min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00-\x1f\x7f]+$"), AfterValidator(_printable)
]
Name = Annotated[Text, AfterValidator(_addressable)]
Count = Annotated[int, Field(ge=1, le=MAX_BATCH)]
Seconds = Annotated[float, Field(gt=0, le=MAX_SECONDS)]
Levels = Annotated[list[Text], Field(min_length=1, max_length=MAX_LEVELS)]
LevelsOrCount = Levels | Annotated[int, Field(ge=1, le=MAX_LEVELS)]
Attribute = Annotated[Text, Field(max_length=MAX_ATTRIBUTE)]
Segment = Annotated[
    dict[Attribute, Attribute | bool | int],
    Field(
        min_length=1, max_length=MAX_ATTRIBUTES, description="what is known of the visitor; always the same attributes"
    ),
    BeforeValidator(_of_a_visitor),
]
ByFactor = Annotated[dict[Text, Text], Field(min_length=1, max_length=MAX_FACTORS)]


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
    rows: LevelsOrCount | None = Field(None, description="with cols; or factors instead of both")
    cols: LevelsOrCount | None = None
    factors: Annotated[dict[Text, LevelsOrCount], Field(min_length=1, max_length=MAX_FACTORS)] | None = Field(
        None, description="the levels of each factor by its name, in order, where they are not rows and columns"
    )
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
    control: Annotated[list[Text], Field(min_length=1, max_length=MAX_FACTORS)] | ByFactor | None = Field(
        None,
        description="the row and the column of a pair, or a level of each factor, that keeps a share of the decisions",
    )
    share: Annotated[float, Field(gt=0, le=0.9)] | None = Field(
        None, description="that share; a tenth if left out; with a control only"
    )
    on_change: Literal["restart", "tell", "ignore"] | None = Field(
        None, description="what to do when clicks of levels change against each other"
    )
    on_misfit: Literal["insure", "tell", "ignore"] | None = Field(
        None, description="what to do when levels are no product: go on with a policy that looks at all combinations"
    )
    per_segment: bool = Field(
        False, description="show visitors what is best in their segment; the policy is segmented-uts if left out"
    )


class AskBody(Body):
    """Ask for one decision or a batch."""

    count: Count = 1
    source: Text | None = Field(None, description="who asks; kept with the decision")
    segment: Segment | None = None

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
    segment: Annotated[Text, Field(max_length=MAX_LINE)] | None = Field(
        None, description="what is known of the visitor: device=phone,country=DE"
    )
    token: str | None = _TOKEN


class BeaconBody(Body):
    """Tell that what a page showed was clicked; or, with `void`, that it was not shown at all."""

    id: Annotated[str, Field(max_length=MAX_NAME)]
    void: bool = False
    token: str | None = _TOKEN


class StopBody(Body):
    """Which combination to play from now on (of factors left out, the leading level), and why."""

    row: Text | None = None
    col: Text | None = None
    levels: ByFactor | None = Field(None, description="by factor, where these are not rows and columns")
    why: Text = "by hand"


class ExcludeBody(Body):
    """Which outcomes shall no longer count: those that fit everything given."""

    source: Text | None = None
    token: Text | None = Field(None, description="id of a token: what was asked or told with it")
    row: Text | None = None
    col: Text | None = None
    levels: ByFactor | None = Field(None, description="by factor, where these are not rows and columns")
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


class LevelBody(Body):
    """A level of a factor, by their names."""

    factor: Text
    name: Text


class ForbidBody(Body):
    """Levels of two factors or more, by the factor's name."""

    levels: ByFactor


class FactorBody(Body):
    """A factor with its levels; all decisions so far had the first of them."""

    name: Text
    levels: Levels


class ExportQuery(Body):
    """How to write the export."""

    format: Literal["csv", "jsonl", "parquet"] = "jsonl"


class DecisionAnswer(BaseModel):
    """What to show. Whoever has the id can tell the outcome, at any time and once."""

    id: str
    row: int | None = Field(None, description="of two factors, as are col, row_name and col_name; else left out")
    col: int | None = None
    row_name: str | None = None
    col_name: str | None = None
    levels: dict[str, str] = Field(description="the name of the level of each factor, by its name")
    number: int
    filler: bool = Field(description="the policy does not learn from its outcome: it waits, or the experiment stopped")


class Decisions(BaseModel):
    """The decisions asked for."""

    decisions: list[DecisionAnswer]


class Visited(Decisions):
    """What a visitor of a page is to see."""

    repeated: bool = Field(description="the visitor asked before and got this then: it may have been shown")


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
    note: str | None = Field(None, description="that a level was retired after it was shown; left out otherwise")


class Outcomes(BaseModel):
    """For each outcome told, in the same order, what became of it or why it was refused."""

    outcomes: list[OutcomeAnswer | ProblemAnswer]


class ExperimentAnswer(BaseModel):
    """An experiment and its settings."""

    name: str
    policy: str
    policy_known: bool = Field(description="false: the service has not imported it; nothing can be asked or told")
    rows: list[str] = Field(description="living rows; the first of two factors")
    cols: list[str] = Field(description="living columns; the second of two factors")
    factors: dict[str, list[str]] | None = Field(
        None, description="living levels by factor; rows and columns: left out"
    )
    window: float | None
    auto_stop: float | None
    max_open: int
    max_age: float | None = Field(description="null: a window ends what is open")
    goal: str = Field(description="earn, both or decide; empty: made by an older program, the policy chooses alone")
    explore: float = Field(description="share of decisions that explore until there is a verdict")
    exploring: float = Field(description="that share now")
    margin: float | None
    on_change: str
    on_misfit: str
    control: list[str] | None
    share: float | None = Field(description="of all decisions, for the control")
    decisions: int
    clicks: int
    open: int
    stopped: str | None
    shown_row: str | None = Field(description="what every visitor sees since it was stopped; null: it runs")
    shown_col: str | None
    shown_levels: dict[str, str] | None = Field(None, description="the same by factor; rows and columns: left out")
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


class ChangeAnswer(BaseModel):
    """Something that an operator did, or the experiment itself."""

    seq: int = Field(description="number of the event in the journal")
    at: float = Field(description="seconds since 1970")
    what: str
    by: str | None = Field(description="id of the token; null: on the machine of the database, or by itself")


class Changes(BaseModel):
    """Who has changed what in an experiment, oldest first."""

    changes: list[ChangeAnswer]


class Health(BaseModel):
    """The service answers, and so does its database."""

    status: Literal["ok"]
    version: str
