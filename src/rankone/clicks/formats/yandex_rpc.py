"""Yandex Relevance Prediction Challenge (2011): tab-separated, no header, rows of a session together.

::

    SessionID  TimePassed  Q  QueryID  RegionID  url1 ... url10     a result list: at least 6 fields
    SessionID  TimePassed  C  URLID                                 a click: exactly 4 fields

There is no number of the result list: a click belongs to a list by session, order and membership only.
"""

from __future__ import annotations

from rankone.clicks.formats.base import first_rows
from rankone.clicks.formats.session_log import SessionLog
from rankone.clicks.logs.session_rows import Layout
from rankone.errors import InputError


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
        for given, choices in (
            (clicks, ("latest", "last-list")),
            (repeats, ("separate", "merge")),
            (regions, ("apart", "merge")),
        ):
            if given not in choices:
                raise InputError(f"'{choices[0]}' or '{choices[1]}'", given, "choose one of the two")
        layout = Layout(
            click_fields=4, clicked_item=3, list_fields=6, query=3, region=4, first_item=5,
            last_list_only=clicks == "last-list", merge_repeats=repeats == "merge", merge_regions=regions == "merge",
        )  # fmt: skip
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
