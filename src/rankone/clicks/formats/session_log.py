"""Session logs, Yandex's two: tab-separated, no header, rows of a session together. Blocks in, finished lists out.

Yandex Relevance Prediction Challenge (2011). A click belongs to a list by session, order and membership only::

    SessionID  TimePassed  Q  QueryID  RegionID  url1 ... url10     a result list: at least 6 fields
    SessionID  TimePassed  C  URLID                                 a click: exactly 4 fields

Yandex Personalized Web Search Challenge (2013/14). Lists of the test period have no clicks, so they are no
impressions::

    SessionID  M  Day  UserID                                                    a session begins
    SessionID  Time  Q|T  SERPID  QueryID  term,term  url,domain x 10            a result list (T: of the test period)
    SessionID  Time  C  SERPID  URLID                                            a click
"""

import dataclasses

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import previous_clicks
from rankone.clicks.counts.counter import Sums, tails_of_rows
from rankone.clicks.counts.counts import LIST_NUMBERS
from rankone.clicks.formats.base import Format, first_rows
from rankone.clicks.logs.collector import Collector
from rankone.clicks.logs.read_report import ReadReport
from rankone.clicks.logs.source import Block, Oversized, Source
from rankone.numerics.arrays import Ints, Mask
from rankone.specs import one_of

_POSITIONS = 10  # as the logs of this kind have, unless said otherwise
_OPEN_ROWS = 1 << 17  # of one session that wait for more of its clicks
_FEWEST_FIELDS = 4
_NOTHING, _NO_OUTCOMES = -1, -1  # an item where a position shows none; the query of a list that has no clicks
_WRONG_FIELDS, _NOT_A_NUMBER = "wrong number of fields", "a field is not a whole number"
_KEYS = ["query", "region", "item", "position", "previous"]


@dataclasses.dataclass(frozen=True)
class Layout:
    """Which field of a row holds what, counted from 0, and how its clicks and lists are taken."""

    click_fields: int  # a click has exactly so many fields
    clicked_item: int
    list_fields: int  # a list has at least so many
    query: int
    first_item: int
    region: int | None = None
    page: int | None = None  # number of the list in its session, in the rows of lists and clicks alike
    later_challenge: bool = False  # rows that begin a session (M), lists without outcomes (T), items as "url,domain"
    last_list_only: bool = False
    merge_repeats: bool = False


class SessionLog(Format):
    """A log of sessions with result lists and clicks.

    Args:
        layout: which field of its rows holds what.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._cells = Sums(_KEYS)
        self._n_held_out = 0

    def read(self, source: Source, collector: Collector) -> None:
        """Read one file."""
        waiting: list[pl.DataFrame] = []  # rows of a session that may go on
        for block in source.blocks():
            if isinstance(block, Oversized):
                collector.oversized(block)
                continue
            rows = pl.concat([*waiting, self._rows(block, collector)])
            run, from_end = pl.col("session").rle_id(), pl.int_range(pl.len(), 0, -1)
            is_open = rows.select((run == run.max()) & (from_end <= _OPEN_ROWS)).to_series()
            self._take(rows.filter(~is_open), collector)
            waiting = [rows.filter(is_open)]
            collector.judge()
            collector.show_progress(source)
        if waiting:
            self._take(waiting[0], collector)  # a session ends with its file

    def finish(self, collector: Collector) -> None:
        """Deliver the counts."""
        cells = self._cells.table()
        if cells is not None:
            collector.table(cells.select(self._names(), pl.col("item").cast(pl.String), pl.exclude(*_KEYS[:3])))

    def _names(self) -> pl.Expr:
        """Name queries: the number of the query, with the region behind it where regions are kept apart."""
        query = pl.col("query").cast(pl.String)
        return query if self._layout.region is None else pl.concat_str(query, pl.col("region"), separator="_")

    def _rows(self, block: Block, collector: Collector) -> pl.DataFrame:
        """Return the rows of a block that can be read; the others are set aside."""
        layout, report = self._layout, collector.report
        rows = pl.DataFrame({"text": block.data.decode("latin-1").split("\n")[:-1]})
        rows = rows.with_row_index("line", block.first_line).with_columns(pl.col("text").str.strip_suffix("\r"))
        rows = rows.filter(pl.col("text") != "")
        report.rows += rows.height
        report.add("blank lines", block.data.count(b"\n") - rows.height)
        rows, fields = rows.with_columns(fields=pl.col("text").str.split("\t")), pl.col("fields")
        shown = fields.list.slice(layout.first_item, collector.rules.positions or _POSITIONS)
        kind = fields.list.get(2, null_on_oob=True)
        begins = (fields.list.get(1, null_on_oob=True) == "M") & layout.later_challenge
        is_list = kind.is_in(["Q", "T"] if layout.later_challenge else ["Q"]) & ~begins
        needed = {0, 1, layout.clicked_item, layout.query, layout.region or 0, layout.page or 0}
        rows = rows.select(
            *("line", "text"),
            *(_number(fields.list.get(field, null_on_oob=True)).alias(str(field)) for field in needed),
            size=fields.list.len().cast(pl.Int64),
            shown=pl.when(is_list).then(shown),
            kind=pl.when(begins).then(pl.lit("M")).when(is_list | (kind == "C")).then(kind),
        )
        items = pl.col("shown").list.eval(_number(pl.element(), layout.later_challenge))
        rows = rows.with_columns(items=items, empty=pl.col("shown").list.count_matches(""))
        rows = rows.with_columns(reason=self._reason())
        for line, text, why in rows.filter(pl.col("reason").is_not_null()).select("line", "text", "reason").rows():
            collector.bad(line, why, text.encode("latin-1"))
        return rows.filter(pl.col("reason").is_null()).select(
            session="0",
            page=_field(layout.page),
            query=pl.when(pl.col("kind") == "Q")
            .then(_field(layout.query))
            .when(pl.col("kind") == "T")
            .then(_NO_OUTCOMES),
            region=_field(layout.region),
            items="items",
            size=pl.col("size") - layout.first_item,
            clicked=pl.when(pl.col("kind") == "C").then(_field(layout.clicked_item)),
        )

    def _reason(self) -> pl.Expr:
        """Say why a row cannot be read."""
        layout, size, items = self._layout, pl.col("size"), pl.col("items")
        begins, is_click = (pl.col("kind").eq_missing(kind) for kind in "MC")
        is_list = items.is_not_null()
        unread_items = items.list.drop_nulls().list.len() + pl.col("empty") < items.list.len()

        def unread(*needed: int | None) -> pl.Expr:
            return pl.any_horizontal(_field(field).is_null() for field in needed if field is not None)

        wrong = [
            (_WRONG_FIELDS, (size < _FEWEST_FIELDS) | (begins & (size > _FEWEST_FIELDS))),
            (_NOT_A_NUMBER, unread(0) | (~begins & unread(1, layout.page))),
            ("unknown kind of row", pl.col("kind").is_null()),
            (_WRONG_FIELDS, (is_list & (size < layout.list_fields)) | (is_click & (size != layout.click_fields))),
            (_NOT_A_NUMBER, (is_list & unread_items) | (is_list & unread(layout.query, layout.region))),
            (_NOT_A_NUMBER, is_click & unread(layout.clicked_item)),
        ]
        return pl.coalesce(*(pl.when(condition).then(pl.lit(reason)) for reason, condition in wrong))

    def _take(self, rows: pl.DataFrame, collector: Collector) -> None:
        """Give the lists of finished sessions their clicks, and count them or hold them out."""
        rows = rows.with_columns(run=pl.col("session").rle_id()).with_row_index("row")
        lists = rows.filter(pl.col("query").is_not_null())
        items = _items(lists, collector.rules.positions or _POSITIONS, collector.report)
        again = np.zeros(len(items), np.bool_)
        key = lists.select(pl.struct("run", "query", "region").rle_id()).to_series().to_numpy()
        again[1:] = (key[1:] == key[:-1]) & (items[1:] == items[:-1]).all(axis=1)
        collector.report.add("lists shown again", again.sum())
        if self._layout.merge_repeats:
            lists, items = lists.filter(~again), items[~again]
        known = (lists["query"] != _NO_OUTCOMES).to_numpy()
        collector.report.add("lists", known.sum())
        collector.report.add("lists without outcomes", (~known).sum())
        clicked = self._clicked(rows.filter(pl.col("clicked").is_not_null()), lists, items, collector.report)
        held_out = collector.holds_out(lists["session"].to_numpy()) & known
        if held_out.any():
            collector.held_out.append(self._long(lists, items, clicked, held_out))
            collector.report.add("lists held out", held_out.sum())
            self._n_held_out += int(held_out.sum())
        kept = known & ~held_out
        self._cells.add(_counted(lists.filter(kept), items[kept], clicked[kept]))
        if collector.rules.tails:
            collector.tails.add(tails_of_rows(self._long(lists, items, clicked, kept)))

    def _clicked(self, clicks: pl.DataFrame, lists: pl.DataFrame, items: Ints, report: ReadReport) -> Mask:
        """Attach each click to the latest list of its session (or of that page) that shows the item."""
        heads = ["row", "run", *(["page"] if self._layout.page is not None else [])]
        at, place = np.nonzero(items != _NOTHING)
        shown = lists.select(heads)[at].with_columns(list=pl.Series(at), place=pl.Series(place), item=items[at, place])
        clicks = clicks.select(*heads, item="clicked").join_asof(
            shown, on="row", by=[*heads[1:], "item"], check_sortedness=False
        )
        latest = lists.select("row", "run").with_row_index("latest")
        clicks = clicks.join_asof(latest, on="row", by="run", check_sortedness=False)
        before_any = pl.col("latest").is_null()
        off_list = pl.col("list").is_null()
        if self._layout.last_list_only:
            off_list |= pl.col("list") != pl.col("latest")
        report.add("clicks", clicks.height)
        report.add("clicks before any list", clicks.filter(before_any).height)
        report.add("clicks off the list", clicks.filter(~before_any & off_list).height)
        clicks = clicks.filter(~before_any & ~off_list)
        first = clicks.unique(["list", "place"], keep="first", maintain_order=True)
        report.add("clicks repeated", clicks.height - first.height)
        report.add("clicks on an earlier list", first.filter(pl.col("list") < pl.col("latest")).height)
        clicked = np.zeros(items.shape, np.bool_)
        clicked[first["list"].to_numpy(), first["place"].to_numpy()] = True
        return clicked

    def _long(self, lists: pl.DataFrame, items: Ints, clicked: Mask, chosen: Mask) -> pl.DataFrame:
        """Return a row for each item of some lists, by name."""
        items, clicked = items[chosen], clicked[chosen]
        at, place = np.nonzero(items != _NOTHING)
        return (
            lists.filter(chosen)
            .select(query=self._names())[at]
            .select(
                pl.Series("list", at + self._n_held_out),
                "query",
                pl.Series("item", items[at, place]).cast(pl.String),
                pl.Series("position", (place + 1).astype(np.uint8)),
                pl.Series("clicked", clicked[at, place].astype(np.uint8)),
            )
        )


def _field(field: int | None) -> pl.Expr:
    return pl.lit(None, pl.Int64) if field is None else pl.col(str(field))


def _number(text: pl.Expr, with_domain: bool = False) -> pl.Expr:
    """Return a text as a whole number from 0, or null; of "url,domain" the first of two."""
    number = (text.str.extract(r"^(\d+),\d+$") if with_domain else text).cast(pl.Int64, strict=False)
    return pl.when(number >= 0).then(number)


def _items(lists: pl.DataFrame, positions: int, report: ReadReport) -> Ints:
    """Return the items of lists by position; one that stands above already counts there only."""
    inside = np.arange(positions) < lists["items"].list.len().to_numpy()[:, None]
    items = np.full(inside.shape, _NOTHING)
    items[inside] = lists["items"].explode().fill_null(_NOTHING).to_numpy()
    shown = items != _NOTHING
    below = np.cumsum(shown[:, ::-1], axis=1)[:, ::-1] > 0
    report.add("long lists", lists.filter(pl.col("size") > positions).height)
    report.add("short lists", lists.filter(pl.col("size") < positions).height)
    report.add("empty items", (inside & ~shown).sum())
    report.add("lists with gaps", (below & ~shown).any(axis=1).sum())
    for place in range(1, positions):
        above = (items[:, :place] == items[:, place, None]).any(axis=1) & shown[:, place]
        items[above, place] = _NOTHING
        report.add("duplicate items", above.sum())
    return items


def _counted(lists: pl.DataFrame, items: Ints, clicked: Mask) -> pl.DataFrame:
    """Count the cells of lists."""
    place = np.arange(1, items.shape[1] + 1)
    last = (clicked * place).max(axis=1, keepdims=True)
    cells = {
        "item": items,
        "position": np.broadcast_to(place.astype(np.uint8), items.shape),
        "previous": previous_clicks(clicked).astype(np.uint8),
        "clicks": clicked,
        "examined": (last == 0) | (place <= last),
        "last_clicks": clicked & (place == last),
    }
    at = np.nonzero(items != _NOTHING)
    rows = lists.select("query", "region")[at[0]].with_columns(
        pl.Series(name, each[at]) for name, each in cells.items()
    )
    return rows.group_by(_KEYS).agg(
        pl.len().cast(pl.Int64).alias("impressions"), pl.col(LIST_NUMBERS[1:]).cast(pl.Int64).sum()
    )


class YandexRPC(SessionLog):
    """Yandex Relevance Prediction Challenge.

    Args:
        clicks: "latest" attaches a click to the latest list of the session that shows the item; "last-list" is
            PyClick's rule, which knows only the last list and drops other clicks.
        regions: "apart" names queries QUERY_REGION; "merge" ignores the region, as PyClick does.
        repeats: "separate" counts the same list shown again as new impressions; "merge" joins it with the list before.
    """

    name = "yandex-rpc"
    title = "Yandex Relevance Prediction Challenge"
    example = b"7\t0\tQ\t15\t2\t101\t102\t103\n7\t12\tC\t102\n8\t0\tQ\t15\t2\t102\t101\t103\n8\t5\tC\t101\n"

    def __init__(self, clicks: str = "latest", regions: str = "apart", repeats: str = "separate") -> None:
        one_of("clicks", clicks, ("latest", "last-list"))
        one_of("repeats", repeats, ("separate", "merge"))
        one_of("regions", regions, ("apart", "merge"))
        layout = Layout(
            click_fields=4,
            clicked_item=3,
            list_fields=6,
            query=3,
            region=4 if regions == "apart" else None,
            first_item=5,
            last_list_only=clicks == "last-list",
            merge_repeats=repeats == "merge",
        )
        super().__init__(layout)

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Most of the first rows are queries or clicks of this shape, and nothing speaks for the later challenge."""
        rows = first_rows(head, b"\t")
        if any(len(row) > 1 and row[1] == b"M" for row in rows) or any(b"," in field for row in rows for field in row):
            return False
        fit = sum(
            len(row) >= 4 and ((row[2] == b"C" and len(row) == 4) or (row[2] == b"Q" and len(row) >= 6)) for row in rows
        )
        return bool(rows) and 2 * fit >= len(rows)


class YandexPWSC(SessionLog):
    """Yandex Personalized Web Search Challenge; a click names its result list."""

    name = "yandex-pwsc"
    title = "Yandex Personalized Web Search Challenge"
    example = (
        b"7\tM\t3\t99\n7\t0\tQ\t0\t15\t4,5\t101,1\t102,2\t103,3\n7\t12\tC\t0\t102\n"
        b"8\tM\t3\t98\n8\t0\tQ\t0\t15\t4,5\t102,2\t101,1\t103,3\n8\t5\tC\t0\t101\n"
    )

    def __init__(self) -> None:
        layout = Layout(
            click_fields=5, clicked_item=4, list_fields=7, page=3, query=4, first_item=6, later_challenge=True
        )
        super().__init__(layout)

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Most of the first rows have the shapes of this log."""
        rows = first_rows(head, b"\t")
        fit = sum(_fits(row) for row in rows)
        return bool(rows) and 2 * fit >= len(rows)


def _fits(row: list[bytes]) -> bool:
    if len(row) < 4:
        return False
    if row[1] == b"M":
        return len(row) == 4
    if row[2] == b"C":
        return len(row) == 5
    return row[2] in (b"Q", b"T") and len(row) >= 7 and b"," in row[6]
