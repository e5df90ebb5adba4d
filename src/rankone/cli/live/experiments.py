"""``rankone experiments``, ``rankone changes``: the experiments of a database, and who has changed what in one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankone.cli._commands import command
from rankone.cli._experiments import DB, NAME
from rankone.cli._options import JSON
from rankone.cli._tables import print_json, show_rows, utc
from rankone.errors import JournalError

if TYPE_CHECKING:
    from rankone.live.report.report import Report


@command("experiments", example="rankone.db")
def experiments(db: str = DB, as_json: bool = JSON) -> None:
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
        print_json([report.to_dict() for report in reports])
    else:
        rows: list[Any] = list(map(_row, reports))
        rows += [(name, None, None, "damaged", None, None, None, detail) for name, detail in damaged.items()]
        show_rows(rows, ("experiment", "policy", "goal", "status", "decisions", "clicks", "open", "what is known"))
    if damaged or pages:
        got = f"damaged ones: {', '.join(damaged)}" if damaged else "damaged pages: what is shown may not be all"
        raise JournalError("journals that can be read", got, "see what `rankone doctor` says of this database")


def _row(report: Report) -> tuple[Any, ...]:
    counts = (report.decisions, report.outcomes["clicked"], report.outcomes["open"])
    return report.name, report.policy, report.goal or "-", _status(report), *counts, report.headline


def _status(report: Report) -> str:
    verdict = "good enough" if report.good_enough else "decided" if report.decided else ""
    verdict = "in doubt" if verdict and (report.doubted or report.shortfalls) else verdict
    warnings = ["check traffic" if report.shortfalls else "", "fault" if report.fault else ""]
    return ", ".join(filter(None, ["stopped" if report.stopped else "runs", verdict, *warnings]))


@command("changes", example="rankone.db homepage")
def changes(db: str = DB, name: str = NAME, as_json: bool = JSON) -> None:
    """Say who has changed what in an experiment, and when: levels, stops, exclusions, archives.

    Who: the id of the token that a service was asked with; none where it was done on the machine of the database.
    """
    from rankone.live import Database
    from rankone.live.operate.change_log import changes_of

    with Database(db, read_only=True) as database, database.reader() as storage:
        changed = changes_of(storage, storage.number(name))
    if as_json:
        print_json([change._asdict() for change in changed])
    else:
        show_rows([(utc(each.at), each.what, each.by or "") for each in changed], ("at", "what", "token"))
