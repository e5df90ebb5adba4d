"""What goes in: the bodies of requests. The OpenAPI document is made of these and of `answers.py`."""

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, create_model

from rankone.errors import InputError
from rankone.live.goals import MAX_CAP, MAX_GOALS, checked_goals
from rankone.live.lists import MAX_LISTED, MAX_POSITIONS, checked_pins
from rankone.live.messages import MAX_BATCH
from rankone.live.names import MAX_FACTORS, MAX_LEVELS, MAX_NAME, checked_name
from rankone.live.setting_kinds import SECONDS, Kind
from rankone.live.settings import GROUPS, SETTINGS
from rankone.live.visitor_attributes import (
    MAX_ATTRIBUTE,
    MAX_ATTRIBUTES,
    MAX_DECLARED,
    MAX_LINE,
    checked_context,
    checked_declaration,
)


def _addressable(value: str) -> str:
    if value in (".", ".."):
        raise InputError("a name that can be part of an address", "only dots", "give another name")
    return value


def _refused_by(check: Callable[[Any], object]) -> BeforeValidator:
    """Let the library refuse a value, in its own words."""
    return BeforeValidator(lambda value: (check(value), value)[1])


# JSON Schema cannot say "printable": the pattern leaves out control characters, `checked_name` the rest.
Text = Annotated[
    str,
    Field(min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00-\x1f\x7f]+$"),
    AfterValidator(functools.partial(checked_name, what="text")),
]
Name = Annotated[Text, AfterValidator(_addressable)]
Count = Annotated[int, Field(ge=1, le=MAX_BATCH)]
Seconds = Annotated[float, Field(gt=0, le=SECONDS.high)]
Levels = Annotated[list[Text], Field(min_length=1, max_length=MAX_LEVELS)]
LevelsOrCount = Levels | Annotated[int, Field(ge=1, le=MAX_LEVELS)]
Attribute = Annotated[Text, Field(max_length=MAX_ATTRIBUTE)]
Context = Annotated[
    dict[Attribute, Attribute | bool | int | float],
    Field(min_length=1, max_length=MAX_ATTRIBUTES, description="what is known of the visitor, of declared attributes"),
    _refused_by(checked_context),
]
Declared = Annotated[
    dict[
        Attribute, Annotated[list[Attribute | bool | int], Field(min_length=1, max_length=MAX_DECLARED)] | Text | None
    ],
    Field(
        min_length=1,
        max_length=MAX_ATTRIBUTES,
        description="attributes of visitors: their levels, 'bool', 'float', a range such as '18..90', null: any level",
    ),
    _refused_by(checked_declaration),
]
ByFactor = Annotated[dict[Text, Text], Field(min_length=1, max_length=max(MAX_FACTORS, MAX_POSITIONS))]
Items = Annotated[list[Text], Field(max_length=MAX_LISTED)]
Position = Annotated[int, Field(ge=1, le=MAX_POSITIONS)]
Clicked = Annotated[
    bool | Annotated[list[Position | Text], Field(max_length=MAX_POSITIONS)],
    Field(description="of a list, the positions clicked, from 1, or names of items"),
]
Seen = Annotated[int, Field(ge=0, le=MAX_POSITIONS, description="of a list: positions seen, from the top")]
_VISITOR = (
    "who it is for: the same one gets the same decision, without a key; where the policy chooses for each visitor, "
    "such as mixture-ts, it is needed, and each ask gets a new choice"
)


class Body(BaseModel):
    """A request's body: nothing is guessed, nothing unknown is let pass."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    @property
    def weight(self) -> int:
        """What it counts for in the rate of a token."""
        return 1


Value = Annotated[float, Field(ge=0, le=MAX_CAP, description="of a goal: 1 for yes, a count, an amount")]
Goals = Annotated[
    dict[Text, dict[Text, Any] | None], Field(min_length=1, max_length=MAX_GOALS), _refused_by(checked_goals)
]


def _type_of(kind: Kind) -> Any:
    """Return what a setting of this kind looks like in JSON."""
    least: Any = {"gt" if kind.above else "ge": kind.low}
    return {
        "number": Annotated[float, Field(le=kind.high, **least)],
        "whole": Annotated[int, Field(le=kind.high, **least)],
        "choice": Literal[kind.choices],
        "flag": bool,
        "policy": Text,
        "combination": Annotated[list[Text], Field(min_length=1, max_length=max(MAX_FACTORS, MAX_POSITIONS))]
        | ByFactor,
        "attributes": Declared,
        "goals": Goals,
    }[kind.word]


def with_settings(name: str, base: Any, group_base: type[BaseModel], hidden: Sequence[str] = ()) -> Any:
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
    items: LevelsOrCount | None = Field(None, description="of a ranking, with positions: what its lists may show")


NewExperiment = with_settings("NewExperiment", _NewExperiment, Body)


class AskBody(Body):
    """Ask for one decision or a batch."""

    count: Count = 1
    source: Text | None = Field(None, description="who asks; kept with the decision")
    context: Context | None = None
    visitor: Text | None = Field(None, description=_VISITOR)
    candidates: Items | None = Field(None, description="of a ranking: only these items may be shown")
    pinned: Annotated[dict[Text, Text], Field(max_length=MAX_POSITIONS), _refused_by(checked_pins)] | None = Field(
        None, description="of a ranking: what stands at which position, from 1; it is not compared"
    )
    exclude: Items | None = Field(None, description="of a ranking: none of these items is shown")

    @property
    def weight(self) -> int:
        """As many as the decisions."""
        return self.count


class _Told(Body):
    clicked: Clicked | None = None
    seen: Seen | None = None
    goal: Text | None = None
    value: Value | None = None
    key: Text | None = Field(None, description="an outcome of a goal counts once for its key")


class OutcomeBody(_Told):
    """Whether what a decision showed was clicked; or the value of a goal (left out: of the one that steers)."""

    source: Text | None = Field(None, description="who tells; false clicks can be excluded by it")


class Told(_Told):
    """One outcome of a batch."""

    id: Annotated[str, Field(max_length=MAX_NAME)]


class TellBody(Body):
    """Outcomes to tell together."""

    outcomes: Annotated[list[Told], Field(min_length=1, max_length=MAX_BATCH)]
    source: Text | None = None

    @property
    def weight(self) -> int:
        """As many as the outcomes."""
        return len(self.outcomes)


MAX_ROWS = 10_000  # exposures, and outcomes, of one request


class WeightsQuery(Body):
    """Which version of the weights; left out: the newest."""

    version: Annotated[int | None, Field(strict=False, ge=1)] = None


class Shown(Body):
    """What a visitor was shown: what `rankone.edge.decide` returned."""

    visitor: Text
    version: Annotated[int, Field(ge=1, le=2**31)]
    levels: ByFactor
    time: Annotated[float, Field(ge=0, le=1e11, description="seconds since 1970")]


class Came(Body):
    """What came of a visitor: a click, unless the value is 0."""

    visitor: Text
    time: Annotated[float, Field(ge=0, le=1e11, description="seconds since 1970")]
    goal: Text = "click"
    value: Value = 1.0


class IngestBody(Body):
    """Exposures and outcomes of an experiment that decides away from the server."""

    exposures: Annotated[list[Shown], Field(max_length=MAX_ROWS)] = []
    outcomes: Annotated[list[Came], Field(max_length=MAX_ROWS)] = []

    @property
    def weight(self) -> int:
        """Sums take less than decisions that are stored each."""
        return 1 + (len(self.exposures) + len(self.outcomes)) // 50


class ExportQuery(Body):
    """How to write the export."""

    format: Literal["csv", "jsonl", "parquet"] = "jsonl"


class WinnersQuery(Body):
    """How many false winners a list may hold."""

    false_share: Annotated[float, Field(strict=False, gt=0, lt=1)] = 0.05


Moment = Annotated[float, Field(ge=0, le=1e11)]
# What an argument of a function of the library may be in JSON, by its name. What else is wrong, the library says.
_ARGUMENTS: dict[str, Any] = {
    **dict.fromkeys(("factor", "name", "source", "token", "why", "aim", "experiment", "note", "format", "model"), Text),
    **dict.fromkeys(("rate", "lift", "margin", "error", "visitors_a_day"), float),
    **dict.fromkeys(("average", "spread", "cap", "worse_by"), float),
    **dict.fromkeys(("items", "positions"), Annotated[int, Field(ge=1, le=MAX_LEVELS)]),
    "levels": ByFactor,
    "context": Declared,
    "since": Moment,
    "until": Moment,
    "prior": bool,
    "older_than": Seconds,
    "address": Annotated[str, Field(max_length=2_000)],
    **dict.fromkeys(("events", "scopes"), list[Text]),
    "days": float | None,
    "factors": Annotated[
        dict[Text, Annotated[int, Field(ge=1, le=MAX_LEVELS)]], Field(min_length=1, max_length=MAX_FACTORS)
    ],
    "goals": Annotated[int, Field(ge=1, le=MAX_GOALS)],
}
_NOT_SENT = ("self", "rows", "cols", "seed", "progress", "database", "private", "by", "now")


def body_of(function: Callable[..., Any], needed: Sequence[str] = (), **kinds: Any) -> Any:
    """Return the body with the arguments of a function, as its docstring describes them."""
    text, fields = inspect.getdoc(function) or "", dict[str, Any]()
    for name, argument in inspect.signature(function).parameters.items():
        if name not in _NOT_SENT:
            kind, default = (_ARGUMENTS | kinds)[name], argument.default
            said = re.search(rf"^    {name}: (.*(?:\n {{8}}.*)*)", text, re.MULTILINE)
            about = Field(description=" ".join(said[1].split()) if said else None)
            default = [] if default == () else default
            required = default is argument.empty or name in needed
            optional = kind | None if default is None and not required else kind
            fields[name] = (Annotated[optional, about], ... if required else default)
    made = "".join(map(str.capitalize, function.__name__.split("_")))
    return create_model(f"{made}Body", __base__=Body, __doc__=text.partition("\n")[0], **fields)


class _FromAPage(Body):
    """What a page sends on behalf of a visitor, without a header."""

    token: Annotated[str, Field(max_length=MAX_NAME)] | None = Field(
        None, description="the token, where there is no header Authorization"
    )


class VisitBody(_FromAPage):
    """Ask for a visitor of a page."""

    visitor: Annotated[Text, Field(max_length=100)] | None = Field(
        None, description="who it is, such as a random number that the browser keeps; left out: nobody seen before"
    )
    signature: Annotated[Text, Field(max_length=100)] | None = Field(
        None, description="by which a token with the scope 'sign' vouches for the visitor"
    )
    context: Annotated[Text, Field(max_length=MAX_LINE)] | None = Field(
        None, description="what is known of the visitor: device=phone,country=DE"
    )


class TrackBody(_FromAPage):
    """Tell an outcome of a visitor: it counts for the latest decision made for that visitor."""

    visitor: Annotated[Text, Field(max_length=100)]
    goal: Text
    value: Value | None = Field(None, description="left out: 1, but for an amount, which needs one")
    key: Text | None = Field(None, description="counts once for its key, such as an order's number")
    source: Text | None = None
    signature: Annotated[Text, Field(max_length=100)] | None = None


class BeaconBody(_FromAPage):
    """Tell that what a page showed was clicked; or, with `void`, that it was not shown at all."""

    id: Annotated[str, Field(max_length=MAX_NAME)]
    void: bool = False
    clicked: Annotated[list[Position], Field(max_length=MAX_POSITIONS)] | None = Field(
        None, description="of a list: positions clicked"
    )
    seen: Seen | None = None
