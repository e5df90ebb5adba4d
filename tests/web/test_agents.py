"""Agents: the official SDK's client starts `rankone mcp` and calls its tools."""

import asyncio
import json
import sys
import time

import pytest

from rankone.client.client import Client
from rankone.live import Database
from rankone.web.server.access.tokens import create_token

from .helpers import Api, running

TABLE = """headline,image,shown,clicked
A,1,2000,61
A,2,2000,40
B,1,2000,98
B,2,2000,63
"""


def talk(calls, *arguments, token=None):
    """Start the command, list its tools and call some; return the names of the tools, and what each call said."""
    from mcp import StdioServerParameters
    from mcp.client import Client as Agent
    from mcp.client.stdio import stdio_client

    environment = {"RANKONE_TOKEN": token} if token else None
    how = StdioServerParameters(command=sys.executable, args=["-m", "rankone", "mcp", *arguments], env=environment)

    async def session():
        async with Agent(stdio_client(how)) as agent:
            tools = (await agent.list_tools()).tools
            results = [await agent.call_tool(name, given) for name, given in calls]
        read_only = {tool.name for tool in tools if tool.annotations.read_only_hint}
        said = [(bool(result.is_error), result.content[0].text) for result in results]
        return {tool.name for tool in tools}, read_only, said

    return asyncio.run(session())


@pytest.fixture
def service(tmp_path):
    db = tmp_path / "rankone.db"
    with Database(db) as database:
        tokens = {scope: create_token(database, [scope, "read"]) for scope in ("tell", "admin")}
    with running(db) as url:
        while Api(url)("GET", "/v1/experiments").status != 401:  # the service notices within a second
            time.sleep(0.05)
        yield url, tokens


def test_without_a_service_it_analyses_and_plans(tmp_path):
    (tmp_path / "ab.csv").write_text(TABLE)
    calls = [
        ("analyse", {"table": TABLE}),
        ("analyse", {"table": str(tmp_path / "ab.csv")}),
        ("analyse", {"table": str(tmp_path / "none.csv")}),
        ("plan", {"factors": {"headline": 2}, "rate": 0.9, "lift": 5.0}),
        ("what_if", {"log": str(tmp_path / "ab.csv"), "target": "headline=A"}),
    ]
    tools, read_only, said = talk(calls)
    assert tools == read_only == {"analyse", "plan", "what_if"}
    assert said[0] == said[1]
    assert said[0][1].startswith("'B' with '1' wins")
    assert said[2] == (True, f"Error executing tool analyse: No such file: {tmp_path / 'none.csv'}.")
    assert [error for error, _ in said] == [False, False, True, True, True]


def test_an_agent_that_may_runs_experiments(service):
    url, tokens = service
    factors = {"headline": ["A", "B"], "image": ["1", "2"]}
    calls = [
        ("create", {"name": "home", "factors": factors, "window": 600}),
        ("report", {"name": "home"}),
        ("experiments", {}),
        ("winners", {}),
        ("report", {"name": "nowhere"}),
        ("stop", {"name": "home", "levels": {"headline": "B", "image": "2"}, "why": "enough"}),
    ]
    tools, read_only, said = talk(calls, url, token=tokens["admin"])
    assert tools - read_only == {"create", "stop"}
    assert [error for error, _ in said] == [False, False, False, False, True, False]
    assert json.loads(said[2][1])[0]["factors"] == factors
    assert json.loads(said[3][1])["experiments"] == 1
    with Client(url, tokens["admin"]) as client:
        report = client.experiment("home").report()
    assert (report.shown, report.window) == ({"headline": "B", "image": "2"}, 600)


def test_an_agent_that_may_only_read_changes_nothing(service):
    url, tokens = service
    tools, read_only, _ = talk([], url, token=tokens["tell"])
    assert tools == read_only == {"analyse", "plan", "what_if", "experiments", "report", "winners"}
