"""Any long table: delimited text with a header, or Parquet, with a mapping of columns.

A row is an impression, or, with a column of impressions, the counts of an item at a position (an aggregated log).
"""

import contextlib
from collections.abc import Iterable, Iterator

import narwhals as nw
import numpy as np
import polars as pl

from rankone.clicks.counts.counter import tails_of_rows
from rankone.clicks.counts.counts import CELL, MOST_POSITIONS, as_names
from rankone.clicks.counts.frames import ONLY_QUERY, add_lists, count_rows
from rankone.clicks.formats.base import Format
from rankone.clicks.logs.collector import Collector
from rankone.clicks.logs.delimited import batches, first_names, guessed_separator, header_fields
from rankone.clicks.logs.long_tables import (
    ABOUT,
    NO_COUNTS,
    NO_OUTCOME,
    NO_PLACE,
    NO_POSITION,
    find_columns,
    missing_texts,
    pooled,
)
from rankone.clicks.logs.read_report import ReadReport
from rankone.clicks.logs.source import LONGEST_LINE, PARQUET, Source
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from rankone.specs import amount

_PARQUET_ROWS = 500_000
_IMPRESSIONS = ("impressions", "shown")
_OUTCOMES = {"0": 0, "1": 1, "false": 0, "true": 1, "0.0": 0, "1.0": 1}


class Table(Format):
    """A long table. Names of columns are found in capitals or not.

    Args:
        query: column of the query. "query" if there is one, else all rows are one query.
        item: column of the item shown.
        position: column of the position: whole numbers from 1, or names (without a column of lists).
        clicked: column of the outcome, 0/1 or true/false; of an aggregated log that of the clicks ("clicks" too).
        impressions: column of the impressions of an aggregated log. "impressions" or "shown" if there is one.
        list: column that names a row's result list; the rows of a list should stand together (a table sorted otherwise
            is sorted, in memory). "list" if there is one.
        separator: of delimited text, one character or "tab"; guessed from the header if left out.
        encoding: of delimited text.
        missing: texts that stand for a missing query, item or list, as written: several with commas between them. By
            default ``-``, ``\\N``, ``NULL`` and ``NaN``; nothing at all is always missing.
    """

    name = "table"
    title = "long table (CSV, TSV or Parquet), one row per impression or with counts"
    example = b"query,item,position,clicked\nq,a,1,0\nq,b,2,1\nq,b,1,0\nq,a,2,1\n"

    def __init__(
        self,
        query: str | None = None,
        item: str = "item",
        position: str = "position",
        clicked: str = "clicked",
        list: str | None = None,
        impressions: str | None = None,
        separator: str | None = None,
        encoding: str = "utf-8",
        missing: str | Iterable[str] | None = None,
    ) -> None:
        self.query, self.item, self.position, self.clicked, self.list = query, item, position, clicked, list
        self.impressions = impressions
        self._names: bool | None = None  # whether positions are names; the first rows tell
        self.separator, self.encoding = _separator(separator), _encoding(encoding)
        self._missing = missing_texts(missing)
        self._lists = 0

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Parquet, or a first line of at least three names."""
        if head.startswith(PARQUET):
            return True
        names = first_names(head)
        return len(names) >= 3 and not any(map(str.isdigit, names))

    def fixed_query(self, source: Source, header: list[str], columns: dict[str, str], report: ReadReport) -> str:
        """Name the query of a table without a column of queries, which may be a column that nobody named: say so."""
        report.note(pooled(header, columns, ONLY_QUERY))
        return ONLY_QUERY

    def read(self, source: Source, collector: Collector) -> None:
        """Read one file."""
        rest: pl.DataFrame | None = None
        gathered: list[pl.DataFrame] | None = None  # all rows, where lists do not stand together: they are sorted
        self._seen = pl.Series(dtype=pl.UInt64)
        header = self._header(source)
        columns = self._columns(header)
        query = self.fixed_query(source, header, columns, collector.report) if header and "query" not in columns else ""
        for batch in self._batches(source, collector, columns):
            rows = self._usable(batch, columns, query, collector)
            if "impressions" in columns:
                self._take_counts(rows, collector)
                continue
            if "list" in columns:
                if gathered is None and rest is None and _scattered(rows):
                    gathered = []
                if gathered is not None:
                    gathered.append(rows)
                    continue
                rows = rows if rest is None else pl.concat([rest, rows])
                if rows.is_empty():
                    continue
                runs = _runs(rows)
                rows, rest = rows.filter(runs != runs[-1]), rows.filter(runs == runs[-1])  # the last list may go on
            self._take(rows, "list" in columns, collector)
        if gathered:
            self._take(pl.concat(gathered).sort("query", "list", maintain_order=True), True, collector)
        if rest is not None:
            self._take(rest, True, collector)

    def _header(self, source: Source) -> list[str]:
        head = source.head(LONGEST_LINE)
        if head.startswith(PARQUET):
            with _whole_parquet(source):
                return list(pl.read_parquet_schema(source.path))
        if not head:
            return []
        first = head.split(b"\n", 1)[0].rstrip(b"\r")
        return header_fields(first, self.separator or guessed_separator(first), self.encoding)

    def _columns(self, header: list[str]) -> dict[str, str]:
        """Return the columns that are needed, by what they hold; columns of query and list are optional."""
        if not header:
            return {}
        named = {what: getattr(self, what) for what in ("query", "item", "position", "clicked", "list")}
        lower = [name.strip().casefold() for name in header]
        impressions = self.impressions or next((name for name in _IMPRESSIONS if name in lower), None)
        if impressions is None:
            return find_columns(header, named)
        if self.clicked == "clicked" and "clicked" not in lower and "clicks" in lower:
            named["clicked"] = "clicks"
        if self.list is not None:
            raise InputError("no column of lists in an aggregated log", self.list, "leave out list, or impressions")
        return find_columns(header, {**named, "impressions": impressions, "list": None})

    def _batches(self, source: Source, collector: Collector, columns: dict[str, str]) -> Iterator[pl.DataFrame]:
        names = list(dict.fromkeys(columns.values()))
        if not source.head().startswith(PARQUET):
            yield from batches(source, collector, names, self.separator, self.encoding)
            return
        scan = pl.scan_parquet(source.path, row_index_name="line", row_index_offset=1)
        offset = 0
        while True:
            with _whole_parquet(source):
                batch = scan.select("line", *names).slice(offset, _PARQUET_ROWS).collect()
            if batch.is_empty():
                return
            offset += len(batch)
            collector.report.rows += len(batch)
            yield batch.with_columns(as_names(batch.schema, names))
            collector.judge()

    def _usable(self, batch: pl.DataFrame, columns: dict[str, str], query: str, collector: Collector) -> pl.DataFrame:
        """Turn texts into values; rows with values that cannot be used are set aside."""
        texts = batch.select(pl.col("line"), *(pl.col(column).alias(what) for what, column in columns.items()))
        if "query" not in columns:
            texts = texts.with_columns(pl.lit(query).alias("query"))
        text = pl.col("position").str.strip_chars()
        if self._names is None and len(texts):
            whole = texts.select(text.cast(pl.Int64, strict=False).is_not_null().mean()).item()
            self._names = "list" not in columns and whole < 0.5
        place = text if self._names else text.cast(pl.Int64, strict=False)
        inside = pl.col("place").is_between(1, MOST_POSITIONS).fill_null(False)
        named = [what for what in ("query", "item", "list") if what in texts.columns]
        wrong = {f"the {what} is missing": self._is_missing(what) for what in named}
        wrong |= {NO_PLACE: self._is_missing("position")} if self._names else {NO_POSITION: ~inside}
        wrong[NO_COUNTS if "impressions" in columns else NO_OUTCOME] = pl.col("outcome").is_null()
        rows = texts.with_columns(place.alias("place"), *self._outcomes(columns))
        rows = rows.with_columns(
            reason=pl.coalesce(*(pl.when(condition).then(pl.lit(reason)) for reason, condition in wrong.items()))
        )
        shown = [name for name in texts.columns if name != "line"]
        for bad in rows.filter(pl.col("reason").is_not_null()).iter_rows(named=True):
            line = "\t".join("" if bad[name] is None else str(bad[name]) for name in shown)
            collector.bad(bad["line"], bad["reason"], line.encode(), bad[ABOUT[bad["reason"]]])
        rows = rows.filter(pl.col("reason").is_null())
        if "impressions" in columns:
            collector.report.add("cells clamped", int(rows["clamped"].sum()))
            collector.report.add("cells without impressions", rows.select((pl.col("times") == 0).sum()).item())
        beyond = pl.lit(False) if self._names else pl.col("place") > (collector.rules.positions or MOST_POSITIONS)
        collector.report.add("rows beyond the last position", rows.select(beyond.sum()).item())
        collector.report.add("clicks", rows.select(pl.col("outcome").sum()).item())
        rows = rows.filter(~beyond)
        names = pl.col("list") if "list" in columns else pl.col("line").cast(pl.String).alias("list")
        return rows.select(
            names, "query", "item", pl.col("place").alias("position"), pl.col("outcome").alias("clicked"), "times"
        )

    def _outcomes(self, columns: dict[str, str]) -> list[pl.Expr]:
        """The outcome of each row (null if it cannot be used), and how many impressions it stands for."""
        outcome = pl.col("clicked").str.strip_chars()
        if "impressions" not in columns:
            known = outcome.str.to_lowercase().replace_strict(_OUTCOMES, default=None, return_dtype=pl.Int64)
            return [known.alias("outcome"), pl.lit(1).alias("times")]
        clicks, times = (text.cast(pl.Float64, strict=False) for text in (outcome, pl.col("impressions")))
        fine = (clicks >= 0) & (times >= 0) & (clicks == clicks.floor()) & (times == times.floor())
        return [
            pl.when(fine).then(pl.min_horizontal(clicks, times)).cast(pl.Int64).alias("outcome"),
            (fine & (clicks > times)).alias("clamped"),
            times.cast(pl.Int64, strict=False).alias("times"),
        ]

    def _take_counts(self, rows: pl.DataFrame, collector: Collector) -> None:
        """Take rows of counts, or hold some of their impressions out."""
        share, most = collector.rules.holdout, collector.rules.holdout_lists - collector.report["lists held out"]
        if share > 0.0 and most > 0:
            rng = generator(collector.rules.seed, "hold out", self._lists)
            rows, held_out = hold_out(rows, share, most, self._lists, rng)
            self._lists += len(held_out)
            collector.report.add("lists held out", len(held_out))
            collector.held_out.append(held_out)
        rows = rows.filter(pl.col("times") > 0)
        collector.rows_of_counts += len(rows)
        sums = {"impressions": pl.col("times").sum(), "clicks": pl.col("clicked").sum()}
        collector.table(rows.group_by(CELL).agg(**sums))

    def _is_missing(self, what: str) -> pl.Expr:
        return pl.col(what).fill_null("").is_in(self._missing)

    def _check_new(self, rows: pl.DataFrame) -> None:
        """Refuse a list that went on after others: its clicks above are no longer known."""
        lists = rows.select(pl.struct("list", "query").hash().unique()).to_series()
        again = int(lists.is_in(self._seen.implode()).sum()) if len(self._seen) else 0
        if again:
            got = f"{amount(again, 'list')} that went on after others"
            raise InputError("the rows of a list together", got, "sort the log by its lists")
        self._seen = pl.concat([self._seen, lists])

    def _take(self, rows: pl.DataFrame, with_lists: bool, collector: Collector) -> None:
        """Count rows whose lists are complete, or hold them out."""
        if rows.is_empty():
            return
        if with_lists:
            self._check_new(rows)
        runs = _runs(rows)
        rows = rows.with_columns(pl.Series("list", runs.to_numpy().astype(np.int64) + self._lists))
        self._lists += int(runs[-1]) + 1
        held_out = collector.holds_out(rows["list"].to_numpy())
        if held_out.any():
            collector.held_out.append(rows.filter(held_out))
            collector.report.add("lists held out", collector.held_out[-1]["list"].n_unique())
            rows = rows.filter(~held_out)
        if len(rows):
            cells = count_rows(nw.from_native(rows), with_lists=with_lists)
            if with_lists:
                add_lists(nw.from_native(rows), collector.report)
            collector.report.add("duplicate items", len(rows) - int(cells["impressions"].sum()))
            collector.table(cells)
            if with_lists and collector.rules.tails:
                collector.tails.add(tails_of_rows(rows))


def _separator(text: str | None) -> str | None:
    named = {"tab": "\t", "\\t": "\t", "": None}.get(text or "", text)
    if named is not None and not (len(named) == 1 and named.isascii()):
        raise InputError("a separator of one character", text, "write separator=; or separator=tab, for example")
    return named


def _encoding(name: str) -> str:
    try:
        if b"a,\n".decode(name) == "a,\n":
            return name
    except (LookupError, UnicodeError):
        pass
    raise InputError("an encoding such as utf-8, latin-1 or cp1251", name, "convert the file to UTF-8 first")


@contextlib.contextmanager
def _whole_parquet(source: Source) -> Iterator[None]:
    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{source.path.name} as a whole Parquet file", str(error), "fetch or write it again") from None


def _scattered(rows: pl.DataFrame) -> bool:
    """Whether lists do not stand together: in several places, or every row in a list of its own (sorted otherwise)."""
    if rows.is_empty():
        return False
    key = pl.struct("list", "query")
    different, runs = rows.select(key.n_unique(), runs=key.rle_id().last() + 1).row(0)
    return bool(different != runs or different == rows.height > 1)


def _runs(rows: pl.DataFrame) -> pl.Series:
    """Number the lists in the order of the rows; refuse rows whose lists do not stand together."""
    runs = rows.select(pl.struct("list", "query").rle_id()).to_series()
    if rows.select(pl.struct("list", "query").n_unique()).item() != int(runs[-1]) + 1:
        raise InputError("the rows of a list together", "a list in several places", "sort the log by its lists")
    return runs


def hold_out(
    rows: pl.DataFrame, share: float, most: int, first_list: int, rng: np.random.Generator
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the counts that are left, and the impressions drawn from them, each as a list of its own.

    `share` is the chance of each impression to be drawn, about `most` are drawn at most.

    >>> rows = pl.DataFrame({"query": "q", "item": "a", "position": 1, "clicked": 40, "times": 100})
    >>> kept, drawn = hold_out(rows, 0.5, 1000, 0, np.random.default_rng(0))
    >>> kept["times"].item() + len(drawn), kept["clicked"].item() + drawn["clicked"].sum()
    (100, 40)
    """
    share = min(share, most / max(1, int(rows["times"].sum())))
    hits = rng.binomial(rows["clicked"].to_numpy(), share)
    misses = rng.binomial((rows["times"] - rows["clicked"]).to_numpy(), share)
    kept = rows.with_columns(times=rows["times"] - pl.Series(hits + misses), clicked=rows["clicked"] - pl.Series(hits))
    places = np.arange(len(rows))
    drawn = rows.select("query", "item", "position")[np.concatenate([places.repeat(hits), places.repeat(misses)])]
    return kept, drawn.select(
        pl.Series("list", np.arange(len(drawn), dtype=np.int64) + first_list),
        pl.all(),
        pl.Series("clicked", (np.arange(len(drawn)) < hits.sum()).astype(np.int64)),
    )
