"""Where the readers deliver: counts, held-out lists, tallies, and the rows that could not be read."""

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import numpy as np
import numpy.typing as npt
import polars as pl

from rankone.clicks.counts.counts import MOST_POSITIONS, Counts, Sums
from rankone.clicks.logs.long_tables import hint, reason_text
from rankone.clicks.logs.read_report import ReadReport
from rankone.clicks.logs.source import Oversized, Source
from rankone.errors import InputError
from rankone.numerics.arrays import Ints, Mask
from rankone.specs import number_in, whole_number
from rankone.wording.numbers import percent
from rankone.writing import writing

#: Called while a log is read: bytes done, bytes in all, rows so far.
Progress = Callable[[int, int, int], None]

_JUDGED_FROM = 10_000  # rows after which the share of bad rows is judged while reading
_SHOWN_TEXT = 1_000


@dataclasses.dataclass(frozen=True)
class Rules:
    """How strictly to read, and how much to hold out."""

    positions: int | None = None  # None: as many as the format usually has
    strict: bool = False
    max_bad: float = 0.01
    quarantine: str | os.PathLike[str] | None = None
    holdout: float = 0.0
    holdout_lists: int = 0
    seed: int = 0
    tails: bool = False

    def __post_init__(self) -> None:
        number_in("max_bad", self.max_bad, "[0, 1]", example=0.01)
        if self.positions is not None:
            whole_number("positions", self.positions, most=MOST_POSITIONS, example=10)


class Collector:
    """Where a log format delivers what it reads: counts, lists to hold out, and rows that cannot be read.

    `table` takes counts (query, item, position, impressions, clicks; added up as they come). `holds_out` says which
    lists to append to `held_out` (list, query, item, position, clicked) instead. `report.rows` counts all rows, `bad`
    and `oversized` those that cannot be read; `judge` stops when they are too many.

    >>> collector = Collector(Rules(strict=False))
    >>> collector.report.rows += 2
    >>> collector.bad(2, "the row is cut", b"red, a")
    >>> collector.report.rows_read, collector.report.reasons
    (1, {'the row is cut': 1})
    """

    def __init__(self, rules: Rules, total_bytes: int = 0, progress: Progress | None = None) -> None:
        self.rules = rules
        self.report = ReadReport()
        self.held_out: list[pl.DataFrame] = []
        self._cells, self.tails = Sums(), Sums()
        self.rows_of_counts = 0  # rows of an aggregated log that were taken
        self._found: dict[str, str | None] = {}  # the first value that each reason was given for
        self._file, self._rows_before = Path(), 0
        self._quarantine: TextIO | None = None
        self._progress = progress
        self._total_bytes, self._done_bytes = total_bytes, 0

    def begin(self, source: Source) -> None:
        """Say which file the next rows come from."""
        self._file, self._rows_before = source.path, self.report.rows
        self.report.files += 1

    def end(self, source: Source) -> None:
        """Close the account of a file."""
        self._done_bytes += source.total_bytes
        self.report.add("byte order marks", int(source.had_bom))
        self.report.add("empty files", int(self.report.rows == self._rows_before))
        if source.broken:
            self.report.add("files cut short", 1)
            if self.rules.strict:
                do = "fetch the file again, or read without strict"
                raise InputError(f"{source.path.name} whole", source.broken, do)
        self.show_progress(None)

    def oversized(self, line: Oversized) -> None:
        """Set aside a line that is longer than the limit."""
        self.report.rows += 1
        self.bad(line.line, "the line is longer than 1 MB", line.start)

    def show_progress(self, source: Source | None) -> None:
        """Tell the caller how far the reading is."""
        if self._progress is not None:
            done = self._done_bytes + (source.bytes_read if source is not None else 0)
            self._progress(done, self._total_bytes, self.report.rows)

    def table(self, cells: pl.DataFrame) -> None:
        """Take counts; tables are added up as they come, so that memory follows the number of distinct cells."""
        self._cells.add(cells)

    def holds_out(self, keys: Ints | npt.NDArray[np.uint64]) -> Mask:
        """Choose what to hold out by a hash of the session (or list), so that the choice needs no memory."""
        if self.rules.holdout <= 0.0 or self.report["lists held out"] >= self.rules.holdout_lists:
            return np.zeros(len(keys), np.bool_)
        if self.rules.holdout >= 1.0:
            return np.ones(len(keys), np.bool_)
        mixed = keys.astype(np.uint64) + np.uint64((0x9E3779B97F4A7C15 * (self.rules.seed + 1)) % 2**64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        return (mixed ^ (mixed >> np.uint64(31))) < np.uint64(int(self.rules.holdout * 2.0**64))

    def bad(self, line: int, reason: str, text: bytes, value: str | None = None) -> None:
        """Set a row aside, and the value it is for: count it, write it to the quarantine file, or stop if strict."""
        self.report.rows_quarantined += 1
        self.report.reasons[reason] = self.report.reasons.get(reason, 0) + 1
        self._found.setdefault(reason, value)
        if self.rules.quarantine is not None:
            if self._quarantine is None:
                with writing(Path(self.rules.quarantine)):
                    path = Path(self.rules.quarantine)
                    self._quarantine = path.open("w", encoding="utf-8")
                self._quarantine.write("file\tline\treason\ttext\n")
            shown = text[:_SHOWN_TEXT].decode("utf-8", "backslashreplace").encode("unicode_escape").decode()
            self._quarantine.write(f"{self._file}\t{line}\t{reason}\t{shown}\n")
        if self.rules.strict:
            got = f"line {line} of {self._file.name}: {reason_text(reason, value)}"
            raise InputError("rows that can all be read (strict)", got, hint(reason, value))

    def judge(self, at_end: bool = False) -> None:
        """Stop when the share of bad rows is above the limit."""
        report = self.report
        if report.bad_share > self.rules.max_bad and (at_end or report.rows >= _JUDGED_FROM):
            worst, value = report.worst, self._found[report.worst]
            written = f", look at {self.rules.quarantine}" if self.rules.quarantine is not None else ""
            raise InputError(
                f"at most {percent(self.rules.max_bad)} rows that cannot be read as {report.format}",
                f"{report.rows_quarantined:,} of {report.rows:,} rows (mostly: {reason_text(worst, value)})",
                f"{hint(worst, value)}{written}, or raise max_bad",
            )

    def close(self) -> None:
        """Close the quarantine file."""
        if self._quarantine is not None:
            self._quarantine.close()

    def counts(self) -> Counts:
        """Return all counts taken."""
        cells = self._cells.total()
        if cells is None:
            raise InputError("at least one result list or impression", "none in the log", "check the file and format")
        self.report.add("cells in several rows", max(self.rows_of_counts - len(cells), 0))
        return Counts(cells, self.report, tails=self.tails.total())
