"""Experiments: create, list, show, plan, stop, change and look at them."""

import tempfile
from typing import Any, BinaryIO

from starlette.responses import Response

from rankone.errors import InputError
from rankone.live import Experiment
from rankone.live.fold.fold import Fold
from rankone.live.messages import Change
from rankone.live.report.report import Report
from rankone.live.winners import Candidate, Winners, candidate, chosen
from rankone.simulation.plans.plan import Plan
from rankone.simulation.plans.plan import plan as plan_of_clicks
from rankone.simulation.plans.plan_goal import GoalPlan
from rankone.simulation.plans.plan_goal import plan_goal as plan_of_goal
from rankone.simulation.plans.plan_inputs import check_plan
from rankone.simulation.plans.plan_lists import ListPlan
from rankone.simulation.plans.plan_lists import plan_lists as plan_of_lists
from rankone.web.dashboard_data import shown
from rankone.web.encoding import encode
from rankone.web.server.http.problem_json import Problem
from rankone.web.server.http.responses import Download
from rankone.web.server.request_batching import ServedExperiment
from rankone.web.server.routes.operations import ONE, Call, answer, forbidden, operation
from rankone.web.server.schemas import answers as out
from rankone.web.server.schemas import bodies
from rankone.web.server.subprocess_tasks import run_in_subprocess

_MEDIA = {"csv": "text/csv", "jsonl": "application/jsonl", "parquet": "application/vnd.apache.parquet"}
_SHOWN, _FILE = {200: out.ExperimentAnswer}, {200: tuple(_MEDIA.values())}
_PLANNED: dict[str, Any] = {"problems": (429,), "slow": True}
_PLAN = bodies.body_of(plan_of_clicks, needed=("factors", "rate", "lift"))
_GOAL_PLAN = bodies.body_of(plan_of_goal, needed=("factors", "rate"))
_LIST_PLAN = bodies.body_of(plan_of_lists)


@operation(
    "GET",
    "/v1/experiments",
    "read",
    answers={200: {"experiments": list[out.ExperimentAnswer], "damaged": list[out.DamagedAnswer]}},
)
async def list_experiments(call: Call) -> Response:
    """List the experiments that the token may read; `damaged` names those whose journal cannot be read."""
    experiments, damaged = await call.service.look_at_all(call.caller, shown)
    errors = encode([{"name": name} | Problem.of(error).explanation() for name, error in damaged.items()])
    return answer(b'{"experiments":[%b],"damaged":%b}' % (b",".join(experiments.values()), errors))


@operation("GET", "/v1/winners", "read", query=bodies.WinnersQuery, answers={200: out.answer_of(Winners)}, slow=True)
async def winners(call: Call) -> Response:
    """List which experiments that the token may read have a winner, with few false ones however many there are."""
    seen, _ = await call.service.look_at_all(call.caller, _leading)
    leading = {name: found[0] if found else None for name, found in seen.items()}
    return answer(chosen(leading, call.query.false_share).to_dict())


def _leading(fold: Fold) -> tuple[Candidate, ...]:
    """Return what leads an experiment, if anything does; it is kept until something happens."""
    found = candidate(fold)
    return () if found is None else (found,)


@operation(
    "POST",
    "/v1/experiments",
    "admin",
    body=bodies.NewExperiment,
    answers=_SHOWN | {201: out.ExperimentAnswer},
    problems=(409,),
    large=True,
)
async def create_experiment(call: Call) -> Response:
    """Create an experiment; 200 if it is there with these settings, 409 if it is there with others."""
    settings = call.body.model_dump(exclude_none=True)
    name = settings.pop("name")
    if not call.caller.may("admin", name):
        raise forbidden("admin", name)
    limits, max_open = call.service.limits, settings.get("outcomes", {}).get("max_open", 0)
    if max_open > limits.max_open:
        raise InputError(f"max_open of at most {limits.max_open}", max_open, "give less")
    served, new = await call.service.create(name, settings, call.token)
    return answer(await served.shown.get(), 201 if new else 200)


@operation("GET", ONE, "read", answers=_SHOWN)
async def show_experiment(call: Call) -> Response:
    """Show an experiment and its settings."""
    return answer(await (await call.service.experiment(call.name)).shown.get())


@operation("GET", f"{ONE}/report", "read", answers={200: out.answer_of(Report)})
async def report(call: Call) -> Response:
    """Report what leads, how sure that is, who got how much traffic and what is still in the race."""
    return answer(await (await call.service.experiment(call.name)).report.get())


@operation("GET", f"{ONE}/changes", "read", answers={200: {"changes": list[Change]}})
async def changes(call: Call) -> Response:
    """Tell who has changed what, and when, oldest first."""
    served = await call.service.experiment(call.name)
    changed = await served.call(served.experiment.changes)
    return answer({"changes": [change._asdict() for change in changed]})


@operation("GET", f"{ONE}/view", "read", answers={200: out.ViewAnswer})
async def view(call: Call) -> Response:
    """Return what the page shows; it may be a second old."""
    return answer(await (await call.service.experiment(call.name)).view.get())


@operation("GET", f"{ONE}/export", "read", query=bodies.ExportQuery, answers=_FILE, problems=(429,), slow=True)
async def export(call: Call) -> Response:
    """Export all decisions, one row each, as csv, jsonl or parquet."""
    service, name, kind = call.service, call.name, call.query.format
    await service.experiment(name)
    service.check_free("exports", service.exporting)
    await service.exporting.acquire()
    file: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is sent; it never has a name
    try:
        most = service.limits.export_mebibytes
        await run_in_subprocess("export", file, db=str(service.db), name=name, kind=kind, mebibytes=most)
    except BaseException:
        file.close()
        service.exporting.release()
        raise
    return Download(file, _MEDIA[kind], f"decisions.{kind}", service.exporting.release)


@operation("POST", "/v1/plan", "read", body=_PLAN, answers={200: out.answer_of(Plan)}, **_PLANNED)
async def plan(call: Call) -> Response:
    """Say how many visitors an experiment needs until a verdict, and what it loses meanwhile; takes some seconds."""
    wanted = call.body.model_dump()
    return await _planned(call, sum(check_plan(**wanted).values()), wanted)


@operation("POST", "/v1/plan/goal", "read", body=_GOAL_PLAN, answers={200: out.answer_of(GoalPlan)}, **_PLANNED)
async def plan_goal(call: Call) -> Response:
    """Say how many visitors revenue needs until it has a winner, or a guardrail until it is cleared."""
    wanted = call.body.model_dump()
    return await _planned(call, sum(wanted["factors"].values()), wanted | {"of": "plan_goal"})


@operation("POST", "/v1/plan/lists", "read", body=_LIST_PLAN, answers={200: out.answer_of(ListPlan)}, **_PLANNED)
async def plan_lists(call: Call) -> Response:
    """Say how many visitors a ranking needs until its best items are proven; takes some seconds."""
    wanted = call.body.model_dump()
    return await _planned(call, wanted["items"], wanted | {"of": "plan_lists"})


async def _planned(call: Call, levels: int, wanted: dict[str, Any]) -> Response:
    service = call.service
    most = service.limits.plan_levels
    if levels > most:
        do = "plan fewer, or use `rankone plan` on a machine of yours"
        raise InputError(f"at most {most} levels together", levels, do)
    service.check_free("plans", service.planning)
    async with service.planning:
        with tempfile.TemporaryFile() as file:
            await run_in_subprocess("plan", file, **wanted)
            file.seek(0)
            return answer(file.read())


def _change(method: str, path: str, result: str | None = None, *, kinds: Any = None, **more: Any) -> None:
    """Make the operation that calls a method of `Experiment`, whose arguments are the fields of the body.

    Its answer is the experiment, or with `result`, the name of a field, what the method returned.
    """
    function = getattr(Experiment, method)
    body = None if method == "resume" else bodies.body_of(function, **kinds or {})

    async def handler(call: Call) -> Response:
        served = await call.service.experiment(call.name)
        wanted = {} if body is None else call.body.model_dump()
        if method in ("add_level", "add_factor"):
            await _check_room(call, served, **wanted)
        done = await served.call(getattr(served.experiment.on_behalf_of(call.token), method), **wanted)
        return answer(await served.shown.get() if result is None else {result: done})

    handler.__name__, handler.__doc__ = method, (function.__doc__ or "").partition("\n")[0]
    answers = _SHOWN if result is None else {200: {result: int}}
    operation("POST", f"{ONE}/{path}", "admin", body=body, answers=answers, **more)(handler)


async def _check_room(
    call: Call, served: ServedExperiment, factor: str, levels: list[str] | None = None, **_: str
) -> None:
    """Refuse a level more, or a factor with these levels, if memory would be short."""
    sizes = await served.call(
        served.experiment.look, lambda fold: dict(zip(fold.factors, fold.factors.sizes, strict=True))
    )
    sizes[factor] = sizes.get(factor, 0) + 1 if levels is None else len(levels)
    call.service.check_room(list(sizes.values()))


_change("stop", "stop")
_change("resume", "resume", problems=(422,))
_change("exclude", "exclude", "excluded", slow=True)
_change("void_open", "void-open", "voided")
_change("add_level", "levels/add", "number")
_change("retire_level", "levels/retire", "number")
_change("add_factor", "factors/add", kinds={"levels": bodies.Levels}, large=True)
_change("forbid", "forbid")
_change("allow", "allow")
_change("declare_context", "context")
