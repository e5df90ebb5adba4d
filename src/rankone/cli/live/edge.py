"""``rankone weights``, ``rankone ingest``: publish what others decide by, take in what they showed and what came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from rankone.cli._commands import command
from rankone.cli._experiments import DB, NAME, experiment_of
from rankone.cli._options import JSON, moment_option
from rankone.cli._tables import print_json
from rankone.writing import write_file


@command("weights", example="rankone.db homepage --out weights.json")
def weights(
    db: str = DB,
    name: str = NAME,
    version: int | None = typer.Option(None, "--version", help="An earlier version. Default: the newest."),
    out: Path | None = typer.Option(None, "--out", help="File to write, whole or not at all. Default: print."),
) -> None:
    """Write the weights by which a page or a worker decides for itself, as JSON."""
    with experiment_of(db, name) as experiment:
        document = experiment.weights(version)
    if out is None:
        print_json(document)
    else:
        write_file(out, json.dumps(document) + "\n")


@command("ingest", example="rankone.db homepage --from exposures.parquet --from clicks.csv")
def ingest(
    db: str = DB,
    name: str = NAME,
    source: list[str] = typer.Option(
        ...,
        "--from",
        help="Exposures (visitor, version, time, a column for each factor) or outcomes (visitor, time, goal, value): a "
        "Parquet, CSV or JSON lines file; with --query a database. Repeatable.",
    ),
    query: str | None = typer.Option(
        None, help="SQL that returns the rows, of a SQLite file or postgresql:// address."
    ),
    since: float | None = moment_option("Only rows from this time on."),
    as_json: bool = JSON,
) -> None:
    """Take in what was shown and clicked elsewhere. Each visitor counts once, however often the same rows are told."""
    results: list[dict[str, Any]] = []
    with experiment_of(db, name) as experiment:
        for each in source:
            taken = experiment.ingest(each, query=query, since=since)
            results.append({"from": each, **taken.to_dict()})
            if not as_json:
                print(f"{each}: {taken.headline}")
    if as_json:
        print_json(results)
