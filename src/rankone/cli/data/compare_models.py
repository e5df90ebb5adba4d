"""``rankone compare-models``: which click model predicts held-out clicks best."""

from __future__ import annotations

import json
from typing import Any

import typer

from rankone.cli import _logs
from rankone.cli._commands import DATA, command
from rankone.cli._options import model_names


@command("compare-models", example="log.tsv.gz --top 5", topic=DATA)
def compare_models(
    log: list[str] = _logs.LOGS,
    format: str | None = _logs.FORMAT,
    option: list[str] | None = _logs.OPTION,
    model: list[str] | None = typer.Option(
        None, "--model", "-m", autocompletion=model_names, help="A click model; repeatable; default: all."
    ),
    top: int = _logs.TOP,
    positions: int | None = _logs.POSITIONS,
    holdout: float = typer.Option(0.25, help="Share of the sessions that is held out."),
    holdout_lists: int = typer.Option(200_000, help="Hold out at most this many lists."),
    seed: int = typer.Option(0, help="Seed that decides which sessions are held out."),
    strict: bool = _logs.STRICT,
    max_bad: float = _logs.MAX_BAD,
    as_json: bool = typer.Option(False, "--json", help="Print the table as JSON and nothing else."),
) -> None:
    """Fit click models to a log and score them on held-out sessions: log-likelihood and perplexity per rank."""
    from rankone import clicks
    from rankone.cli._progress import progress_bar
    from rankone.cli._tables import show_table

    chosen = [str(name) for name in model] if model else None
    for name in chosen or []:
        clicks.as_model(name)  # a wrong name is refused before the log is read
    options: dict[str, Any] = _logs.format_options(option)
    with _logs.reading_bar() as reading:
        counts, lists = clicks.read_split(
            log, format, positions=positions, holdout=holdout, holdout_lists=holdout_lists, seed=seed, strict=strict,
            max_bad=max_bad, progress=reading, **options,
        )  # fmt: skip
    if top:
        counts = counts.top(top)
    with progress_bar("models") as fitting:
        table = clicks.compare_models(counts, lists, models=chosen, progress=fitting)
    if as_json:
        print(json.dumps({"log": counts.report.to_dict(), "models": table.to_dicts()}, indent=1))
        return
    _logs.show_account(counts.report)
    import polars as pl

    told = {"log_likelihood": "log-likelihood", "se": "± se", "behind_se": "± se of that"}
    shown = table.with_columns(chosen=pl.when("chosen").then(pl.lit("this one")).otherwise(pl.lit("")))
    shown = shown.drop("lists", "left_out").rename(told)
    lists_used, left_out = table["lists"][0], table["left_out"][0]
    title = (
        f"On {lists_used:,} held-out lists ({left_out:,} of other queries left out); perplexity overall and per rank"
    )
    show_table(shown, title, spare=tuple(name for name in reversed(shown.columns) if name.startswith("rank ")))
    print("Chosen: the smallest model that is not clearly behind the best (2 standard errors of their difference).")
