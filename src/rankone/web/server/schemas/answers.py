"""What comes out: the bodies of answers. Where the library has a class for it, that class declares the answer.

The fields of a class, their types and the comments beside them make the schema, so that nothing is said twice.
"""

import ast
import dataclasses
import functools
import inspect
import itertools
import operator
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, create_model

from rankone.live.messages import Decision, Outcome
from rankone.live.operate.taking_in import TakenIn
from rankone.live.report.report import Alarm, Report
from rankone.live.report.segment_report import SegmentsReport
from rankone.live.winners import Candidate, Winners
from rankone.simulation.plans.plan import Plan, Span
from rankone.simulation.plans.plan_goal import GoalPlan
from rankone.simulation.plans.plan_lists import ListPlan
from rankone.web.server.access.tokens import Token
from rankone.web.server.schemas.bodies import with_settings
from rankone.web.webhooks.hooks import Webhook

# What the answer has beyond the fields of the class, or says more exactly.
_MORE: dict[type, dict[str, Any]] = {
    Candidate: {"log_e_value": float | None},
    Alarm: {"what": Literal["change", "misfit"], "did": Literal["restart", "test-all", "warn"]},
    Outcome: {"status": Literal["learned", "held", "late", "void", "unmatched", "refused"]},
    GoalPlan: {"headline": str, "assumes": str, "sentence": str},
    Plan: {"meaning": str, "sentence": str},
    ListPlan: {"meaning": str, "sentence": str},
    Report: {"basis": Literal["any", "steady"], "headline": str, "assumes": str, "control_effect": str}
    | dict.fromkeys(("warnings", "notes", "details"), list[str]),
    SegmentsReport: {"answer": Literal["depends", "same", "open", "unknown"], "sentence": str},
    Span: {"beyond": float | None},
    TakenIn: {"headline": str},
    Token: {"valid": bool},
    Webhook: {"created": float},
    Winners: {"headline": str, "assumes": str},
}
_SECRET: dict[type, tuple[str, ...]] = {Token: ("digest",), Webhook: ("secret", "private")}
# Fields that are left out where there is nothing to say.
_IF_ANY = {
    Decision: ("items", "chances"),
    Outcome: ("note", "goal", "value", "positions", "seen"),
    Report: ("segments", "goals", "edge", "ranking"),
}


@functools.cache
def answer_of(kind: type) -> Any:
    """Return the model of an answer with the fields of a class; also a decorator of a class that is nothing else."""
    comments = _comments(kind)
    fields: dict[str, Any] = {}
    for name, hint in (get_type_hints(kind) | _MORE.get(kind, {})).items():
        if name not in _SECRET.get(kind, ()):
            default = None if name in _IF_ANY.get(kind, ()) else ...
            fields[name] = (_in_json(hint), Field(default, description=comments.get(name)))
    return create_model(kind.__name__, __doc__=inspect.getdoc(kind), **fields)


def answer_with(name: str, fields: dict[str, Any]) -> Any:
    """Return the model of an answer with these fields."""
    content: dict[str, Any] = {field: (_in_json(hint), ...) for field, hint in fields.items()}
    return create_model(name, **content)


def _in_json(hint: Any) -> Any:
    """Return a type as JSON has it: classes as models, tuples of any length as lists."""
    parts = get_args(hint)
    if isinstance(hint, UnionType):
        return functools.reduce(operator.or_, map(_in_json, parts))
    if get_origin(hint) is list or (get_origin(hint) is tuple and parts[-1] is ...):
        item: Any = _in_json(parts[0])
        return list[item]
    if get_origin(hint) is dict:
        value: Any = _in_json(parts[1])
        return dict[str, value]
    return answer_of(hint) if dataclasses.is_dataclass(hint) or hasattr(hint, "_fields") else hint


def _comments(kind: type) -> dict[str, str | None]:
    """Return what stands beside each field of a class in its source, in the words of JSON."""
    comments: dict[str, str | None] = {}
    for source in [inspect.getsource(base) for base in kind.__mro__ if "__annotations__" in vars(base)]:
        lines = source.splitlines()
        for field in ast.walk(ast.parse(source)):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.end_lineno:
                beside = [lines[field.end_lineno - 1].partition("  # ")[2]]
                beside += itertools.takewhile(lambda line: line.startswith("    # "), lines[field.end_lineno :])
                text = " ".join(line.removeprefix("    # ") for line in beside)
                for python, json in (("None:", "null:"), ("True:", "true:"), ("False:", "false:")):
                    text = text.replace(python, json)
                comments[field.target.id] = text or None
    return comments


@answer_of
class Flag:
    """A flag of OpenFeature, evaluated for a visitor."""

    key: str
    value: dict[str, str] | str  # the level of each factor, or of the one that the key names
    variant: str
    reason: Literal["SPLIT", "STATIC"]  # STATIC: the experiment is stopped
    metadata: dict[str, str | int]  # the decision's id and number


@answer_of
class FlagError:
    """Why a flag was not evaluated, as OpenFeature's protocol says it."""

    errorCode: str
    errorDetails: str


class _Explanation:
    detail: str  # what was expected, what came, what to do
    expected: str
    got: str
    do: str


@answer_of
class ProblemAnswer(_Explanation):
    """An error: in one sentence, in its three parts, and for programs."""

    type: str
    title: str
    status: int
    code: str  # the kind of error, for programs


@answer_of
class _Experiment:
    """An experiment and its settings."""

    name: str
    policy: str
    policy_known: bool  # False: the service has not imported it; nothing can be asked or told
    factors: dict[str, list[str]]  # living levels by factor
    exploring: float  # share of decisions that explore now
    decisions: int
    clicks: int
    open: int
    stopped: str | None
    shown: dict[str, str] | None  # by factor, what every visitor sees since it was stopped; None: it runs
    eras: list[str]


ExperimentAnswer = with_settings("ExperimentAnswer", _Experiment, BaseModel, hidden=("seed", "policy"))


@answer_of
class DamagedAnswer(_Explanation):
    """An experiment whose journal cannot be read, and why."""

    name: str


@answer_of
class ViewAnswer:
    """What the page shows: the report, the busiest combinations and the course of time. It may be seconds old."""

    report: Report
    heat: dict[str, Any] | None  # counts of two factors: a list for each of the `levels` of the first; None: not two
    combinations: dict[str, Any] | None  # the busiest of other than two factors: numbers of levels, decisions,
    # outcomes, clicks; how many there are, and how many were shown
    timeline: dict[str, Any]
    stage: int | None
    left: dict[str, list[str]] | None  # by factor, levels that the policy has not eliminated; None: it eliminates none
    click_rate: float | None
    uniform_rate: float | None  # click rate had all combinations been shown equally often; None: few outcomes of one
    simulated: int  # decisions that a simulated audience asked for


@answer_of
class WeightsPart:
    """Factors that are drawn together: each line of levels with its weight, of `whole`."""

    factors: list[str]
    levels: list[list[str]]
    weights: list[int]


@answer_of
class WeightsControl:
    """The combination that a share of the visitors sees."""

    share: int  # of `whole`
    levels: dict[str, str]


@answer_of
class WeightsAnswer:
    """A version of the weights by which a page or a worker decides; /docs has the rule."""

    experiment: str
    version: int
    oldest: int  # returning visitors may go on with what a version from this one on showed them
    salt: str
    published: int  # seconds since 1970
    valid_until: int | None  # when to ask again, seconds since 1970; None: an earlier version, which stays as it is
    whole: int  # what the weights of a part sum to
    control: WeightsControl | None
    parts: list[WeightsPart]
