"""``rankone analyse``: counts in, answer out."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from rankone.cli._commands import DATA, command
from rankone.cli._experiments import ARCHIVE, REST
from rankone.cli._options import ALL_ROWS, CLICKED, DISPERSION, FACTOR, SHOWN, SLICE
from rankone.cli._wording import as_table_options, told_as
from rankone.errors import InputError


@command("analyse", example="ab.csv --out answer.html", topic=DATA)
def analyse(
    source: list[str] = typer.Argument(
        ...,
        help="A table (.csv .tsv .parquet .jsonl) with a column for each factor and counts of shown and clicked, or a "
        "row per impression; what `rankone export` wrote; or: DATABASE EXPERIMENT.",
    ),
    factor: list[str] | None = FACTOR,
    shown: str | None = SHOWN,
    clicked: str | None = CLICKED,
    slice: str | None = SLICE,
    all_rows: bool = ALL_ROWS,
    uneven: bool = typer.Option(
        False, "--uneven", help="The split was meant to be uneven: do not test whether it is even."
    ),
    control: str | None = typer.Option(None, help="Combination to compare with: headline=A,image=1."),
    dispersion: float | None = DISPERSION,
    confidence: float = typer.Option(0.95, help="Confidence of the intervals."),
    simulations: int = typer.Option(999, help="Tables to simulate for the rank-1 test, at most."),
    seed: int = typer.Option(0, help="Seed of those simulations."),
    archive: Path | None = ARCHIVE,
    rest: bool = REST,
    out: Path | None = typer.Option(None, help="Report to write, one HTML file that opens without a network."),
    chart: Path | None = typer.Option(None, help="Picture of the levels (.png .svg .pdf .html)."),
    heatmap: Path | None = typer.Option(None, help="Picture of how far pairs are from a product."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """Say which combination is clicked most, how sure that is, and what to do next."""
    import rankone
    from rankone.charts.chart import drawable
    from rankone.cli._progress import progress_bar

    if len(source) > 2:
        raise InputError("one file, or a database and an experiment", " ".join(source), "name one of them")
    for picture in (chart, heatmap):
        if picture is not None:
            drawable(picture)
    if out is not None and out.suffix != ".html":
        raise InputError("a file that ends in .html for --out", str(out), f"try {out.with_suffix('.html')}")
    with told_as(as_table_options), progress_bar("simulations") as progress:
        found = rankone.analyse(
            source[0], experiment=source[1] if len(source) == 2 else None, factors=factor or (), shown=shown,
            clicked=clicked, slice=slice, all_rows=all_rows, uneven=uneven, control=control, dispersion=dispersion,
            confidence=confidence, simulations=simulations, seed=seed, progress=progress, archive=archive, rest=rest,
        )  # fmt: skip
    written = [found.chart().save(chart)] if chart is not None else []
    written += [found.heatmap().save(heatmap)] if heatmap is not None else []
    written += [found.save(out)] if out is not None else []
    if as_json:
        print(json.dumps(found.to_dict(), indent=1))
        return
    print(found)
    if written:
        print(f"Written: {', '.join(map(str, written))}")
