"""``rankone experiments``: the experiments of a database, one line each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from rankone.cli._commands import LIVE, command
from rankone.cli._experiments import DB
from rankone.errors import JournalError

if TYPE_CHECKING:
    from rankone.live.report.report import Report


@command("experiments", example="rankone.db", topic=LIVE)
def experiments(
    db: str = DB,
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """List the experiments of a database: traffic, clicks and what leads."""
    from rankone.live import Database, Experiment

    reports, damaged = [], {}
    with Database(db, read_only=True) as database:
        pages = database.use(lambda storage: storage.damage()) or []
        for name in database.names():
            try:
                reports.append(Experiment(name, db=database).report())
            except JournalError as error:  # the others are shown all the same
                damaged[name] = str(error)
    if as_json:
        print(json.dumps([report.to_dict() for report in reports], indent=1))
    else:
        _show(reports, damaged)
    if damaged or pages:
        got = f"damaged ones: {', '.join(damaged)}" if damaged else "damaged pages: what is shown may not be all"
        raise JournalError("journals that can be read", got, "see what `rankone doctor` says of this database")


def _show(reports: Sequence[Report], damaged: Mapping[str, str]) -> None:
    import polars as pl

    from rankone.cli._tables import show_table

    rows: list[tuple[Any, ...]] = [
        (
            report.name,
            report.policy,
            report.goal or "-",
            _status(report),
            report.decisions,
            report.outcomes["clicked"],
            report.outcomes["open"],
            report.sentence,
        )
        for report in reports
    ]
    rows += [(name, None, None, "damaged", None, None, None, detail) for name, detail in damaged.items()]
    columns = ["experiment", "policy", "goal", "status", "decisions", "clicks", "open", "what is known"]
    show_table(pl.DataFrame(rows, schema=columns, orient="row"))


def _status(report: Report) -> str:
    verdict = "good enough" if report.good_enough else "decided" if report.decided else ""
    verdict = "in doubt" if verdict and (report.doubted or report.shortfalls) else verdict
    warnings = ["check traffic" if report.shortfalls else "", "fault" if report.fault else ""]
    return ", ".join(filter(None, ["stopped" if report.stopped else "runs", verdict, *warnings]))
