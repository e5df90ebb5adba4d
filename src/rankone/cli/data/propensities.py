"""``rankone propensities``: weights that undo position bias when a ranker learns from clicks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from rankone.cli import _logs
from rankone.cli._commands import DATA, command
from rankone.cli._wording import as_format_options, told_as


@command("propensities", example="log.parquet --out weights.parquet", topic=DATA)
def propensities(
    log: list[str] = _logs.LOGS,
    format: str | None = _logs.FORMAT,
    option: list[str] | None = _logs.OPTION,
    out: Path | None = typer.Option(
        None, help="The rows of the log, each with its weight (.parquet or .csv); a table keeps its columns."
    ),
    clip: float = typer.Option(10.0, help="The largest weight of a click."),
    level: float = typer.Option(0.95, help="Level of the intervals."),
    positions: int | None = _logs.POSITIONS,
    max_bad: float = _logs.MAX_BAD,
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """Weigh clicks by the inverse of their position's examination, for LightGBM, XGBoost and other rankers."""
    from rankone import clicks
    from rankone.clicks.examination.propensities import save_weights, weights_file

    if out is not None:
        weights_file(out)  # a wrong name is refused before the log is read
    options: dict[str, Any] = _logs.format_options(option)
    with told_as(as_format_options):
        rows = clicks.log_rows(log, format, positions=positions, **options)
        found = clicks.propensities(rows.frame, **rows.columns, clip=clip, level=level, max_bad=max_bad)
        if out is not None:
            save_weights(found.weights(rows.frame), out)
    if as_json:
        print(json.dumps(found.to_dict(), indent=1))
        return
    print(found)
    if out is not None:
        print(f"Written: {out}")
