"""The driver that the formats of session logs share: blocks in, finished lists out."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from rankone.clicks.counts.counter import ListCounter
from rankone.clicks.counts.tails import TailCounter
from rankone.clicks.formats.base import Format
from rankone.clicks.logs.collector import Collector
from rankone.clicks.logs.session_rows import Layout, parse_rows
from rankone.clicks.logs.sessions import (
    FIRST_OPEN,
    LINE,
    N_BAD,
    N_LISTS,
    N_TALLIES,
    NO_ITEM,
    NO_OUTCOMES,
    OPEN_LISTS,
    QUERY,
    REASONS,
    REGION,
    ROWS,
    SESSION,
    TALLY_NAMES,
    Reading,
    start_reading,
)
from rankone.clicks.logs.source import Oversized, Source
from rankone.compiling.compiled import compiled

_POSITIONS = 10  # as the logs of this kind have, unless said otherwise


class SessionLog(Format):
    """A log of sessions with result lists and clicks.

    Args:
        layout: which field of its rows holds what.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._counter = ListCounter(with_regions=layout.region >= 0 and not layout.merge_regions)
        self._tails = TailCounter()
        self._n_held_out = 0

    def read(self, source: Source, collector: Collector) -> int:
        """Read one file."""
        reading = start_reading(collector.rules.positions or _POSITIONS)
        parse = compiled(parse_rows, __name__)
        rows = 0
        for block in source.blocks():
            if isinstance(block, Oversized):
                rows += 1
                collector.report.rows += 1
                collector.bad(block.line, "the line is longer than 1 MB", block.start)
                continue
            data = np.frombuffer(block.data, np.uint8)
            reading.state[LINE] = block.first_line - 1
            begin = 0
            while begin < len(data):
                begin = parse(data, begin, reading, self._layout)
                collector.report.rows += int(reading.state[ROWS])
                rows += int(reading.state[ROWS])
                for line, reason, start, end in reading.bad[: reading.state[N_BAD]].tolist():
                    collector.bad(line, REASONS[reason], block.data[start:end])
                for name, number in zip(TALLY_NAMES[1:], reading.state[1:N_TALLIES], strict=True):
                    collector.report.add(name, number)
                reading.state[:N_TALLIES] = 0
                reading.state[N_BAD] = 0
                if reading.state[N_LISTS] == OPEN_LISTS:
                    self._take_finished(reading, collector)
            collector.judge()
            collector.show_progress(source)
        reading.state[FIRST_OPEN] = reading.state[N_LISTS]  # a session ends with its file
        self._take_finished(reading, collector)
        return rows

    def finish(self, collector: Collector) -> None:
        """Deliver the counts."""
        cells = self._counter.table()
        if len(cells):
            collector.table(cells)
        tails = self._tails.table(NO_ITEM)
        if tails is not None:
            collector.tails.append(tails)

    def _take_finished(self, reading: Reading, collector: Collector) -> None:
        """Count the lists of finished sessions and move those of the open session to the front."""
        finished, filled = int(reading.state[FIRST_OPEN]), int(reading.state[N_LISTS])
        if finished == 0 and filled == OPEN_LISTS:
            finished = filled // 2  # one session with thousands of lists: its oldest ones take no more clicks
        held_out = collector.holds_out(reading.heads[:finished, SESSION]) & (
            reading.heads[:finished, QUERY] != NO_OUTCOMES
        )
        if held_out.any():
            self._hold_out(reading, np.flatnonzero(held_out), collector)
        self._counter.add(reading, ~held_out)
        if collector.rules.tails:
            chosen = np.flatnonzero(~held_out & (reading.heads[:finished, QUERY] != NO_OUTCOMES))
            names = self._counter.query_names(reading.heads[chosen, QUERY], reading.heads[chosen, REGION])
            self._tails.add(names, reading.items[chosen], reading.clicked[chosen], NO_ITEM)
        for array in (reading.heads, reading.items, reading.clicked):
            array[: filled - finished] = array[finished:filled]
        reading.state[N_LISTS] = filled - finished
        reading.state[FIRST_OPEN] = 0

    def _hold_out(self, reading: Reading, chosen: Any, collector: Collector) -> None:
        positions = reading.items.shape[1]
        numbers = np.arange(self._n_held_out, self._n_held_out + len(chosen))
        self._n_held_out += len(chosen)
        names = self._counter.query_names(reading.heads[chosen, QUERY], reading.heads[chosen, REGION])
        table = pl.DataFrame(
            {
                "list": np.repeat(numbers, positions),
                "query": names.gather(np.repeat(np.arange(len(chosen)), positions)),
                "item": reading.items[chosen].ravel(),
                "position": np.tile(np.arange(1, positions + 1, dtype=np.uint8), len(chosen)),
                "clicked": reading.clicked[chosen].ravel(),
            }
        )
        collector.held_out.append(table.filter(pl.col("item") != NO_ITEM).with_columns(pl.col("item").cast(pl.String)))
        collector.report.add("lists held out", len(chosen))
