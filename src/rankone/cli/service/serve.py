"""``rankone serve``: experiments over HTTP, and a page to watch them."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import typer

from rankone.cli._commands import SERVICE, command
from rankone.errors import InputError
from rankone.specs import did_you_mean

_PREFIX = "RANKONE_SERVE_"


def _option(default: Any, *names: str, **more: Any) -> Any:
    """Return an option that the environment may set as well, by the name of the option."""
    return typer.Option(default, *names, envvar=_variable(names[0].removeprefix("--")), **more)


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
            raise InputError("options of `rankone serve` in the environment", variable, do)
    if path is None:
        return None
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        got = getattr(error, "strerror", None) or str(error)
        raise InputError(f"a configuration in TOML at {path}", got, "write lines such as port = 8000") from None
    for key, value in found.items():
        name = key.replace("-", "_")
        if name not in kinds:
            known = [each.replace("_", "-") for each in kinds if each]
            do = did_you_mean(key, known, f"use {', '.join(known)}")
            raise InputError(f"options of `rankone serve` in {path}", key, do)
        if isinstance(value, list) is not bool(getattr(kinds[name], "multiple", False)) or isinstance(value, dict):
            raise InputError(f"{key} in {path} as the option takes it", value, "see `rankone serve --help`")
    context.default_map = {key.replace("-", "_"): value for key, value in found.items()}
    return path


@command("serve", example="--db rankone.db --port 8000", topic=SERVICE)
def serve(
    config: Path | None = _option(
        None, "--config", is_eager=True, callback=_read,
        help="TOML file with these options, without the dashes before them; the command line and the environment win.",
    ),
    db: str = _option("rankone.db", "--db", help="SQLite file or postgresql:// address; created if it is missing."),
    host: str = _option("127.0.0.1", "--host", help="Address to listen on; a public one needs a token first."),
    port: int = _option(8000, "--port", min=0, max=65535, help="Port to listen on; 0 picks a free one."),
    uds: str | None = _option(None, "--uds", help="Listen at this socket in the file system instead, for a proxy."),
    workers: int | None = _option(
        None, "--workers", help="Processes; they are replaced one by one on SIGHUP. Left out: one, without a parent."
    ),
    durability: str = _option("full", "--durability", help="full: survives power cuts; normal: crashes; off."),
    allow_origin: list[str] = _option(
        [], "--allow-origin",
        help="A web site whose pages may call the service, such as https://shop.example; repeatable.",
    ),
    require_token: bool = _option(
        False, "--require-token", help="Every request needs a token, also before the first one is made."
    ),
    root_path: str = _option("", "--root-path", help="Path under which a proxy offers the service, such as /rankone."),
    proxy_headers: bool = _option(
        False, "--proxy-headers", help="Believe a trusted proxy about whose request it passes on (X-Forwarded-For)."
    ),
    trusted_proxy: list[str] = _option(
        ["127.0.0.1", "::1"], "--trusted-proxy", help="Address or network of such a proxy; repeatable."
    ),
    tls_cert: str | None = _option(None, "--tls-cert", help="Certificate, with its chain, in PEM: serve HTTPS."),
    tls_key: str | None = _option(None, "--tls-key", help="Its key, if it is not in the same file."),
    access_log: bool = _option(False, "--access-log", help="Log every request."),
    log_format: str = _option("text", "--log-format", help="text, or json: each line an object."),
) -> None:  # fmt: skip
    """Serve experiments over HTTP until Ctrl-C or SIGTERM: REST under /v1, the page at /, metrics at /metrics."""
    from rankone.web.server.serve import ServerOptions
    from rankone.web.server.serve import serve as run

    options = ServerOptions(
        db, host, port, uds, durability, allow_origin, require_token, access_log, log_format, workers, root_path,
        proxy_headers, trusted_proxy, tls_cert, tls_key,
    )  # fmt: skip
    run(options, say=lambda sentence: print(f"rankone: {sentence}", file=sys.stderr, flush=True))
