"""``rankone check-rank1``: does a click need both, each for itself? A test on counts or on a live experiment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankone.cli import _logs
from rankone.cli._commands import command
from rankone.cli._options import DEPTHS, SEED, TABLE, with_options
from rankone.cli._tables import print_json, show_table
from rankone.errors import InputError
from rankone.notebook import MORE

if TYPE_CHECKING:
    from rankone.clicks import Counts
    from rankone.clicks.counts.factor_counts import FactorCounts
    from rankone.clicks.rank1_test.report import Rank1Report


@command("check-rank1", example="log.tsv.gz --top 5 --chart deviations.png")
@with_options(TABLE | _logs.READING | DEPTHS)
def check_rank1(
    source: list[str] = typer.Argument(
        ...,
        help="A table of factors with counts, such as headline, image, shown, clicked, or a row per impression; "
        "a click log (files or globs), or: DATABASE EXPERIMENT.",
    ),
    top: int = _logs.TOP,
    min_impressions: int = typer.Option(
        20, help="Leave out items that a query showed less often than this; 0 keeps all."
    ),
    simulations: int | None = typer.Option(None, help="Tables to simulate; default 999."),
    level: float = typer.Option(0.05, help="Significance level of the test, for all queries together."),
    seed: int = SEED,
    chart: Path | None = typer.Option(None, help="Heat map of the deviations (.png .svg .pdf .html)."),
    **options: Any,
) -> None:
    """Test whether factors interact: does a headline need a particular image?"""
    from rankone.cli._progress import progress_bar
    from rankone.live.storage import is_database

    brief, details, as_json = (options.pop(name) for name in DEPTHS)
    wanted: dict[str, Any] = {"simulations": simulations, "level": level, "seed": seed}
    wanted["dispersion"] = options.pop("dispersion")
    taken: list[str] = []
    if is_database(source[0]):
        from rankone.analysis.interactions import check_experiment
        from rankone.live import Database

        if len(source) != 2:
            raise InputError("a database and the name of an experiment", " ".join(source), "see `rankone experiments`")
        with Database(source[0], read_only=True) as database, progress_bar("simulations") as progress:
            checked = check_experiment(database, source[1], progress=progress, **wanted)
    else:
        from rankone.analysis.interactions import check_counts
        from rankone.clicks.counts.factor_counts import FactorCounts
        from rankone.clicks.rank1_test.check import check_rank1

        tables = _tables(source, top, min_impressions, options)
        with progress_bar("simulations") as progress:
            if isinstance(tables, FactorCounts):
                checked, taken = check_counts(tables, progress=progress, **wanted), tables.taken
            else:
                checked = check_rank1(tables, progress=progress, **wanted)
    if chart is not None:
        checked.chart().save(chart)
    if as_json:
        print_json({**checked.to_dict(), "notes": taken})
        return
    print("\n".join([checked.brief, *([] if brief else checked._notes())]))
    if not brief:
        _show(checked)
        print("\n".join([*taken, checked.details if details else MORE]))
    if chart is not None:
        print(f"Written: {chart}")


def _tables(source: list[str], top: int, min_impressions: int, options: dict[str, Any]) -> Counts | FactorCounts:
    """Read a table of factors or a click log, whichever it is."""
    from rankone.clicks.counts.factor_counts import as_factor_counts, holds_factors
    from rankone.clicks.counts.table_files import naming_lines, read_table

    columns = {name: options.pop(name) for name in ("factor", "shown", "clicked", "slice", "all_rows")}
    named, log_named = any(columns.values()), bool(options["format"] or options["option"])
    if len(source) == 1 and (named or (not log_named and holds_factors(source[0]))):
        with naming_lines(source[0]):
            return as_factor_counts(read_table(source[0]), factors=columns.pop("factor") or (), **columns)
    return _logs.read_counts(source, top, options).shown_at_least(min_impressions)


def _show(checked: Rank1Report) -> None:
    """Print the tables."""
    import polars as pl

    from rankone.wording.numbers import percent

    first = checked.checks[0]
    if len(checked.checks) > 1:
        names = ("factors", "levels", "of the other") if checked.of_factors else ("query", "items", "positions")
        columns = dict(zip(("name", "n_rows", "n_cols"), names, strict=True)) | {"outcomes": "impressions"}
        columns |= {"clicks": "clicks", "statistic": "statistic", "p_value": "p", "p_holm": "p, Holm"}
        if not checked.of_factors:  # of which nobody works it out
            columns["visible"] = "visible deviation"
        table = checked.summary()
        if checked.of_factors:  # what has one level only fits any product
            table = table.drop_nulls("p_value")
            first = min(checked.checks, key=lambda check: 2.0 if check.p_value is None else check.p_value)
        show_table(table, None, columns)
        first = checked.doubts[0] if checked.doubts else first
    if first.p_value is not None:
        cells, sides = first.cells.head(5), first.sides
        if len({*sides, *cells.columns[2:]}) == len(cells.columns):  # names that can stand above columns
            cells = cells.rename(dict(zip(("row", "col"), sides, strict=True)))
        rates = pl.col("rate", "rank_one_rate").map_elements(percent, pl.String)
        shown = {"rate": "clicked", "rank_one_rate": "without interaction", "deviation": "standard errors off"}
        show_table(
            cells.with_columns(rates, pl.col("deviation").round(2)).rename(shown),
            "Pairs farthest from what no interaction would give",
        )
