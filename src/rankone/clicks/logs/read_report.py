"""What was read, what was set aside and why: the account that comes with every set of counts."""

import dataclasses
from typing import Any

from rankone.clicks.counts.column_kinds import entries
from rankone.notebook import Shown
from rankone.wording.numbers import percent

#: What a reader tallies, in the order of the account.
TALLIES = entries("""
    lists, clicks, clicks repeated, clicks off the list, clicks before any list, clicks on an earlier list,
    lists shown again, short lists, long lists, empty items, lists with gaps, duplicate items,
    rows beyond the last position, cells clamped, cells without impressions, cells in several rows,
    lists without outcomes, lists held out, blank lines, byte order marks, files cut short, empty files""")

_MUCH = 0.01
_SORT = "sort the log by session and time: the rows of a session must stand together"
#: What is a loss: its tally, the tally that it is a share of, how it is told, and what to do.
_LOSSES = (
    ("clicks off the list", "clicks", "clicks are on items that no open list of their session shows", _SORT),
    ("clicks before any list", "clicks", "clicks have no list of their session before them", _SORT),
    ("long lists", "lists", "lists have more items than positions are counted and were cut", "raise positions"),
    (
        "rows beyond the last position",
        "rows",
        "rows are at positions below those that count and were ignored",
        "raise positions",
    ),
    ("duplicate items", "rows", "rows show an item again that their list already shows", "check the column of lists"),
)


@dataclasses.dataclass(repr=False)
class ReadReport(Shown):
    """The account of one reading: ``rows_read + rows_quarantined == rows``.

    >>> report = ReadReport(format="yandex-rpc", rows=10, rows_quarantined=1)
    >>> report.rows_read, report.bad_share
    (9, 0.1)
    """

    format: str = ""
    files: int = 0
    rows: int = 0
    rows_quarantined: int = 0
    reasons: dict[str, int] = dataclasses.field(default_factory=dict)
    tallies: dict[str, int] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)

    @property
    def rows_read(self) -> int:
        """Rows that were understood (also those whose click was then ignored for a stated reason)."""
        return self.rows - self.rows_quarantined

    @property
    def worst(self) -> str:
        """The most frequent reason why rows were set aside."""
        return max(self.reasons, key=self.reasons.__getitem__)

    @property
    def bad_share(self) -> float:
        """Share of the rows that could not be read."""
        return self.rows_quarantined / self.rows if self.rows else 0.0

    def add(self, tally: str, number: int) -> None:
        """Add to one tally."""
        if number:
            self.tallies[tally] = self.tallies.get(tally, 0) + int(number)

    def note(self, text: str) -> None:
        """Keep a sentence that the reader of the account should know; the same one only once."""
        if text not in self.notes:
            self.notes.append(text)

    def __getitem__(self, tally: str) -> int:
        return self.tallies.get(tally, 0)

    def _sentence(self) -> str:
        return "\n".join([f"Read as {self.format}:" if self.format else "Read:", *self.notes])

    def _tables(self) -> dict[str, Any]:
        names, numbers = zip(*self.lines(), strict=True)
        return {"account": {"what": list(names), "number": list(numbers)}}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return dataclasses.asdict(self) | {"rows_read": self.rows_read}

    def warnings(self) -> list[str]:
        """Say what was lost beyond one in a hundred, and what to do about it."""
        result = []
        for tally, whole, what, do in _LOSSES:
            lost, total = self[tally], self.rows_read if whole == "rows" else self[whole]
            if total and lost > _MUCH * total:
                result.append(f"{lost:,} of {total:,} {what} ({percent(lost / total, 2)}); {do}")
        if self["files cut short"]:
            result.append(
                f"{self['files cut short']:,} of {self.files:,} files: the compressed data ends early or is damaged; "
                "what came before was read, but for the line that it breaks off in; fetch the file again"
            )
        if self.rows and self.rows_quarantined > _MUCH * self.rows:
            result.append(
                f"{self.rows_quarantined:,} of {self.rows:,} rows could not be read ({percent(self.bad_share, 2)}); "
                "see their reasons in the account, and the rows themselves with quarantine"
            )
        return result

    def lines(self) -> list[tuple[str, int]]:
        """Return the account as (what, number) lines, for a table."""
        account = [("files", self.files), ("rows", self.rows), ("rows read", self.rows_read)]
        account += [("rows set aside", self.rows_quarantined)]
        account += [(f"  {reason}", number) for reason, number in sorted(self.reasons.items())]
        return account + [(tally, self.tallies[tally]) for tally in TALLIES if self.tallies.get(tally)]
