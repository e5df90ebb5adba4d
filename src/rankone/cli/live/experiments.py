"""``rankone experiments``, ``rankone winners``, ``rankone changes``: what a database holds, and who changed what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from rankone.cli._commands import command
from rankone.cli._experiments import DB, NAME
from rankone.cli._options import DEPTHS, JSON, with_options
from rankone.cli._tables import print_json, show_answer, show_rows, utc
from rankone.errors import InputError, JournalError

if TYPE_CHECKING:
    from rankone.live.report.report import Report


@command("experiments", example="rankone.db homepage --details")
@with_options(DEPTHS)
def experiments(
    db: str = DB,
    name: str | None = typer.Argument(None, help="Name of an experiment to report on. Default: list all."),
    **depths: bool,
) -> None:
    """List the experiments of a database, or report on one: who wins, each level compared, what to watch out for."""
    from rankone.live import Database, Experiment

    if name is None and (depths["brief"] or depths["details"]):
        raise InputError("the name of an experiment", "none", "try rankone experiments rankone.db homepage --brief")
    if name is not None:
        with Database(db, read_only=True) as database:
            database.number(name)
            report = Experiment(name, db=database).report()
        show_answer(report, **depths)
        return
    reports, damaged = [], {}
    with Database(db, read_only=True) as database:
        pages = database.use(lambda storage: storage.damage()) or []
        for each in database.names():
            try:
                reports.append(Experiment(each, db=database).report())
            except JournalError as error:  # the others are shown all the same
                damaged[each] = str(error)
    if depths["as_json"]:
        print_json([report.to_dict() for report in reports])
    else:
        rows: list[Any] = list(map(_row, reports))
        rows += [(each, None, None, "damaged", None, None, None, detail) for each, detail in damaged.items()]
        show_rows(rows, ("experiment", "policy", "aim", "status", "decisions", "clicks", "open", "result"))
    if damaged or pages:
        got = f"damaged ones: {', '.join(damaged)}" if damaged else "damaged pages: what is shown may not be all"
        raise JournalError("journals that can be read", got, "run `rankone doctor` on this database")


@command("winners", example="rankone.db --false-share 0.05")
def winners(
    db: str = DB,
    false_share: float = typer.Option(0.05, "--false-share", help="Share of false winners in the list, on average."),
    as_json: bool = JSON,
) -> None:
    """List which of many experiments have a winner, with few false ones among them however many experiments run."""
    from rankone.live import Database
    from rankone.live.winners import winners as find

    with Database(db, read_only=True) as database:
        found = find(database, false_share)
    if as_json:
        print_json(found.to_dict())
    else:
        print(found)


def _row(report: Report) -> tuple[Any, ...]:
    counts = (report.decisions, report.outcomes["clicked"], report.outcomes["open"])
    return report.name, report.policy, report.aim or "-", _status(report), *counts, report.headline


def _status(report: Report) -> str:
    verdict = "good enough" if report.good_enough else "decided" if report.decided else ""
    verdict = "in doubt" if verdict and (report.doubted or report.shortfalls) else verdict
    warnings = ["check traffic" if report.shortfalls else "", "fault" if report.fault else ""]
    return ", ".join(filter(None, ["stopped" if report.stopped else "runs", verdict, *warnings]))


@command("changes", example="rankone.db homepage")
def changes(db: str = DB, name: str = NAME, as_json: bool = JSON) -> None:
    """List who changed what in an experiment, and when: levels, stops, exclusions, archives, guardrails.

    'who' is the id of the token used; empty for a change made on the database's own machine.
    """
    from rankone.live import Database
    from rankone.live.operate.change_log import changes_of

    with Database(db, read_only=True) as database, database.reader() as storage:
        changed = changes_of(storage, storage.number(name))
    if as_json:
        print_json([change._asdict() for change in changed])
    else:
        show_rows([(utc(each.at), each.what, each.by or "") for each in changed], ("at", "what", "token"))
