"""What goes in and out: the bodies of requests and answers. The OpenAPI document is made of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, create_model

from rankone.errors import InputError
from rankone.live.messages import MAX_BATCH
from rankone.live.names import MAX_FACTORS, MAX_LEVELS, MAX_NAME, checked_name
from rankone.live.setting_kinds import SECONDS, Kind
from rankone.live.settings import GROUPS, SETTINGS
from rankone.live.visitor_attributes import (
    MAX_ATTRIBUTE,
    MAX_ATTRIBUTES,
    MAX_DECLARED,
    checked_declaration,
    checked_segment,
)


def _printable(value: str) -> str:
    return checked_name(value, "text")


def _addressable(value: str) -> str:
    if value in (".", ".."):
        raise InputError("a name that can be part of an address", "only dots", "give another name")
    return value


def _of_a_visitor(value: object) -> object:
    checked_segment(value)  # in the words that the library has for it
    return value


def _of_visitors(value: object) -> object:
    checked_declaration(value)
    return value


# JSON Schema cannot say "printable": the pattern leaves out control characters, `checked_name` the rest.
Text = Annotated[
    str, Field(min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00-\x1f\x7f]+$"), AfterValidator(_printable)
]
Name = Annotated[Text, AfterValidator(_addressable)]
Count = Annotated[int, Field(ge=1, le=MAX_BATCH)]
Seconds = Annotated[float, Field(gt=0, le=SECONDS.high)]
Levels = Annotated[list[Text], Field(min_length=1, max_length=MAX_LEVELS)]
LevelsOrCount = Levels | Annotated[int, Field(ge=1, le=MAX_LEVELS)]
Attribute = Annotated[Text, Field(max_length=MAX_ATTRIBUTE)]
Segment = Annotated[
    dict[Attribute, Attribute | bool | int],
    Field(min_length=1, max_length=MAX_ATTRIBUTES, description="what is known of the visitor, of declared attributes"),
    BeforeValidator(_of_a_visitor),
]
Declared = Annotated[
    dict[Attribute, Annotated[list[Attribute | bool | int], Field(min_length=1, max_length=MAX_DECLARED)] | None],
    Field(min_length=1, max_length=MAX_ATTRIBUTES, description="attributes of visitors with their levels; null: any"),
    BeforeValidator(_of_visitors),
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


def _type_of(kind: Kind) -> Any:
    """Return what a setting of this kind looks like in JSON."""
    least: Any = {"gt" if kind.above else "ge": kind.low}
    return {
        "number": Annotated[float, Field(le=kind.high, **least)],
        "whole": Annotated[int, Field(le=kind.high, **least)],
        "choice": Literal[kind.choices],
        "flag": bool,
        "policy": Text,
        "combination": Annotated[list[Text], Field(min_length=1, max_length=MAX_FACTORS)] | ByFactor,
        "attributes": Declared,
    }[kind.word]


def _with_settings(name: str, base: type[BaseModel], group_base: type[BaseModel], hidden: Sequence[str] = ()) -> Any:
    """Return a model with all settings that can be sent, each of which may be left out, in their groups."""
    fields: dict[str, dict[str, Any]] = {}
    for each in SETTINGS:
        if each.remote and each.name not in hidden:
            given = (_type_of(each.kind) | None, Field(None, description=each.help))
            fields.setdefault(each.group, {})[each.name] = given
    alone = fields.pop("")
    for group, own in fields.items():
        made = create_model(GROUPS[group].__name__ + group_base.__name__, __base__=group_base, **own)
        made.__doc__ = GROUPS[group].__doc__
        alone[group] = (made | None, Field(None, description=GROUPS[group].__doc__))
    return create_model(name, __base__=base, __doc__=base.__doc__, **alone)


class _NewExperiment(Body):
    """An experiment to create. Left out: as `rankone.Experiment` has it."""

    name: Name
    rows: LevelsOrCount | None = Field(None, description="with cols; or factors instead of both")
    cols: LevelsOrCount | None = None
    factors: Annotated[dict[Text, LevelsOrCount], Field(min_length=1, max_length=MAX_FACTORS)] | None = Field(
        None, description="the levels of each factor by its name, in order, where they are not rows and columns"
    )


NewExperiment = _with_settings("NewExperiment", _NewExperiment, Body)


class AskBody(Body):
    """Ask for one decision or a batch."""

    count: Count = 1
    source: Text | None = Field(None, description="who asks; kept with the decision")
    segment: Segment | None = None
    visitor: Text | None = Field(None, description="who it is for: the same one gets the same decision; without a key")

    @property
    def weight(self) -> int:
        """As many as the decisions."""
        return self.count


class OutcomeBody(Body):
    """Whether what a decision showed was clicked; or its reward, where the experiment has a `reward_cap`."""

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


class StopBody(Body):
    """Which combination to play from now on (of factors left out, the leading level), and why."""

    levels: ByFactor | None = Field(None, description="by factor")
    why: Text = "by hand"


class ExcludeBody(Body):
    """Which outcomes shall no longer count: those that fit everything given."""

    source: Text | None = None
    token: Text | None = Field(None, description="id of a token: what was asked or told with it")
    levels: ByFactor | None = Field(None, description="by factor")
    since: Annotated[float, Field(ge=0, le=1e11)] | None = Field(None, description="seconds since 1970")
    until: Annotated[float, Field(ge=0, le=1e11)] | None = Field(None, description="seconds since 1970")
    prior: bool = Field(False, description="also forget the past counts that the experiment began with")
    why: Text = "outcomes excluded"


class VoidOpenBody(Body):
    """Which open decisions to close: those asked so long ago, by this source and with this token if they are given."""

    older_than: Seconds = Field(description="seconds since they were asked")
    source: Text | None = None
    token: Text | None = Field(None, description="id of a token: what was asked with it")


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


class SegmentsBody(Body):
    """Which attributes of visitors are told apart, and with which levels."""

    attributes: Declared


class ExportQuery(Body):
    """How to write the export."""

    format: Literal["csv", "jsonl", "parquet"] = "jsonl"


class DecisionAnswer(BaseModel):
    """What to show. Whoever has the id can tell the outcome, at any time and once."""

    id: str
    levels: dict[str, str] = Field(description="the name of the level of each factor, by its name")
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
    note: str | None = Field(None, description="that a level was retired after it was shown; left out otherwise")


class Outcomes(BaseModel):
    """For each outcome told, in the same order, what became of it or why it was refused."""

    outcomes: list[OutcomeAnswer | ProblemAnswer]


class _ExperimentAnswer(BaseModel):
    """An experiment and its settings."""

    name: str
    policy: str
    policy_known: bool = Field(description="false: the service has not imported it; nothing can be asked or told")
    factors: dict[str, list[str]] = Field(description="living levels by factor")
    exploring: float = Field(description="share of decisions that explore now")
    decisions: int
    clicks: int
    open: int
    stopped: str | None
    shown: dict[str, str] | None = Field(
        description="by factor, what every visitor sees since it was stopped; null: it runs"
    )
    eras: list[str]


ExperimentAnswer = _with_settings("ExperimentAnswer", _ExperimentAnswer, BaseModel, hidden=("seed", "policy"))


class DamagedAnswer(Explanation):
    """An experiment whose journal cannot be read, and why."""

    name: str


class Experiments(BaseModel):
    """The experiments that the token may read, and those that nobody can read."""

    experiments: list[ExperimentAnswer]  # type: ignore[valid-type]
    damaged: list[DamagedAnswer]


class LevelAnswer(BaseModel):
    """The number of a level that came or went."""

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
