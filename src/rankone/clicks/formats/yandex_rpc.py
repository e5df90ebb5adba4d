"""Yandex Relevance Prediction Challenge (2011): tab-separated, no header, rows of a session together.

::

    SessionID  TimePassed  Q  QueryID  RegionID  url1 ... url10     a result list: at least 6 fields
    SessionID  TimePassed  C  URLID                                 a click: exactly 4 fields

There is no number of the result list: a click belongs to a list by session, order and membership only.
"""

from __future__ import annotations

from rankone.clicks.formats.base import first_rows
from rankone.clicks.formats.session_log import SessionLog
from rankone.clicks.sessions import (
    NOT_A_NUMBER,
    UNKNOWN_KIND,
    VALUE,
    WRONG_FIELDS,
    Bytes,
    Ints,
    Reading,
    click,
    enter_session,
    finish_list,
    is_full,
    letter,
    place_items,
    set_aside,
    split_row,
)
from rankone.errors import InputError

_FIRST_URL = 5


def _parse(data: Bytes, begin: int, reading: Reading, options: Ints) -> int:
    heads, items, clicked, state, bad, fields = reading
    last_list_only, merge, merge_regions = options[0] != 0, options[1] != 0, options[2] != 0
    while begin < len(data) and not is_full(state):
        number, begin = split_row(data, begin, fields, state)
        if number == 0:
            continue
        reason = 0
        if number < 4:
            reason = WRONG_FIELDS
        elif fields[VALUE, 0] < 0 or fields[VALUE, 1] < 0:
            reason = NOT_A_NUMBER
        else:
            kind = letter(data, fields, 2)
            if kind == 67:  # C
                if number != 4:
                    reason = WRONG_FIELDS
                elif fields[VALUE, 3] < 0:
                    reason = NOT_A_NUMBER
                else:
                    enter_session(state, fields[VALUE, 0])
                    click(heads, items, clicked, state, fields[VALUE, 3], -1, last_list_only)
            elif kind == 81:  # Q
                if number < 6:
                    reason = WRONG_FIELDS
                elif (
                    fields[VALUE, 3] < 0
                    or fields[VALUE, 4] < 0
                    or not place_items(data, items, clicked, fields, state, _FIRST_URL, number, False)
                ):
                    reason = NOT_A_NUMBER
                else:
                    enter_session(state, fields[VALUE, 0])
                    region = 0 if merge_regions else fields[VALUE, 4]
                    finish_list(heads, items, state, fields[VALUE, 3], region, -1, number - _FIRST_URL, merge)
            else:
                reason = UNKNOWN_KIND
        if reason:
            set_aside(bad, fields, state, reason, number)
    return begin


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
    parse = staticmethod(_parse)

    def __init__(self, clicks: str = "latest", regions: str = "apart", repeats: str = "separate") -> None:
        flags = []
        for given, choices in (
            (clicks, ("latest", "last-list")),
            (repeats, ("separate", "merge")),
            (regions, ("apart", "merge")),
        ):
            if given not in choices:
                raise InputError(f"'{choices[0]}' or '{choices[1]}'", given, "choose one of the two")
            flags.append(choices.index(given))
        self.options = tuple(flags)
        self.with_regions = regions == "apart"
        super().__init__()

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
