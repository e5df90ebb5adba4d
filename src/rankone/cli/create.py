"""``rankone create``: a new live experiment."""

from __future__ import annotations

import shlex
import sys

import typer

from rankone.cli._commands import LIVE, command
from rankone.cli._experiments import DB, NAME
from rankone.cli._options import policy_names


@command("create", example="rankone.db homepage --row A --row B --col x --col y --window 600", topic=LIVE)
def create(
    db: str = DB,
    name: str = NAME,
    row: list[str] = typer.Option(..., "--row", help="Name of a row, such as a headline; repeatable."),
    col: list[str] = typer.Option(..., "--col", help="Name of a column, such as an image; repeatable."),
    window: float | None = typer.Option(
        None, help="Seconds after which silence counts as not clicked. Without it, tell both: clicked and not clicked."
    ),
    policy: str | None = typer.Option(
        None, "--policy", "-P", autocompletion=policy_names, help="Policy that chooses the pairs; default: uts."
    ),
    auto_stop: float | None = typer.Option(
        None, help="Stop when a winner is known with at most this probability of error, such as 0.05."
    ),
    max_open: int | None = typer.Option(None, help="How many decisions may wait for their outcomes; default: 100,000."),
    max_age: float | None = typer.Option(
        None,
        help="Seconds after which a decision without an outcome may be closed to make room; default: an hour. "
        "Not with --window, which closes decisions itself.",
    ),
    reward_cap: float | None = typer.Option(
        None,
        help="Largest reward there can be, such as 100: outcomes may then be rewards. Without it, they are clicks.",
    ),
) -> None:
    """Create an experiment in a database, and the database if it is new; a running service picks it up."""
    from rankone.errors import InputError
    from rankone.serving import Database, Experiment

    with Database(db) as database:
        where = database.where
        if name in database.names():
            do = f"see it: rankone experiments {shlex.quote(where)}, or choose another name"
            raise InputError("the name of a new experiment", name, do)
        experiment = Experiment(
            name,
            row,
            col,
            policy,
            database,
            window=window,
            auto_stop=auto_stop,
            max_open=max_open,
            max_age=max_age,
            reward_cap=reward_cap,
        )
        made = experiment.report()
    print(f"'{name}' is ready: {len(row)} x {len(col)} pairs, policy {made.policy}, in {where}.", file=sys.stderr)
