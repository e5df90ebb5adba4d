"""Experiments: create, list, show, stop, change and look at them."""

from __future__ import annotations

import tempfile
from typing import Any, BinaryIO

from starlette.responses import Response

from rankone.errors import InputError
from rankone.web.dashboard_data import shown
from rankone.web.encoding import encode
from rankone.web.server.http.problem_json import Problem
from rankone.web.server.http.responses import Download
from rankone.web.server.routes.operations import Call, answer, forbidden, operation
from rankone.web.server.schemas.bodies import (
    Changes,
    ExcludeAnswer,
    ExcludeBody,
    ExperimentAnswer,
    Experiments,
    ExportQuery,
    FactorBody,
    ForbidBody,
    LevelAnswer,
    LevelBody,
    NewExperiment,
    SegmentsBody,
    StopBody,
    VoidOpenAnswer,
    VoidOpenBody,
)
from rankone.web.server.schemas.report import ReportAnswer, ViewAnswer
from rankone.web.server.subprocess_tasks import run_in_subprocess

_ONE = "/v1/experiments/{name}"
_MEDIA = {"csv": "text/csv", "jsonl": "application/jsonl", "parquet": "application/vnd.apache.parquet"}


@operation("GET", "/v1/experiments", "read", answers={200: Experiments})
async def list_experiments(call: Call) -> Response:
    """List the experiments that the token may read; `damaged` names those whose journal cannot be read."""
    ends = await call.service.last_events()
    names = [name for name in ends if call.caller.may("read", name)]
    found, damaged = await call.service.look_at_all(
        names, lambda served: served.seen(shown, ends[served.experiment.name])
    )
    errors = encode([{"name": name} | Problem.of(error).explanation() for name, error in damaged.items()])
    return answer(b'{"experiments":[%b],"damaged":%b}' % (b",".join(found.values()), errors))


@operation(
    "POST",
    "/v1/experiments",
    "admin",
    body=NewExperiment,
    answers={200: ExperimentAnswer, 201: ExperimentAnswer},
    problems=(409,),
    large=True,
)
async def create_experiment(call: Call) -> Response:
    """Create an experiment; 200 if it is there with these settings, 409 if it is there with others."""
    settings = call.body.model_dump(exclude_none=True)
    name = settings.pop("name")
    watch = settings.get("watch", {})
    if watch.get("per_segment") and "segments" not in watch:
        do = "declare what is known of visitors, such as {'device': ['phone', 'desktop']}"
        raise InputError("segments for per_segment", "none", do)
    if not call.caller.may("admin", name):
        raise forbidden("admin", name)
    limits, max_open = call.service.limits, settings.get("outcomes", {}).get("max_open", 0)
    if max_open > limits.max_open:
        raise InputError(f"max_open of at most {limits.max_open}", max_open, "give less")
    served, new = await call.service.create(name, settings, call.token)
    return answer(await served.shown.get(), 201 if new else 200)


@operation("GET", _ONE, "read", answers={200: ExperimentAnswer})
async def show_experiment(call: Call) -> Response:
    """Show an experiment and its settings."""
    return answer(await (await call.service.experiment(call.name)).shown.get())


@operation("GET", f"{_ONE}/report", "read", answers={200: ReportAnswer})
async def report(call: Call) -> Response:
    """Report what leads, how sure that is, who got how much traffic and what is still in the race."""
    served = await call.service.experiment(call.name)
    return answer(await served.report.get())


@operation("GET", f"{_ONE}/changes", "read", answers={200: Changes})
async def changes(call: Call) -> Response:
    """Tell who has changed what, and when, oldest first."""
    served = await call.service.experiment(call.name)
    found = await served.call(served.experiment.changes)
    return answer({"changes": [change._asdict() for change in found]})


@operation("GET", f"{_ONE}/view", "read", answers={200: ViewAnswer})
async def view(call: Call) -> Response:
    """Return what the page shows; it may be a second old."""
    served = await call.service.experiment(call.name)
    return answer(await served.view.get())


@operation(
    "GET",
    f"{_ONE}/export",
    "read",
    query=ExportQuery,
    answers={200: tuple(_MEDIA.values())},
    problems=(429,),
    slow=True,
)
async def export(call: Call) -> Response:
    """Export all decisions, one row each, as csv, jsonl or parquet."""
    service, name, kind = call.service, call.name, call.query.format
    await service.experiment(name)
    if service.exporting.locked():
        expected = f"at most {service.limits.exports} exports at once"
        raise Problem(429, "exports-busy", expected, "more", "try again in some seconds", retry_after=5)
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


@operation("POST", f"{_ONE}/stop", "admin", body=StopBody, answers={200: ExperimentAnswer})
async def stop(call: Call) -> Response:
    """Stop experimenting: from now on every decision is one combination."""
    return await _changed(call, "stop", **call.body.model_dump())


@operation("POST", f"{_ONE}/resume", "admin", answers={200: ExperimentAnswer}, problems=(422,))
async def resume(call: Call) -> Response:
    """Experiment again after a stop, on all that is known."""
    return await _changed(call, "resume")


@operation("POST", f"{_ONE}/exclude", "admin", body=ExcludeBody, answers={200: ExcludeAnswer}, slow=True)
async def exclude(call: Call) -> Response:
    """Undo false clicks: outcomes that fit everything given no longer count."""
    served = await call.service.experiment(call.name)
    exclude = served.experiment.on_behalf_of(call.token).exclude
    return answer({"excluded": await served.call(exclude, **call.body.model_dump())})


@operation("POST", f"{_ONE}/void-open", "admin", body=VoidOpenBody, answers={200: VoidOpenAnswer})
async def void_open(call: Call) -> Response:
    """Close decisions that have been open for long; outcomes that arrive later are recorded as late."""
    served = await call.service.experiment(call.name)
    void_open = served.experiment.on_behalf_of(call.token).void_open
    return answer({"voided": await served.call(void_open, **call.body.model_dump())})


async def _changed(call: Call, method: str, **keywords: Any) -> Response:
    served = await call.service.experiment(call.name)
    await served.call(getattr(served.experiment.on_behalf_of(call.token), method), **keywords)
    return answer(await served.shown.get())


@operation("POST", f"{_ONE}/levels/add", "admin", body=LevelBody, answers={200: LevelAnswer})
async def add_level(call: Call) -> Response:
    """Add a level to a factor; what is known of the others stays known."""
    served, factor = await call.service.experiment(call.name), call.body.factor
    sizes = await served.call(
        served.experiment.look, lambda fold: dict(zip(fold.factors, fold.pulls.shape, strict=True))
    )
    call.service.check_room([size + (name == factor) for name, size in sizes.items()])
    return await _change_level(call, "add_level")


@operation("POST", f"{_ONE}/levels/retire", "admin", body=LevelBody, answers={200: LevelAnswer})
async def retire_level(call: Call) -> Response:
    """Withdraw a level of a factor: it is never chosen again."""
    return await _change_level(call, "retire_level")


@operation("POST", f"{_ONE}/factors/add", "admin", body=FactorBody, answers={200: ExperimentAnswer}, large=True)
async def add_factor(call: Call) -> Response:
    """Add a whole factor: all decisions so far had the first of its levels."""
    served = await call.service.experiment(call.name)
    sizes = await served.call(served.experiment.look, lambda fold: fold.pulls.shape)
    wider = (*sizes, len(call.body.levels))
    call.service.check_room(wider)
    return await _changed(call, "add_factor", factor=call.body.name, levels=call.body.levels)


@operation("POST", f"{_ONE}/forbid", "admin", body=ForbidBody, answers={200: ExperimentAnswer})
async def forbid(call: Call) -> Response:
    """Never show some levels together any more."""
    return await _changed(call, "forbid", levels=call.body.levels)


@operation("POST", f"{_ONE}/allow", "admin", body=ForbidBody, answers={200: ExperimentAnswer})
async def allow(call: Call) -> Response:
    """Show levels together again that were forbidden."""
    return await _changed(call, "allow", levels=call.body.levels)


@operation("POST", f"{_ONE}/segments", "admin", body=SegmentsBody, answers={200: ExperimentAnswer})
async def declare_segments(call: Call) -> Response:
    """Say which attributes of visitors are told apart from now on; segments that do not fit count among the others."""
    return await _changed(call, "declare_segments", segments=call.body.attributes)


async def _change_level(call: Call, method: str) -> Response:
    served = await call.service.experiment(call.name)
    change = getattr(served.experiment.on_behalf_of(call.token), method)
    return answer({"number": await served.call(change, call.body.factor, call.body.name)})


OPERATIONS = (
    list_experiments,
    create_experiment,
    show_experiment,
    report,
    changes,
    view,
    export,
    stop,
    resume,
    exclude,
    void_open,
    add_level,
    retire_level,
    add_factor,
    forbid,
    allow,
    declare_segments,
)
