"""``rankone examination``: how often positions are looked at, and which of them the data link."""

from typing import Any

import typer

from rankone.cli import _logs
from rankone.cli._commands import command
from rankone.cli._options import CONFIDENCE, JSON, with_options
from rankone.cli._tables import print_json


@command("examination", example="log.tsv.gz")
@with_options(_logs.READING)
def examination(
    log: list[str] = _logs.LOGS,
    method: str = _logs.METHOD,
    level: float = CONFIDENCE,
    top: int = typer.Option(0, min=0, help=_logs.TOP_HELP),
    as_json: bool = JSON,
    **reading: Any,
) -> None:
    """Estimate how often visitors look at each position of a list."""
    from rankone import clicks

    counts = _logs.read_counts(log, top, reading)
    curve = clicks.examination_curve(counts, method=method, level=level)
    if as_json:
        print_json({"log": counts.report.to_dict(), "curve": curve.to_dict()})
        return
    print(curve)
    for warning in counts.report.warnings():
        print(f"Beware: {warning}")
