"""What an agent (a program that speaks the Model Context Protocol) may do: look, plan, analyse, and run experiments.

The tools are thin: each calls what a person would call. What changes an experiment is offered only where the token may
administrate; the service checks it again.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rankone._version import __version__
from rankone.client.client import Client
from rankone.errors import MissingExtra, RankoneError

if TYPE_CHECKING:
    from mcp.server import MCPServer

_ABOUT = (
    "rankone finds which combination of headline, image, button, ... is clicked most: in a table of counts (analyse), "
    "on a live site (experiments, report) or beforehand (plan). Quote headlines unchanged, with what they assume. "
    "An experiment that is ahead has not won."
)
Tool = Callable[..., Any]


def make_server(url: str | None, token: str | None) -> MCPServer:
    """Return a server of tools; with the address of a service, also those for its experiments."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp_types import ToolAnnotations
    except ImportError:
        raise MissingExtra("rankone mcp", "mcp") from None
    server = MCPServer("rankone", version=__version__, instructions=_ABOUT)

    def offer(tool: Tool, reads: bool = True) -> None:
        @functools.wraps(tool)
        def explained(**given: Any) -> Any:
            try:
                return tool(**given)
            except RankoneError as error:
                raise ToolError(str(error)) from None

        hints = ToolAnnotations(read_only_hint=reads, destructive_hint=False, open_world_hint=False)
        server.add_tool(explained, annotations=hints)

    for tool in (analyse, what_if, plan):
        offer(tool)
    if url is not None:
        client = Client(url, token)
        reading, changing = _of_service(client)
        for tool in reading:
            offer(tool)
        for tool in changing if may_change(client, token) else ():
            offer(tool, reads=False)
    return server


def may_change(client: Client, token: str | None) -> bool:
    """Return whether tools that change experiments are offered: only with a token that may administrate."""
    return token is not None and "admin" in client.transport.send("GET", "/v1/whoami")["scopes"]


def analyse(table: str) -> str:
    """Say which combination of a table of counts is clicked most, and how sure that is.

    Args:
        table: a file (.csv, .xlsx, .parquet), or the text of a CSV table itself, with a column for each factor and
            columns of how often each combination was shown and clicked.
    """
    import io

    import polars as pl

    import rankone

    source: Any = pl.read_csv(io.StringIO(table)) if "\n" in table.strip() else table
    return _all_of(rankone.analyse(source))


def what_if(log: str, target: str) -> str:
    """Estimate what another combination would have earned, from a file of logged decisions with their probabilities.

    Args:
        log: a file that `rankone export` wrote, or another with a row per decision.
        target: what would have been shown, such as headline=A,image=1.
    """
    import rankone

    return _all_of(rankone.evaluate(log, target))


def plan(factors: dict[str, int], rate: float, lift: float, visitors_a_day: float | None = None) -> str:
    """Say how many visitors and days an experiment needs to find a winner.

    Args:
        factors: the number of levels of each factor, such as {"headline": 4, "image": 5}.
        rate: click rate of a combination that differs from the best in one part, such as 0.03.
        lift: how much more often the best combination is clicked: 0.1 is 10% more.
        visitors_a_day: the answer is then in days too.
    """
    import rankone

    return _all_of(rankone.plan(factors=factors, rate=rate, lift=lift, visitors_a_day=visitors_a_day))


def _of_service(client: Client) -> tuple[list[Tool], list[Tool]]:
    """Return the tools that only look at the experiments of a service, and those that change them."""

    def experiments() -> str:
        """List the experiments: their factors and levels, policy and aim."""
        return json.dumps(client.experiments())

    def report(name: str) -> str:
        """Say what leads or has won in an experiment, how sure that is, and how each level compares."""
        return _all_of(client.experiment(name).report())

    def winners(false_share: float = 0.05) -> str:
        """List which of all experiments have a winner, with at most this share of false ones on average."""
        return json.dumps(client.transport.send("GET", f"/v1/winners?false_share={float(false_share)}"))

    def create(name: str, factors: dict[str, list[str]], window: float | None = None) -> str:
        """Create an experiment.

        Args:
            name: of the experiment.
            factors: the names of the levels of each factor, such as {"headline": ["A", "B"], "image": ["1", "2"]}.
            window: seconds after which a visitor who did not click counts as not clicked.
        """
        wishes: dict[str, Any] = {} if window is None else {"outcomes": {"window": window}}
        client.create(name, factors=factors, **wishes)
        return f"'{name}' runs."

    def stop(name: str, levels: dict[str, str] | None = None, why: str = "") -> str:
        """Stop an experiment: from now on every visitor sees these levels, or what leads."""
        shown = client.experiment(name).stop(levels, **({"why": why} if why else {}))
        return f"'{name}' is stopped. Every visitor sees {json.dumps(shown)}."

    return [experiments, report, winners], [create, stop]


def _all_of(answer: Any) -> str:
    """Return an answer in its three depths."""
    return "\n\n".join(filter(None, [str(answer), str(answer.details or "")]))
