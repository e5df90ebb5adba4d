"""``rankone analyse``: counts in, answer out."""

import contextlib
from pathlib import Path
from typing import Any

import typer

from rankone.cli._commands import command
from rankone.cli._experiments import ARCHIVE, REST
from rankone.cli._options import CONFIDENCE, CONNECT, DEPTHS, SEED, SQL, TABLE, with_options
from rankone.cli._tables import show_answer
from rankone.errors import InputError


@command("analyse", example="ab.csv --out answer.html", also="analyze")
@with_options(TABLE | DEPTHS)
def analyse(
    source: list[str] = typer.Argument(
        None,
        help="A table (.csv .tsv .xlsx .parquet .jsonl, or - for standard input) with a column for each factor and "
        "counts of shown and clicked, or a row per impression; or: DATABASE EXPERIMENT.",
    ),
    sql: str | None = SQL,
    connect: str | None = CONNECT,
    revenue: str | None = typer.Option(
        None, help="Column of amounts: say which level brings most per visitor instead."
    ),
    cap: float | None = typer.Option(None, help="With --revenue: the most that a visitor counts for."),
    uneven: bool = typer.Option(False, "--uneven", help="The split was not meant to be equal: do not test for that."),
    control: str | None = typer.Option(None, help="Combination to compare with: headline=A,image=1."),
    confidence: float = CONFIDENCE,
    simulations: int = typer.Option(999, help="Tables to simulate for the test of interaction, at most."),
    seed: int = SEED,
    archive: Path | None = ARCHIVE,
    rest: bool = REST,
    out: Path | None = typer.Option(None, help="Report to write, one HTML file that opens without a network."),
    chart: Path | None = typer.Option(None, help="Picture of the levels (.png .svg .pdf .html)."),
    heatmap: Path | None = typer.Option(None, help="Picture of where factors interact."),
    **table: Any,
) -> None:
    """Say which combination is clicked most, how sure that is, and what to do next."""
    import rankone
    from rankone.charts.chart import drawable
    from rankone.cli._progress import progress_bar
    from rankone.clicks.counts.sql_tables import query_table

    source = source or []
    if (sql is None) != (connect is None) or bool(source) == (sql is not None) or len(source) > 2:
        got = " ".join(filter(None, [*source, sql and "--sql", connect and "--connect"]))
        do = "name a file; a database and an experiment; or --sql and --connect"
        raise InputError("one table", got, do)
    for picture in (chart, heatmap):
        if picture is not None:
            drawable(picture)
    if out is not None and out.suffix != ".html":
        raise InputError("a file that ends in .html for --out", str(out), f"try {out.with_suffix('.html')}")
    depths = {name: table.pop(name) for name in DEPTHS}
    if revenue is not None:
        not_used = {
            "--control": control,
            "--out": out,
            "--chart": chart,
            "--heatmap": heatmap,
            "--slice": table["slice"],
        }
        if given := [name for name, value in not_used.items() if value is not None]:
            raise InputError("--revenue alone", ", ".join(given), "leave these out")
        if len(source) != 1:
            got = "a query" if sql is not None else "an experiment"
            raise InputError("a file", got, "write one first, an experiment's with `rankone export`")
        told: dict[str, Any] = {"factors": table["factor"] or (), "shown": table["shown"], "cap": cap}
        show_answer(rankone.analyse_revenue(source[0], revenue, uneven=uneven, confidence=confidence, **told), **depths)
        return
    table |= {"factors": table.pop("factor") or (), "uneven": uneven, "control": control}
    table |= {"experiment": source[1] if len(source) == 2 else None, "archive": archive, "rest": rest}
    how: dict[str, Any] = {"confidence": confidence, "simulations": simulations, "seed": seed}
    rows: Any = contextlib.nullcontext(source[0]) if sql is None else query_table(str(connect), sql)
    with rows as data, progress_bar("simulations") as progress:
        answer = rankone.analyse(data, progress=progress, **table, **how)
    written = [answer.chart().save(chart)] if chart is not None else []
    written += [answer.heatmap().save(heatmap)] if heatmap is not None else []
    written += [answer.save(out)] if out is not None else []
    show_answer(answer, **depths)
    if written and not depths["as_json"]:
        print(f"Written: {', '.join(map(str, written))}")
