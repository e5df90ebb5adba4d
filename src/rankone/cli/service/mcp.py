"""``rankone mcp``: tools for agents."""

import typer

from rankone.cli._commands import command


@command("mcp", example="http://127.0.0.1:8000")
def mcp(
    url: str = typer.Argument(None, help="Address of a service. Default: only analyse, plan and what-if."),
    token: str = typer.Option(None, envvar="RANKONE_TOKEN", help="Token; with the scope admin it may change things."),
) -> None:
    """Offer rankone to an agent by the Model Context Protocol, on standard input and output."""
    from rankone.web.agent_tools import make_server

    make_server(url, token).run("stdio")
