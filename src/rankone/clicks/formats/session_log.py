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

from typing import Any

import numpy as np
import polars as pl

from rankone.clicks.counts.counter import ListCounter, TailCounter
from rankone.clicks.formats.base import Format, first_rows
from rankone.clicks.logs import sessions
from rankone.clicks.logs.collector import Collector
from rankone.clicks.logs.source import Oversized, Source
from rankone.compiling.compiled import compiled
from rankone.specs import one_of

_POSITIONS = 10  # as the logs of this kind have, unless said otherwise


class SessionLog(Format):
    """A log of sessions with result lists and clicks.

    Args:
        layout: which field of its rows holds what.
    """

    def __init__(self, layout: sessions.Layout) -> None:
        self._layout = layout
        self._counter = ListCounter(with_regions=layout.region >= 0 and not layout.merge_regions)
        self._tails = TailCounter()
        self._n_held_out = 0

    def read(self, source: Source, collector: Collector) -> None:
        """Read one file."""
        reading = sessions.start_reading(collector.rules.positions or _POSITIONS)
        parse = compiled(sessions.parse_rows, __name__)
        for block in source.blocks():
            if isinstance(block, Oversized):
                collector.oversized(block)
                continue
            data = np.frombuffer(block.data, np.uint8)
            reading.state[sessions.LINE] = block.first_line - 1
            begin = 0
            while begin < len(data):
                begin = parse(data, begin, reading, self._layout)
                collector.report.rows += int(reading.state[sessions.ROWS])
                for line, reason, start, end in reading.bad[: reading.state[sessions.N_BAD]].tolist():
                    collector.bad(line, sessions.REASONS[reason], block.data[start:end])
                for name, number in zip(sessions.TALLY_NAMES[1:], reading.state[1 : sessions.N_TALLIES], strict=True):
                    collector.report.add(name, number)
                reading.state[: sessions.N_TALLIES] = 0
                reading.state[sessions.N_BAD] = 0
                if reading.state[sessions.N_LISTS] == sessions.OPEN_LISTS:
                    self._take_finished(reading, collector)
            collector.judge()
            collector.show_progress(source)
        reading.state[sessions.FIRST_OPEN] = reading.state[sessions.N_LISTS]  # a session ends with its file
        self._take_finished(reading, collector)

    def finish(self, collector: Collector) -> None:
        """Deliver the counts."""
        cells = self._counter.table()
        if len(cells):
            collector.table(cells)
        tails = self._tails.table()
        if tails is not None:
            collector.tails.add(tails)

    def _take_finished(self, reading: sessions.Reading, collector: Collector) -> None:
        """Count the lists of finished sessions and move those of the open session to the front."""
        finished, filled = int(reading.state[sessions.FIRST_OPEN]), int(reading.state[sessions.N_LISTS])
        if finished == 0 and filled == sessions.OPEN_LISTS:
            finished = filled // 2  # one session with thousands of lists: its oldest ones take no more clicks
        known = reading.heads[:finished, sessions.QUERY] != sessions.NO_OUTCOMES
        held_out = collector.holds_out(reading.heads[:finished, sessions.SESSION]) & known
        if held_out.any():
            self._hold_out(reading, np.flatnonzero(held_out), collector)
        self._counter.add(reading, ~held_out)
        if collector.rules.tails:
            chosen = np.flatnonzero(~held_out & known)
            names = self._counter.query_names(*reading.heads[chosen, sessions.QUERY : sessions.REGION + 1].T)
            self._tails.add(names, reading.items[chosen], reading.clicked[chosen])
        for array in (reading.heads, reading.items, reading.clicked):
            array[: filled - finished] = array[finished:filled]
        reading.state[sessions.N_LISTS] = filled - finished
        reading.state[sessions.FIRST_OPEN] = 0

    def _hold_out(self, reading: sessions.Reading, chosen: Any, collector: Collector) -> None:
        positions = reading.items.shape[1]
        numbers = np.arange(self._n_held_out, self._n_held_out + len(chosen))
        self._n_held_out += len(chosen)
        names = self._counter.query_names(*reading.heads[chosen, sessions.QUERY : sessions.REGION + 1].T)
        table = pl.DataFrame(
            {
                "list": np.repeat(numbers, positions),
                "query": names.gather(np.repeat(np.arange(len(chosen)), positions)),
                "item": reading.items[chosen].ravel(),
                "position": np.tile(np.arange(1, positions + 1, dtype=np.uint8), len(chosen)),
                "clicked": reading.clicked[chosen].ravel(),
            }
        )
        collector.held_out.append(
            table.filter(pl.col("item") != sessions.NO_ITEM).with_columns(pl.col("item").cast(pl.String))
        )
        collector.report.add("lists held out", len(chosen))


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
        layout = sessions.Layout(click_fields=4, clicked_item=3, list_fields=6, query=3, region=4, first_item=5)
        merged = layout._replace(merge_repeats=repeats == "merge", merge_regions=regions == "merge")
        super().__init__(merged._replace(last_list_only=clicks == "last-list"))

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Most of the first rows are queries or clicks of this shape, and nothing speaks for the later challenge."""
        rows = first_rows(head, b"\t")
        later = any(row[1:2] == [b"M"] or any(b"," in field for field in row) for row in rows)
        fit = [(row[2:3] == [b"C"] and len(row) == 4) or (row[2:3] == [b"Q"] and len(row) >= 6) for row in rows]
        return not later and 0 < len(rows) <= 2 * sum(fit)


class YandexPWSC(SessionLog):
    """Yandex Personalized Web Search Challenge; a click names its result list."""

    name = "yandex-pwsc"
    title = "Yandex Personalized Web Search Challenge"
    example = (
        b"7\tM\t3\t99\n7\t0\tQ\t0\t15\t4,5\t101,1\t102,2\t103,3\n7\t12\tC\t0\t102\n"
        b"8\tM\t3\t98\n8\t0\tQ\t0\t15\t4,5\t102,2\t101,1\t103,3\n8\t5\tC\t0\t101\n"
    )

    def __init__(self) -> None:
        super().__init__(
            sessions.Layout(
                click_fields=5, clicked_item=4, list_fields=7, page=3, query=4, first_item=6, later_challenge=True
            )
        )

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Most of the first rows have the shapes of this log."""
        rows = first_rows(head, b"\t")
        return 0 < len(rows) <= 2 * sum(map(_fits, rows))


def _fits(row: list[bytes]) -> bool:
    if len(row) < 4 or row[1] == b"M":
        return len(row) == 4
    if row[2] == b"C":
        return len(row) == 5
    return row[2] in (b"Q", b"T") and len(row) >= 7 and b"," in row[6]
