"""Tables of databases: a query becomes a frame that its database counts, and rows become a table."""

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import polars as pl

from rankone.errors import InputError, MissingExtra

_DUCKDB, _POSTGRES = "duckdb://", ("postgresql://", "postgres://")
_TYPES = {pl.Boolean: "BOOLEAN", pl.Int64: "BIGINT", pl.Float64: "DOUBLE PRECISION", pl.Datetime: "TIMESTAMPTZ"}


@contextlib.contextmanager
def query_table(address: str, sql: str) -> Iterator[Any]:
    """Give what a query finds, as a lazy frame: DuckDB's own, or one of Ibis for every other database.

    Args:
        address: ``duckdb:///folder/file.duckdb`` or ``postgresql://user@host/database``, or what Ibis knows.
        sql: a query, ``select ...``; or the name of a table.
    """
    query = sql if len(sql.split()) > 1 else f"select * from {sql}"  # noqa: S608 - it is the user's own query
    if address.startswith(_DUCKDB):
        duckdb = _module("duckdb")
        with _explained(duckdb.Error), duckdb.connect(_file(address), read_only=True) as connection:
            connection.execute("set enable_progress_bar = false")  # it is written where answers are
            yield connection.sql(query)
        return
    ibis = _module("ibis")
    with _explained(Exception):
        connection = ibis.connect(address)
    try:
        with _explained(Exception):
            frame = connection.sql(query)
        yield frame
    finally:
        connection.disconnect()


def write_rows(table: pl.DataFrame, address: str, name: str) -> None:
    """Write a table of a DuckDB file or a PostgreSQL database anew, all of it or nothing."""
    if not name.isidentifier():
        raise InputError("a table's name of letters, digits and _", f"'{name}'", "try decisions")
    if address.startswith(_DUCKDB):
        duckdb = _module("duckdb")
        with _explained(duckdb.Error), duckdb.connect(_file(address)) as connection:
            connection.register("rankone_rows", table.to_arrow())
            connection.execute(f'create or replace table "{name}" as select * from rankone_rows')  # noqa: S608
    elif address.startswith(_POSTGRES):
        psycopg = _module("psycopg")
        with _explained(psycopg.Error), psycopg.connect(address) as connection:
            _write_postgres(connection.cursor(), table, name)
    else:
        raise InputError(
            "a folder, duckdb:///file or postgresql://...", address.partition("://")[0], "name one of them"
        )


def _write_postgres(cursor: Any, table: pl.DataFrame, name: str) -> None:
    quoted = ['"' + column.replace('"', '""') + '"' for column in table.columns]
    kinds = [_TYPES.get(kind.base_type(), "TEXT") for kind in table.dtypes]
    columns = ", ".join(map(" ".join, zip(quoted, kinds, strict=True)))
    cursor.execute(f'DROP TABLE IF EXISTS "{name}"')
    cursor.execute(f'CREATE TABLE "{name}" ({columns})')
    with cursor.copy(f'COPY "{name}" ({", ".join(quoted)}) FROM STDIN') as rows:
        for row in table.iter_rows():
            rows.write_row(row)


def _file(address: str) -> str:
    return unquote(address.removeprefix(_DUCKDB).removeprefix("/"))


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtra("a table of a database", "warehouse") from None


@contextlib.contextmanager
def _explained(errors: Any) -> Iterator[None]:
    """Say what a database refused in a line, without its address, which may hold a password."""
    try:
        yield
    except InputError:
        raise
    except errors as error:
        said = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise InputError("The database refused:", said[:300], "check --connect and --sql") from None
