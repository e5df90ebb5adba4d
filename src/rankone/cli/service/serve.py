"""``rankone serve``, ``rankone mcp``: experiments over HTTP with a page to watch them, and tools for agents."""

import dataclasses
import os
import sys
import tomllib
from pathlib import Path
from typing import Any, get_type_hints

import typer

from rankone.cli._commands import command
from rankone.cli._options import Options, with_options
from rankone.errors import InputError
from rankone.specs import did_you_mean
from rankone.web.server.options import ServerOptions

_PREFIX = "RANKONE_SERVE_"


def _variable(option: str) -> str:
    """Return the name of an option in the environment."""
    return _PREFIX + option.replace("-", "_").upper()


def _read(context: typer.Context, path: Path | None) -> Path | None:
    """Take what a file says where neither the command line nor the environment says it; refuse what nobody reads."""
    kinds = {each.name: each for each in context.command.params if each.name not in (None, "config", "help")}
    variables = {_variable(name) for name in (*kinds, "config") if name}
    for variable in os.environ:
        if variable.startswith(_PREFIX) and variable not in variables:
            do = did_you_mean(variable, sorted(variables), f"use {', '.join(sorted(variables))}")
            raise InputError("No such option in the environment:", variable, do)
    if path is None:
        return None
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        got = getattr(error, "strerror", None) or str(error)
        raise InputError(f"a configuration in TOML at {path}", got, "write lines such as port = 8000") from None
    for key, value in given.items():
        name = key.replace("-", "_")
        if name not in kinds:
            known = [each.replace("_", "-") for each in kinds if each]
            do = did_you_mean(key, known, f"use {', '.join(known)}")
            raise InputError(f"No such option in {path}:", key, do)
        if isinstance(value, list) is not bool(getattr(kinds[name], "multiple", False)) or isinstance(value, dict):
            raise InputError(f"{key} in {path} as the option takes it", value, "see `rankone serve --help`")
    context.default_map = {key.replace("-", "_"): value for key, value in given.items()}
    return path


_CONFIG = (
    "TOML file with these options, without the dashes before them; the command line and the environment override it."
)


def _options() -> Options:
    """Return the options of a service. The environment may set each as well, by its name."""
    config = typer.Option(None, "--config", is_eager=True, callback=_read, help=_CONFIG, envvar=_variable("config"))
    options: Options = {"config": (Path | None, config)}
    hints: dict[str, Any] = get_type_hints(ServerOptions)
    for field in dataclasses.fields(ServerOptions):
        kind, default = hints[field.name], field.default
        if isinstance(default, tuple):
            kind, default = list[str], list(default)
        flag, more = f"--{field.name.replace('_', '-')}", dict(field.metadata)
        if field.name == "db":  # as with every command, what comes first
            options["db"] = (kind, typer.Argument(default, envvar=_variable("db"), show_default=True, **more))
            continue
        options[field.name] = (kind, typer.Option(default, flag, envvar=_variable(field.name), **more))
    return options


@command("serve", example="rankone.db --port 8000")
@with_options(_options())
def serve(**options: Any) -> None:
    """Serve experiments over HTTP until Ctrl-C or SIGTERM: REST under /v1, the page at /, metrics at /metrics."""
    from rankone.web.server.serve import serve as run

    del options["config"]  # which is read by now
    run(ServerOptions(**options), say=lambda sentence: print(f"rankone: {sentence}", file=sys.stderr, flush=True))


@command("mcp", example="http://127.0.0.1:8000")
def mcp(
    url: str = typer.Argument(None, help="Address of a service. Default: only analyse, plan and what-if."),
    token: str = typer.Option(None, envvar="RANKONE_TOKEN", help="Token; with the scope admin it may change things."),
) -> None:
    """Offer rankone to an agent by the Model Context Protocol, on standard input and output."""
    from rankone.web.agent_tools import make_server

    make_server(url, token).run("stdio")
