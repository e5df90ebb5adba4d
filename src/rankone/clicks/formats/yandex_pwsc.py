"""Yandex Personalized Web Search Challenge (2013/14): tab-separated, no header, rows of a session together.

::

    SessionID  M  Day  UserID                                                    a session begins
    SessionID  Time  Q|T  SERPID  QueryID  term,term  url,domain x 10            a result list (T: of the test period)
    SessionID  Time  C  SERPID  URLID                                            a click

Lists of the test period were published without their clicks, so they are no impressions.
"""

from __future__ import annotations

from rankone.clicks.formats.base import first_rows
from rankone.clicks.formats.session_log import SessionLog
from rankone.clicks.logs.session_rows import Layout


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
            Layout(click_fields=5, clicked_item=4, list_fields=7, page=3, query=4, first_item=6, later_challenge=True)
        )

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
