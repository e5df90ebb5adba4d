"""Taking in what was shown and clicked at the edge: from rows, frames, files and SQL, in portions, each one commit."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import polars as pl

from rankone.errors import InputError
from rankone.live.commit.publishing import lottery_of
from rankone.live.commit.transactions import Transactions
from rankone.live.evidence.published import Version
from rankone.live.fold.fold import Fold
from rankone.live.fold.fold_cache import CachedFold
from rankone.live.journal.events import Draft, Kind
from rankone.live.operate import visits
from rankone.live.report.make_report import winning_note
from rankone.live.storage.edge_tables import clicks_of, exposures_of, keep
from rankone.specs import amount

PORTION = 100_000  # rows of one commit
_AHEAD = 60_000_000  # microseconds
_KINDS = (".parquet", ".csv", ".tsv", ".jsonl", ".ndjson")
_OWN = ("visitor", "version", "time")  # columns of every exposure
_SECONDS = 1e11  # larger numbers are no seconds since 1970


@dataclasses.dataclass(frozen=True)
class TakenIn:
    """What became of rows that were told: how many were new, and how many are not learned."""

    exposures: int  # rows told
    outcomes: int
    shown: int  # visitors counted more than before, each once a version
    clicked: int
    unfit: dict[str, int]  # more than before, by why; the report says what each means
    unreadable: int  # rows without a visitor, a version, levels or a time, or of a time to come, or no number as value

    @property
    def headline(self) -> str:
        """What became of it in a sentence."""
        told = f"{amount(self.exposures, 'exposure')} and {amount(self.outcomes, 'outcome')} told"
        left = {**self.unfit, "unreadable": self.unreadable}
        why = ", ".join(f"{count:,} {why.replace('_', ' ')}" for why, count in left.items() if count > 0)
        return f"{told}: {self.shown:,} more shown, {self.clicked:,} more clicked, ignored: {why or 'none'}."

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"headline": self.headline, **dataclasses.asdict(self)}


class Intake:
    """Takes rows in for one experiment."""

    def __init__(self, transactions: Transactions, of: CachedFold, by: str | None) -> None:
        self._transactions, self._of, self._by = transactions, of, by
        transactions.look(of, lottery_of)
        self._sums: Counter[str] = Counter()
        self._unfit: Counter[str] = Counter()

    def take(self, table: pl.DataFrame) -> None:
        """Take in a portion of exposures or outcomes, told apart by whether there is a column `version`."""
        factors, versions = self._transactions.look(self._of, _known)
        missing = [name for name in ("visitor", "time") if name not in table.columns]
        if missing:
            do = "exposures need visitor, version, time and the factors; outcomes visitor, time, goal and value"
            raise InputError(f"a column '{missing[0]}'", ", ".join(table.columns) or "none", do)
        shown = "version" in table.columns
        self._sums["exposures" if shown else "outcomes"] += len(table)
        with _in_words():
            table = _exposures(table, list(factors)) if shown else _outcomes(table)
        sound = table.drop_nulls().filter(pl.col("at") <= self._of.time.now() + _AHEAD)
        self._sums["unreadable"] += len(table) - len(sound)
        if not shown:
            sound = sound.filter(pl.col("value") != 0.0)
        names = sound["visitor"].to_list()
        numbers = visits.visitor_numbers(names, versions[0].salt if versions else "")
        rows = sound.with_columns(visitor=pl.Series(numbers, dtype=pl.Int64))
        if shown:
            told = [(sound["levels"].struct.field(factor), known) for factor, known in factors.items()]
            levels = [column.replace_strict(known, default=-1, return_dtype=pl.Int64) for column, known in told]
            cells = visits.cells_of(versions, sound, names, np.stack([each.to_numpy() for each in levels], axis=1))
            rows = rows.with_columns(cell=pl.Series(cells, dtype=pl.Int64))
        self._store(rows.select(list(visits.EXPOSURES if shown else visits.CLICKS)), shown)

    def _store(self, told: pl.DataFrame, shown: bool) -> None:
        """Count rows in one commit; then stop the experiment if it has a winner and should stop."""
        visitors = told["visitor"].unique().sort().to_list()

        def plan(fold: Fold, draft: Draft) -> dict[str, Any]:
            assert fold.published is not None
            storage, number = self._transactions.storage, self._of.number
            spans = visits.spans_of(fold.published.versions, lottery_of(fold).seconds)
            window = fold.settings.outcomes.window_micros
            exposures = pl.DataFrame(exposures_of(storage, number, visitors), visits.EXPOSURES, orient="row")
            clicks = pl.DataFrame(clicks_of(storage, number, visitors), visits.CLICKS, orient="row")
            before = visits.totals(exposures, clicks, spans, window)
            after = visits.merged(exposures, told) if shown else exposures
            clicked = clicks if shown else pl.concat([clicks, told]).unique()
            changed = visits.difference(before, visits.totals(after, clicked, spans, window))
            new = after.join(exposures, on=list(visits.EXPOSURES), how="anti").sort("visitor", "version")
            new_clicks = clicked.join(clicks, on=list(visits.CLICKS), how="anti").sort("visitor", "at")
            keep(storage, number, new.select(list(visits.EXPOSURES)).rows(), new_clicks.rows())
            if changed:
                draft.mark(Kind.SUMS, json.dumps(changed, separators=(",", ":")))
            return changed

        changed = self._transactions.change(self._of, plan, self._by)
        for _, _, more, clicks_more in changed.get("sums", ()):
            self._sums["shown"] += sum(more)
            self._sums["clicked"] += sum(clicks_more)
        self._unfit.update(changed.get("unfit", {}))
        self._transactions.change(self._of, _stop_if_won)

    def result(self) -> TakenIn:
        """Return what became of all that was told."""
        counts = {field.name: self._sums[field.name] for field in dataclasses.fields(TakenIn) if field.name != "unfit"}
        return TakenIn(**counts, unfit={why: count for why, count in self._unfit.items() if count})


def _known(fold: Fold) -> tuple[dict[str, dict[str, int]], list[Version]]:
    """Return the numbers of the levels of each factor, and the versions."""
    names = {
        factor: {name: number for number, name in enumerate(levels.names)} for factor, levels in fold.factors.items()
    }
    assert fold.published is not None
    return names, list(fold.published.versions)


def _stop_if_won(fold: Fold, draft: Draft) -> None:
    if fold.settings.stopping.auto and fold.stopped is None and (note := winning_note(fold)) is not None:
        draft.mark(Kind.STOP, note)


def _micros(times: pl.Series) -> pl.Series:
    """Return times as microseconds since 1970: of seconds, of moments, or of either as text; null where it is none."""
    if times.dtype == pl.String:
        moments = _micros(times.str.replace(" ", "T").str.to_datetime(time_zone="UTC", strict=False))
        return moments.zip_with(moments.is_not_null(), _micros(times.cast(pl.Float64, strict=False)))
    if times.dtype.is_temporal():
        return times.dt.cast_time_unit("us").dt.epoch("us")
    seconds = times.cast(pl.Float64, strict=False)
    usable = seconds.is_finite() & (seconds.abs() < _SECONDS)
    return (pl.select(pl.when(usable).then(seconds).otherwise(None)).to_series() * 1e6).round(0).cast(pl.Int64)


@contextlib.contextmanager
def _in_words() -> Iterator[None]:
    """Say in words that columns are not of the kinds they should be."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        got = str(error).partition("\n")[0]
        raise InputError("rows whose columns each have one kind of value", got, "check the columns") from None


def _outcomes(table: pl.DataFrame) -> pl.DataFrame:
    """Return who came when with what value, of the goal `click`: 1 where none is told, null where it is no number."""
    if "goal" in table.columns:
        table = table.filter(pl.col("goal").cast(pl.String).fill_null("click") == "click")
    value = pl.lit(1.0)
    if "value" in table.columns:
        told, kind = pl.col("value"), table.schema["value"]
        if not (kind.is_numeric() or kind == pl.Boolean):  # of a CSV, all is text
            told = told.cast(pl.String).str.strip_chars().str.to_lowercase()
            told = told.replace({"": None, "true": "1", "false": "0"})
        number = told.cast(pl.Float64, strict=False)
        value = pl.when(told.is_null()).then(1.0).when(number.is_finite()).then(number)
    return table.select(pl.col("visitor").cast(pl.String), _micros(table["time"]).alias("at"), value.alias("value"))


def _exposures(table: pl.DataFrame, factors: Sequence[str]) -> pl.DataFrame:
    visitor, version = pl.col("visitor").cast(pl.String), pl.col("version").cast(pl.Int64, strict=False)
    return table.select(visitor, version, _micros(table["time"]).alias("at"), _levels(table, factors).alias("levels"))


def _levels(table: pl.DataFrame, factors: Sequence[str]) -> pl.Series:
    """Return the level of each factor, in a structure; null where they cannot be read.

    There is a column for each factor, or a column `levels` holds them, also as JSON.
    """
    readable = pl.lit(True)
    if "levels" in table.columns:
        column = table["levels"]
        if isinstance(column.dtype, pl.Struct):
            table, readable = column.struct.unnest(), pl.lit(column.is_not_null())
        elif column.dtype in (pl.String, pl.Null):
            told = column.cast(pl.String).str
            readable = pl.lit(told.json_path_match("$").str.starts_with("{"))
            paths = {factor: f"$[{json.dumps(factor, ensure_ascii=False)}]" for factor in factors}
            table = pl.DataFrame({factor: told.json_path_match(path) for factor, path in paths.items()})
        else:
            expected = "a column 'levels' of objects, or of JSON"
            raise InputError(expected, str(column.dtype), "name the level of each factor")
    elif taken := [factor for factor in factors if factor in _OWN]:
        got = f"a factor '{taken[0]}', as a column of its own is called"
        raise InputError("a column 'levels' with all of them", got, "tell levels as {FACTOR: LEVEL}, or as JSON")
    if factors[0] not in table.columns:
        do = "exposures have a column for each factor, or one called levels"
        raise InputError(f"a column '{factors[0]}'", ", ".join(table.columns), do)
    # Others may be newer than the file: until then all had their first level.
    each = [pl.col(factor) if factor in table.columns else pl.lit(None).alias(factor) for factor in factors]
    texts = pl.struct(level.cast(pl.String) for level in each)
    return table.select(pl.when(readable).then(texts).alias("levels")).to_series()


def portions(source: Any, query: str | None = None, since: float | None = None) -> Iterator[pl.DataFrame]:
    """Yield a file, a frame, rows, or what SQL returns, in portions that fit in memory.

    Args:
        source: a Parquet, CSV or JSON lines file; a frame; a list of dictionaries; with `query`, a database.
        query: SQL that returns the rows.
        since: leave out rows before this time (seconds since 1970).
    """
    for table in _read(source, query):
        if since is not None and "time" in table.columns:
            with _in_words():
                table = table.filter(_micros(table["time"]) >= round(since * 1e6))
        for first in range(0, len(table), PORTION):
            yield table[first : first + PORTION]


def _read(source: Any, query: str | None) -> Iterable[pl.DataFrame]:
    if query is not None:
        return _rows_of_query(str(source), query)
    if isinstance(source, str | os.PathLike):
        return _rows_of_file(Path(source))
    if isinstance(source, list | tuple):
        kinds = ([row for row in source if ("version" in row) is shown] for shown in (True, False))
        with _in_words():
            return [pl.from_dicts(rows, infer_schema_length=None) for rows in kinds if rows]
    return [source if isinstance(source, pl.DataFrame) else pl.DataFrame(source)]


def _rows_of_file(path: Path) -> Iterable[pl.DataFrame]:
    if not path.is_file():
        raise InputError("No such file:", str(path), "check the path")
    if path.suffix not in _KINDS:
        raise InputError(f"a file that ends in {', '.join(_KINDS)}", path.name, "save it as one of these")
    separator = "\t" if path.suffix == ".tsv" else ","
    scan = functools.partial(pl.scan_csv, infer_schema=False, separator=separator)
    scan = {".parquet": pl.scan_parquet, ".jsonl": pl.scan_ndjson, ".ndjson": pl.scan_ndjson}.get(path.suffix, scan)  # type: ignore[assignment]
    try:
        yield from scan(path).collect_batches(chunk_size=PORTION, maintain_order=True)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"Cannot read {path.name}:", str(error).partition("\n")[0], "check the file") from None


def _rows_of_query(database: str, query: str) -> Iterator[pl.DataFrame]:
    if "://" in database:
        import psycopg

        connection: Any = psycopg.connect(database)
    else:
        if not Path(database).is_file():
            raise InputError("No such file:", database, "name a SQLite file, or a postgresql:// address")
        connection = sqlite3.connect(f"file:{quote(database)}?mode=ro", uri=True)
    with contextlib.closing(connection):
        try:
            yield from pl.read_database(query, connection, iter_batches=True, batch_size=PORTION)
        except Exception as error:  # whatever the driver of the database raises
            raise InputError("a query that the database answers", str(error), "check the SQL") from None
