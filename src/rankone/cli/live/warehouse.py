"""``rankone export``, ``rankone import-outcomes``: decisions out, and late conversions in, joined by visitor."""

import io
import sys
from pathlib import Path

import typer

from rankone.cli._commands import command
from rankone.cli._experiments import ARCHIVE, DB, NAME, REST, experiment_of
from rankone.cli._options import CONNECT, SQL
from rankone.errors import InputError


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


@command("import-outcomes", example="rankone.db shop orders.csv --goal revenue --visitor email --key order --value net")
def import_outcomes(
    db: str = DB,
    name: str = NAME,
    file: str | None = typer.Argument(None, help="Table (.csv .tsv .xlsx .parquet .jsonl), unless there is --sql."),
    goal: str = typer.Option(..., help="Goal that the rows are outcomes of, or click."),
    visitor: str = typer.Option(..., help="Column of the visitors, as decisions were asked for them."),
    key: str = typer.Option(..., help="Column that names each row, such as the order's number: it counts once."),
    value: str | None = typer.Option(None, help="Column of amounts or counts. Default: each row is one."),
    token: str | None = typer.Option(None, help="Id of the token that asked a service for the decisions."),
    sql: str | None = SQL,
    connect: str | None = CONNECT,
) -> None:
    """Tell outcomes that come later from elsewhere; a repeated import changes nothing."""
    from rankone.clicks.counts.frames import known_frame, to_polars
    from rankone.clicks.counts.sql_tables import query_table
    from rankone.clicks.counts.table_files import read_table
    from rankone.live.operate.warehouse import import_outcomes as carry_out
    from rankone.specs import amount

    if (sql is None) != (connect is None) or (file is None) == (sql is None):
        raise InputError("a file, or --sql and --connect", "both" if file else "neither", "name one of them")
    if sql is None:
        table = read_table(str(file))
    else:
        with query_table(str(connect), sql) as rows:
            table = to_polars(known_frame(rows))
    with experiment_of(db, name) as experiment:
        statuses, wrong = carry_out(experiment.do, table, goal, visitor=visitor, key=key, value=value, token=token)
    counts = ", ".join(f"{count:,} {status}" for status, count in statuses.items())
    print(f"{amount(table.height, 'row')}: {counts}.")
    for line in wrong[:10]:
        print(line, file=sys.stderr)
    if wrong:
        raise InputError("rows that can be counted", f"{len(wrong):,} that cannot", "correct them and import again")
