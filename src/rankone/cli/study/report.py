"""``rankone report``: one HTML file about a directory of results, to hand to a colleague."""

from pathlib import Path

import typer

from rankone.cli._commands import command


@command("report", example="out/study")
def report(
    directory: Path = typer.Argument(..., help="What simulate, arena or reproduce wrote with --out."),
    out: Path | None = typer.Option(None, help="The file to write; default: report.html in the directory."),
) -> None:
    """Write one HTML report about a directory of results: charts, tables, settings and how to reproduce it."""
    import rankone

    path = rankone.report(directory, out)
    print(f"Written: {path} ({path.stat().st_size / 1e6:.1f} MB, opens without a network)")
