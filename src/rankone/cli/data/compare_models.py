"""``rankone compare-models``: which click model predicts held-out clicks best."""

from typing import Any

import typer

from rankone.cli import _logs
from rankone.cli._commands import command
from rankone.cli._options import JSON, model_option, with_options
from rankone.cli._tables import print_json, show_table


@command("compare-models", example="log.tsv.gz --top 5")
@with_options(_logs.READING)
def compare_models(
    log: list[str] = _logs.LOGS,
    model: list[str] | None = model_option(None, "A click model; repeatable; default: all."),
    top: int = _logs.TOP,
    holdout: float = typer.Option(0.25, help="Share of the sessions that is held out."),
    holdout_lists: int = typer.Option(200_000, help="Hold out at most this many lists."),
    seed: int = typer.Option(0, help="Seed that decides which sessions are held out."),
    as_json: bool = JSON,
    **reading: Any,
) -> None:
    """Find the click model that predicts a log best: fit several, and score them on held-out sessions."""
    from rankone import clicks
    from rankone.cli._progress import progress_bar

    chosen = [str(name) for name in model] if model else None
    for name in chosen or []:
        clicks.as_model(name)  # a wrong name is refused before the log is read
    wanted = _logs.for_reader(**reading, holdout=holdout, holdout_lists=holdout_lists, seed=seed)
    with _logs.reading_bar() as progress:
        counts, lists = clicks.read_split(log, progress=progress, **wanted)
    if top:
        counts = counts.top(top)
    with progress_bar("models") as fitting:
        table = clicks.compare_models(counts, lists, models=chosen, progress=fitting)
    if as_json:
        print_json({"log": counts.report.to_dict(), "models": table.to_dicts()})
        return
    best, chosen_one = table["model"][0], table.filter("chosen")["model"][0]
    close = f"; {chosen_one} is simpler and not clearly worse" if chosen_one != best else ""
    print(f"{best} predicts the held-out clicks best{close}.")
    _logs.show_account(counts.report)
    import polars as pl

    titles = {"log_likelihood": "log-likelihood", "se": "± se", "behind_se": "± se of that"}
    shown = table.with_columns(chosen=pl.when("chosen").then(pl.lit("this one")).otherwise(pl.lit("")))
    shown = shown.drop("lists", "left_out").rename(titles)
    lists_used, left_out = table["lists"][0], table["left_out"][0]
    title = (
        f"On {lists_used:,} held-out lists ({left_out:,} of other queries left out); perplexity overall and per rank"
    )
    show_table(shown, title, spare=tuple(name for name in reversed(shown.columns) if name.startswith("rank ")))
    print("Chosen: the smallest model within 2 standard errors of the best.")
