"""``rankone import-outcomes``: late conversions from a table, joined by visitor."""

import sys

import typer

from rankone.cli._commands import command
from rankone.cli._experiments import DB, NAME, experiment_of
from rankone.cli._options import CONNECT, SQL
from rankone.errors import InputError


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
