"""``rankone check-rank1``: does a click need both, each for itself? A test on counts or on a live experiment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankone.cli import _logs
from rankone.cli._commands import DATA, command
from rankone.cli._options import ALL_ROWS, CLICKED, DISPERSION, FACTOR, SHOWN, SLICE
from rankone.cli._wording import as_table_options, told_as
from rankone.errors import InputError

if TYPE_CHECKING:
    from rankone.clicks.rank1_test.report import Rank1Report


@command("check-rank1", example="log.tsv.gz --top 5 --chart deviations.png", topic=DATA)
def check_rank1(
    source: list[str] = typer.Argument(
        ...,
        help="A table of factors with counts, such as headline, image, shown, clicked, or a row per impression; "
        "a click log (files or globs), or: DATABASE EXPERIMENT.",
    ),
    factor: list[str] | None = FACTOR,
    shown: str | None = SHOWN,
    clicked: str | None = CLICKED,
    slice: str | None = SLICE,
    all_rows: bool = ALL_ROWS,
    dispersion: float | None = DISPERSION,
    format: str | None = _logs.FORMAT,
    option: list[str] | None = _logs.OPTION,
    top: int = _logs.TOP,
    positions: int | None = _logs.POSITIONS,
    min_impressions: int = typer.Option(
        20, help="Leave out items that a query showed less often than this; 0 keeps all."
    ),
    simulations: int | None = typer.Option(None, help="Tables to simulate; default 999, for an experiment 199."),
    level: float = typer.Option(0.05, help="Significance level of the test, for all queries together."),
    seed: int = typer.Option(0, help="Seed of the random numbers."),
    chart: Path | None = typer.Option(None, help="Heat map of the deviations (.png .svg .pdf .html)."),
    strict: bool = _logs.STRICT,
    max_bad: float = _logs.MAX_BAD,
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """Test the rank-1 assumption: is every pair's click rate a number of its row times a number of its column?"""
    from rankone.cli._progress import progress_bar
    from rankone.live.storage.is_database import is_database

    taken: list[str] = []
    if is_database(source[0]):
        from rankone.analysis.interactions import check_experiment
        from rankone.live import Database

        if len(source) != 2:
            raise InputError("a database and the name of an experiment", " ".join(source), "see `rankone experiments`")
        with Database(source[0], read_only=True) as database, progress_bar("simulations") as progress:
            found = check_experiment(
                database, source[1], simulations=simulations, level=level, seed=seed, dispersion=dispersion,
                progress=progress,
            )  # fmt: skip
    else:
        from rankone import clicks
        from rankone.analysis.interactions import check_counts
        from rankone.clicks.counts.factor_counts import FactorCounts, as_factor_counts, holds_factors
        from rankone.clicks.counts.pair_counts import holds_pair_counts
        from rankone.clicks.counts.table_files import header_of, read_table
        from rankone.clicks.rank1_test.check import check_rank1

        tables: clicks.Counts | list[FactorCounts] | FactorCounts
        named, log_named = bool(factor or shown or clicked or slice or all_rows), bool(format or option)
        factors = len(source) == 1 and (named or (not log_named and holds_factors(source[0])))
        queries = len(source) == 1 and "query" in map(str.casefold, header_of(source[0]))
        if len(source) == 1 and not named and holds_pair_counts(source[0]) and (queries or not factors):
            tables = clicks.read_pair_counts(source[0])
        elif factors:
            with told_as(as_table_options):
                named_so: dict[str, Any] = {"shown": shown, "clicked": clicked, "slice": slice, "all_rows": all_rows}
                tables = as_factor_counts(read_table(source[0]), factors=factor or (), **named_so)
                taken = tables.taken
        else:
            rules: dict[str, Any] = {"positions": positions, "strict": strict, "max_bad": max_bad}
            tables = _logs.read_counts(source, format, option, top, **rules).shown_at_least(min_impressions)
        with progress_bar("simulations") as progress:
            wishes: dict[str, Any] = {"simulations": simulations, "level": level, "seed": seed}
            wishes |= {"dispersion": dispersion, "progress": progress}
            if isinstance(tables, FactorCounts):
                found = check_counts(tables, **wishes)
            else:
                found = check_rank1(tables, **wishes)
    if chart is not None:
        found.chart().save(chart)
    if as_json:
        print(json.dumps({**found.to_dict(), "notes": taken}, indent=1))
    else:
        _show(found, chart)
        print("\n".join(taken), end="\n" if taken else "")


def _show(found: Rank1Report, chart: Path | None) -> None:
    """Print the sentence, then what it rests on."""
    from rankone.cli._tables import show_table

    print(found.sentence)
    if found.misfit_sentence is not None:
        print(found.misfit_sentence)
    first = found.checks[0]
    if len(found.checks) > 1:
        names = ("factors", "levels", "of the other") if found.of_factors else ("query", "items", "positions")
        columns = {
            **dict(zip(("name", "n_rows", "n_cols"), names, strict=True)),
            "outcomes": "impressions", "clicks": "clicks", "statistic": "statistic", "p_value": "p",
            "p_holm": "p, Holm",
        }  # fmt: skip
        if not found.of_factors:  # of which nobody works it out
            columns["visible"] = "visible deviation"
        table = found.summary()
        if found.of_factors:  # what has one level only fits any product
            table = table.drop_nulls("p_value")
            first = min(found.checks, key=lambda check: 2.0 if check.p_value is None else check.p_value)
        show_table(table, None, columns)
        first = found.doubts[0] if found.doubts else first
    if first.p_value is not None:
        cells, sides = first.cells.head(5), first.name.split(" and ") if found.of_factors else []
        if len({*sides, *cells.columns}) == len(cells.columns) + 2:  # names that can stand above columns
            cells = cells.rename(dict(zip(("row", "col"), sides, strict=True)))
        show_table(cells, f"Pairs of '{first.name}' farthest from rank 1 (deviation in standard errors)")
        print(f"p-value by {first.simulations} simulations: {first.method}.")
        print(f"{first.dispersion.sentence}.")
    if chart is not None:
        print(f"Written: {chart}")
