"""``rankone export``: all decisions of an experiment as a file."""

import io
import sys
from pathlib import Path

import typer

from rankone.cli._commands import command
from rankone.cli._experiments import ARCHIVE, DB, NAME, REST


@command("export", example="rankone.db homepage --out decisions.csv")
def export(
    db: str = DB,
    name: str = NAME,
    out: Path | None = typer.Option(
        None, "--out", help="File to write: .parquet, .csv or .jsonl; default: CSV on standard output."
    ),
    to: str | None = typer.Option(
        None,
        "--to",
        help="Where to write NAME_decisions and NAME_verdict: duckdb:///file, postgresql://... or a folder.",
    ),
    table: str | None = typer.Option(None, help="With --to: what stands for NAME. Default: the experiment's name."),
    archive: Path | None = ARCHIVE,
    rest: bool = REST,
) -> None:
    """Write one row per decision, of a ranking per position: levels, time, outcome and whether it counted."""
    from rankone.live import Database, Experiment
    from rankone.live.operate.export import decisions_table, write_csv, write_decisions
    from rankone.live.operate.warehouse import write_tables
    from rankone.specs import amount

    with Database(db, read_only=True) as database:
        if to is not None:
            report = Experiment(name, db=database).report()
            for title, rows in write_tables(database, report, to, table, archive=archive, rest=rest).items():
                print(f"{title}: {amount(rows, 'row')} written.", file=sys.stderr)
            return
        if out is None:
            text = io.BytesIO()  # written by Python, which knows a reader that has had enough, as `head` does
            write_csv(decisions_table(database, name, archive=archive, rest=rest), text)
            sys.stdout.buffer.write(text.getbuffer())
            return
        written = write_decisions(database, name, out, archive=archive, rest=rest)
    print(f"{amount(written, 'decision')} of '{name}' written to {out}.", file=sys.stderr)
