"""``rankone serve``: experiments over HTTP, and a page to watch them."""

from __future__ import annotations

import sys

import typer

from rankone.cli._commands import SERVICE, command


@command("serve", example="--db rankone.db --port 8000", topic=SERVICE)
def serve(
    db: str = typer.Option(
        "rankone.db", "--db", help="SQLite file or postgresql:// address; created if it is missing."
    ),
    host: str = typer.Option("127.0.0.1", help="Address to listen on; a public one needs a token first."),
    port: int = typer.Option(8000, min=0, max=65535, help="Port to listen on; 0 picks a free one."),
    durability: str = typer.Option("full", help="full: survives power cuts; normal: survives crashes; off."),
    allow_origin: list[str] = typer.Option(
        [], help="A web site whose pages may call the service, such as https://shop.example; repeatable."
    ),
    require_token: bool = typer.Option(
        False, "--require-token", help="Every request needs a token, also before the first one is made."
    ),
    access_log: bool = typer.Option(False, "--access-log", help="Log every request."),
) -> None:
    """Serve experiments over HTTP until Ctrl-C or SIGTERM: REST under /v1, the page at /, metrics at /metrics."""
    from rankone.web.server.serve import serve as run

    run(
        db, host, port, durability=durability, allowed_origins=allow_origin, require_token=require_token,
        access_log=access_log,
        say=lambda sentence: print(f"rankone: {sentence}", file=sys.stderr),
    )  # fmt: skip
