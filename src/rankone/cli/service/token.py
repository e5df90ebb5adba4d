"""``rankone token``: make, list and revoke the tokens of a database."""

import sys
import time
from pathlib import Path

import typer

from rankone.cli._commands import command
from rankone.cli._experiments import DB
from rankone.cli._options import JSON
from rankone.cli._tables import print_json, show_rows, utc
from rankone.errors import InputError
from rankone.wording.lists import listed, quoted

_ABOUT = "Tokens: who may ask, tell, read or administer which experiment."


@command("token create", example="rankone.db --scope read --note Ann", group=_ABOUT)
def create(
    db: str = DB,
    scope: list[str] = typer.Option(..., "--scope", help="ask, tell, read, admin or sign; repeatable."),
    experiments: list[str] = typer.Option(
        ["*"], "--experiment", help="Name of the experiment it is for. Default: all of them. One token is for one."
    ),
    note: str = typer.Option("", help="What it is for."),
    days: float = typer.Option(365.0, help="Days until it expires; 0: never."),
    rate: int | None = typer.Option(
        None, help="Decisions asked and outcomes told per second; default: the service's limit."
    ),
) -> None:
    """Make a token and print it, once: only its hash is stored."""
    from rankone.live import Database
    from rankone.web.server.access.tokens import create_token

    if len(experiments) > 1:
        raise InputError("one experiment", listed(quoted(experiments)), "make a token for each, or one for all")
    (experiment,) = experiments
    missing = not Path(db).exists()
    with Database(db) as database:
        text = create_token(database, scope, experiment, note, days or None, rate)
        names = database.names()
    if missing and Path(db).exists():  # a file, then: an address, which may hold a password, is not repeated
        print(f"{db} is a new database: serve it with `rankone serve {db}`.", file=sys.stderr)
    if experiment not in ("*", *names):
        known = f"There are: {', '.join(names)}." if names else "There are no experiments yet."
        print(f"No experiment is called '{experiment}' yet. {known}", file=sys.stderr)
    print("Copy it now, it is not shown again:", file=sys.stderr)
    print(text)


@command("token list", example="rankone.db", group=_ABOUT)
def list_(db: str = DB, as_json: bool = JSON) -> None:
    """List tokens: their ids and what they allow, never their secrets."""
    from rankone.live import Database
    from rankone.web.server.access.tokens import list_tokens

    with Database(db, read_only=True) as database:
        tokens = list_tokens(database)
    if as_json:
        print_json([{key: value for key, value in token._asdict().items() if key != "digest"} for token in tokens])
    elif not tokens:
        print("No tokens yet: only this machine can use the service.")
    else:
        rows = []
        for token in tokens:
            expires = "never" if token.expires is None else utc(token.expires)[:10]
            state = "revoked" if token.revoked else "valid" if token.valid(time.time()) else "expired"
            scopes = " ".join(token.scopes)
            rows.append((token.id, scopes, token.experiment, token.rate, expires, state, token.note, token.made_by))
        show_rows(rows, ("id", "scopes", "experiment", "rate", "expires", "state", "note", "made_by"))


@command("token revoke", example="rankone.db ID", group=_ABOUT)
def revoke(
    db: str = DB, id: str = typer.Argument(..., help="Id of the token, as `rankone token list` shows it.")
) -> None:
    """End a token; running servers notice within a second."""
    from rankone.live import Database
    from rankone.web.server.access.tokens import revoke_token

    Database(db, read_only=True).close()  # a wrong name must not create a database
    with Database(db) as database:
        revoke_token(database, id)
    print(f"Token {id} is revoked.", file=sys.stderr)
