"""The plan: how long an experiment will take, before it begins."""

from __future__ import annotations

import tempfile

from starlette.responses import Response

from rankone.errors import InputError
from rankone.simulation.plans.plan_inputs import check_plan
from rankone.web.server.http.problem_json import Problem
from rankone.web.server.routes.operations import Call, answer, operation
from rankone.web.server.schemas.plan import PlanAnswer, PlanBody
from rankone.web.server.subprocess_tasks import run_in_subprocess


@operation("POST", "/v1/plan", "read", body=PlanBody, answers={200: PlanAnswer}, problems=(429,), slow=True)
async def plan(call: Call) -> Response:
    """Say how many visitors an experiment needs until a verdict, and what it loses meanwhile; takes some seconds."""
    service, wishes = call.service, call.body.model_dump()
    levels, most = sum(check_plan(**wishes).values()), service.limits.plan_levels
    if levels > most:
        do = "plan fewer, or use `rankone plan` on a machine of yours"
        raise InputError(f"at most {most} levels together", levels, do)
    if service.planning.locked():
        expected, do = f"at most {service.limits.plans} plans at once", "try again in some seconds"
        raise Problem(429, "plans-busy", expected, "more", do, retry_after=5)
    async with service.planning:
        with tempfile.TemporaryFile() as file:
            await run_in_subprocess("plan", file, **wishes)
            file.seek(0)
            return answer(file.read())


OPERATIONS = (plan,)
