"""``rankone analyse``: counts in, answer out."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from rankone.cli._commands import DATA, command
from rankone.cli._experiments import ARCHIVE, REST
from rankone.cli._wording import told_as_table_options
from rankone.errors import InputError


@command("analyse", example="ab.csv --out answer.html", topic=DATA)
def analyse(
    source: list[str] = typer.Argument(
        ...,
        help="A table (.csv .tsv .parquet .jsonl) with a column for each factor and counts of shown and clicked, or a "
        "row per impression; what `rankone export` wrote; or: DATABASE EXPERIMENT.",
    ),
    factor: list[str] | None = typer.Option(
        None, "--factor", help="Column of a factor, such as headline; repeatable. Default: recognised automatically."
    ),
    shown: str | None = typer.Option(None, help="Column of impressions. Default: shown, impressions, views, n, ..."),
    clicked: str | None = typer.Option(None, help="Column of clicks, or of outcomes 0 and 1."),
    slice: str | None = typer.Option(
        None, help="Column of days or weeks, to estimate the dispersion from. Default: day, date, week, ..."
    ),
    control: str | None = typer.Option(None, help="Combination to compare with: headline=A,image=1."),
    dispersion: float | None = typer.Option(
        None,
        help="How much more clicks scatter than binomially, such as 1.9. Default: from repeated rows, otherwise 1.",
    ),
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
    with told_as_table_options(), progress_bar("simulations") as progress:
        found = rankone.analyse(
            source[0], experiment=source[1] if len(source) == 2 else None, factors=factor or (), shown=shown,
            clicked=clicked, slice=slice, control=control, dispersion=dispersion, confidence=confidence,
            simulations=simulations, seed=seed, progress=progress, archive=archive, rest=rest,
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
