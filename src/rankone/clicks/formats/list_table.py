"""A table with one row per list: the items it showed, and which of them were clicked.

Either in two columns, ``items`` ("a b c", "a|b|c", ["a", "b"], or a list column of Parquet) and ``clicks`` (a 0 or 1
for each item, or the items that were clicked, or their positions), or in a column for each place: item_1, item_2, ...
and clicked_1, clicked_2, ... Each list becomes rows of a long table, which are read as any other.
"""

import re
from collections.abc import Iterable, Iterator

import polars as pl

from rankone.clicks.formats.table import ENTRIES, Table, first_reason
from rankone.clicks.logs.collector import Collector
from rankone.clicks.logs.delimited import first_names
from rankone.clicks.logs.long_tables import find_columns
from rankone.clicks.logs.source import PARQUET, Source
from rankone.errors import InputError
from rankone.specs import one_of

_WIDE = re.compile(r"(item|clicked|click)_(\d+)$", re.IGNORECASE)
KINDS = ("flags", "items", "positions")
_NO_LIST = "the list is missing"
_NO_FLAGS = "the outcome is not 0 or 1"


class ListTable(Table):
    """A table with one row per list.

    Args:
        query: column of the query; "query" if there is one, else all rows are one query.
        items: column of the items, from the first position to the last.
        clicks: column of the clicks; "clicks" or "clicked" by default.
        clicks_are: "flags" (a 0 or 1 for each item), "items" (those clicked) or "positions" (those clicked, from 1); by
            default flags where most lists have as many of them as items, otherwise items.
        between: the character between two items; by default spaces, commas, semicolons and bars.
        separator: of delimited text, one character or "tab"; guessed from the header if left out.
        encoding: of delimited text.
        missing: texts that stand for a missing query or item, as for a long table.
    """

    name = "list-table"
    title = "table with one row per list (CSV, TSV or Parquet)"
    example = b"query,items,clicks\nq,a b,0 1\nq,b a,0 1\nq,a b,1 0\nq,b a,0 0\n"

    def __init__(
        self,
        query: str | None = None,
        items: str | None = None,
        clicks: str | None = None,
        clicks_are: str | None = None,
        between: str | None = None,
        separator: str | None = None,
        encoding: str = "utf-8",
        missing: str | Iterable[str] | None = None,
    ) -> None:
        super().__init__(query=query, separator=separator, encoding=encoding, missing=missing)
        if clicks_are is not None:
            one_of("clicks_are", clicks_are, KINDS)
        self.items, self.clicks, self.clicks_are, self.between = items, clicks, clicks_are, between
        self._own: dict[str, str] = {}
        self._places: dict[str, list[str]] = {}  # of a table with a column for each place

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Look for a column of items, or for one of each place."""
        names = set(map(str.casefold, first_names(head)))
        return {"items", "clicks"} <= names or {"items", "clicked"} <= names or "item_1" in names

    @classmethod
    def may_be(cls, head: bytes) -> bool:
        """Parquet says at its end which columns it has, so such a table has to be named."""
        return head.startswith(PARQUET) or cls.recognises(head)

    def _columns(self, header: list[str]) -> dict[str, str]:
        """Return what the rows of the long table hold, and keep which columns it is made of."""
        if not header:
            return {}
        lower = [name.strip().casefold() for name in header]
        self._places = {}
        if "item_1" in lower and self.items is None:
            for name in header:
                if match := _WIDE.match(name.strip()):
                    self._places.setdefault("item" if match[1].casefold() == "item" else "clicked", []).append(name)
            for names in self._places.values():
                names.sort(key=lambda name: int(name.rpartition("_")[2]))
            if len(self._places.get("item", [])) != len(self._places.get("clicked", [])):
                got = ", ".join(header)
                raise InputError("as many columns item_1, ... as clicked_1, ...", got, "add the columns that lack")
            self._own = find_columns(header, {"query": self.query})
        else:
            clicks = self.clicks or ("clicked" if "clicks" not in lower and "clicked" in lower else "clicks")
            self._own = find_columns(header, {"query": self.query, "items": self.items or "items", "clicks": clicks})
        made = {what: what for what in ("item", "position", "clicked", "list")}
        return made | ({"query": "query"} if "query" in self._own else {})

    def _batches(self, source: Source, collector: Collector, columns: dict[str, str]) -> Iterator[pl.DataFrame]:
        wanted = dict(self._own)
        for what, names in self._places.items():
            wanted |= {f"{what} {index}": name for index, name in enumerate(names)}
        for batch in super()._batches(source, collector, wanted):
            yield self._long(batch.rename({name: what for what, name in wanted.items() if name != what}), collector)

    def _long(self, rows: pl.DataFrame, collector: Collector) -> pl.DataFrame:
        """Turn lists into rows; lists that cannot be read are set aside."""
        if self._places:
            size = len(self._places["item"])
            items = pl.concat_list(pl.col(f"item {place}").fill_null("") for place in range(size))
            clicks = pl.concat_list(self._flag_at(place) for place in range(size))
        else:
            items, clicks = self._entries("items"), self._entries("clicks")
        rows = rows.select("line", *(["query"] if "query" in rows.columns else []), items=items, clicks=clicks)
        rows = rows.with_columns(clicked=self._flags(rows))
        wrong = {"the query is missing": self._is_missing("query")} if "query" in rows.columns else {}
        wrong |= {_NO_LIST: pl.col("items").list.len() == 0, _NO_FLAGS: pl.col("clicked").is_null()}
        rows = rows.with_columns(reason=first_reason(wrong))
        for bad in rows.filter(pl.col("reason").is_not_null()).iter_rows(named=True):
            text = " ".join(bad["items"] or []) + "\t" + " ".join(bad["clicks"] or [])
            collector.bad(bad["line"], bad["reason"], text.encode(), None)
        rows = rows.filter(pl.col("reason").is_null()).drop("reason", "clicks")
        rows = rows.with_columns(position=pl.int_ranges(1, pl.col("items").list.len() + 1))
        long = rows.explode("items", "clicked", "position").rename({"items": "item"})
        long = long.filter(~self._is_missing("item")).with_columns(pl.col("position", "clicked").cast(pl.String))
        return long.with_columns(list=pl.col("line").cast(pl.String))

    def _entries(self, column: str) -> pl.Expr:
        """Split a text into its entries; brackets and quotes of written lists are no part of them."""
        text = pl.col(column).fill_null("").str.strip_chars(" []()")
        if self.between is not None:
            parts = text.str.split(self.between)
        else:
            parts = text.str.replace_all(rf"[\s,;|{ENTRIES}]+", ENTRIES).str.split(ENTRIES)
        each = parts.list.eval(pl.element().str.strip_chars(" \"'"))
        return pl.when(text == "").then(pl.lit([], pl.List(pl.String))).otherwise(each)

    def _flag_at(self, place: int) -> pl.Expr:
        """What a column says of one place; where a short list has no item, there is no click."""
        no_item = pl.col(f"item {place}").fill_null("").str.strip_chars() == ""
        return pl.when(no_item).then(pl.lit("0")).otherwise(pl.col(f"clicked {place}").fill_null(""))

    def _flags(self, rows: pl.DataFrame) -> pl.Series:
        """One 0 or 1 for each item of each list; null where the clicks say something else."""
        if self._places:
            self.clicks_are = "flags"
        if self.clicks_are is None and rows.height:
            same = pl.col("clicks").list.len() == pl.col("items").list.len()
            bits = pl.col("clicks").list.eval(pl.element().is_in(["0", "1"])).list.all()
            self.clicks_are = "flags" if rows.select((same & bits).mean() > 0.5).item() else "items"
        flags: list[list[int] | None] = []
        for items, clicks in rows.select("items", "clicks").iter_rows():
            if self.clicks_are == "flags":
                usable, clicked = len(clicks) == len(items) and set(clicks) <= {"0", "1"}, clicks
            else:
                able = items if self.clicks_are == "items" else [str(place) for place in range(1, len(items) + 1)]
                usable, clicked = set(clicks) <= set(able), [each in clicks for each in able]
            flags.append([int(flag) for flag in clicked] if usable else None)
        return pl.Series("clicked", flags, pl.List(pl.Int64))
