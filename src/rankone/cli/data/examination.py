"""``rankone examination``, ``rankone propensities``: how often positions are looked at, and weights that undo it."""

from pathlib import Path
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


@command("propensities", example="log.parquet --out weights.parquet")
@with_options(_logs.FORMAT)
def propensities(
    log: list[str] = _logs.LOGS,
    out: Path | None = typer.Option(
        None, help="The rows of the log, each with its weight (.parquet or .csv); a table keeps its columns."
    ),
    clip: float = typer.Option(10.0, help="The largest weight of a click."),
    method: str = _logs.METHOD,
    level: float = CONFIDENCE,
    as_json: bool = JSON,
    **reading: Any,
) -> None:
    """Compute weights that undo position bias, to train LightGBM, XGBoost and other rankers on clicks."""
    from rankone import clicks
    from rankone.clicks.examination.propensities import save_weights, weights_file

    if out is not None:
        weights_file(out)  # a wrong name is refused before the log is read
    max_bad = reading.pop("max_bad")
    rows = clicks.log_rows(log, **_logs.for_reader(**reading))
    wishes: dict[str, Any] = {**rows.columns, "clip": clip, "method": method, "level": level, "max_bad": max_bad}
    weighed = clicks.propensities(rows.frame, **wishes)
    if out is not None:
        save_weights(weighed.weights(rows.frame), out)
    if as_json:
        print_json(weighed.to_dict())
        return
    print(weighed)
    if out is not None:
        print(f"Written: {out}")
