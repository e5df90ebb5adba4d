"""``rankone webhooks``: who is told of verdicts, alarms and stops."""

import asyncio
import sys

import typer

from rankone.cli._commands import command
from rankone.cli._experiments import DB
from rankone.cli._options import JSON
from rankone.cli._tables import print_json, show_rows
from rankone.errors import RankoneError

_ABOUT = "Webhooks: who is told of verdicts, alarms and stops, by HTTP, Slack or e-mail."
_ID = typer.Argument(..., help="Id of the webhook, as `rankone webhooks list` shows it.")


@command("webhooks add", example="rankone.db https://shop.example/rankone --event verdict", group=_ABOUT)
def add(
    db: str = DB,
    address: str = typer.Argument(..., help="https://..., or mailto:ann@shop.example for e-mail."),
    event: list[str] = typer.Option(
        [], "--event", help="verdict, alarm, traffic, guardrail, stop or no-data; repeatable. Default: all of them."
    ),
    experiment: str = typer.Option("*", help="Name of the experiment. Default: all of them."),
    format: str | None = typer.Option(None, help="json or slack; e-mail needs none. Default: json."),
    allow_private: bool = typer.Option(
        False, "--allow-private", help="Allow http:// and addresses of a private network or of this machine."
    ),
) -> None:
    """Add a webhook and print the secret that signs its messages, once. `rankone serve` sends them."""
    from rankone.live import Database
    from rankone.web.webhooks.hooks import add_webhook

    Database(db, read_only=True).close()  # a wrong name must not create a database
    with Database(db) as database:
        hook = add_webhook(database, address, event, experiment, format, allow_private)
    print(f"Webhook {hook.id}. Copy its secret now, it is not shown again:", file=sys.stderr)
    print(hook.secret)


@command("webhooks list", example="rankone.db", group=_ABOUT)
def list_(db: str = DB, as_json: bool = JSON) -> None:
    """List webhooks and how their deliveries went, never their secrets."""
    from rankone.live import Database
    from rankone.web.webhooks.hooks import list_webhooks

    with Database(db, read_only=True) as database:
        hooks = [hook.shown() for hook in list_webhooks(database)]
    if as_json:
        print_json(hooks)
    elif not hooks:
        print("No webhooks yet.")
    else:
        columns = ("id", "address", "format", "experiment", "events", "arrived", "waiting", "failed", "error")
        show_rows(
            [tuple((hook | {"events": " ".join(hook["events"])})[name] for name in columns) for hook in hooks], columns
        )


@command("webhooks remove", example="rankone.db ID", group=_ABOUT)
def remove(db: str = DB, id: str = _ID) -> None:
    """Remove a webhook, and what it was still to be told."""
    from rankone.live import Database
    from rankone.web.webhooks.hooks import remove_webhook

    Database(db, read_only=True).close()
    with Database(db) as database:
        remove_webhook(database, id)
    print(f"Webhook {id} is removed.", file=sys.stderr)


@command("webhooks test", example="rankone.db ID", group=_ABOUT)
def try_(db: str = DB, id: str = _ID) -> None:
    """Send a test message from this machine, once."""
    from rankone.live import Database
    from rankone.web.webhooks.hooks import find_webhook
    from rankone.web.webhooks.sending import send_test

    with Database(db, read_only=True) as database:
        hook = find_webhook(database, id)
    error = asyncio.run(send_test(hook))
    if error is not None:
        raise RankoneError(f"The test message to {hook.place} did not arrive: {error}")
    print(f"The test message to {hook.place} arrived.", file=sys.stderr)
