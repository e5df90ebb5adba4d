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
from rankone.clicks.sessions import (
    NO_OUTCOMES,
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

_FIRST_URL = 6


def _parse(data: Bytes, begin: int, reading: Reading, options: Ints) -> int:
    heads, items, clicked, state, bad, fields = reading
    while begin < len(data) and not is_full(state):
        number, begin = split_row(data, begin, fields, state)
        if number == 0:
            continue
        reason = 0
        kind = letter(data, fields, 2) if number > 2 else -1
        if number < 4:
            reason = WRONG_FIELDS
        elif letter(data, fields, 1) == 77:  # M
            if number != 4:
                reason = WRONG_FIELDS
            elif fields[VALUE, 0] < 0:
                reason = NOT_A_NUMBER
            else:
                enter_session(state, fields[VALUE, 0])
        elif fields[VALUE, 0] < 0 or fields[VALUE, 1] < 0 or fields[VALUE, 3] < 0:
            reason = NOT_A_NUMBER
        elif kind == 67:  # C
            if number != 5:
                reason = WRONG_FIELDS
            elif fields[VALUE, 4] < 0:
                reason = NOT_A_NUMBER
            else:
                enter_session(state, fields[VALUE, 0])
                click(heads, items, clicked, state, fields[VALUE, 4], fields[VALUE, 3], False)
        elif kind == 81 or kind == 84:  # Q, T
            if number < 7:
                reason = WRONG_FIELDS
            elif fields[VALUE, 4] < 0 or not place_items(data, items, clicked, fields, state, _FIRST_URL, number, True):
                reason = NOT_A_NUMBER
            else:
                enter_session(state, fields[VALUE, 0])
                query = fields[VALUE, 4] if kind == 81 else NO_OUTCOMES
                finish_list(heads, items, state, query, 0, fields[VALUE, 3], number - _FIRST_URL, False)
        else:
            reason = UNKNOWN_KIND
        if reason:
            set_aside(bad, fields, state, reason, number)
    return begin


class YandexPWSC(SessionLog):
    """Yandex Personalized Web Search Challenge; a click names its result list."""

    name = "yandex-pwsc"
    title = "Yandex Personalized Web Search Challenge"
    example = (
        b"7\tM\t3\t99\n7\t0\tQ\t0\t15\t4,5\t101,1\t102,2\t103,3\n7\t12\tC\t0\t102\n"
        b"8\tM\t3\t98\n8\t0\tQ\t0\t15\t4,5\t102,2\t101,1\t103,3\n8\t5\tC\t0\t101\n"
    )
    parse = staticmethod(_parse)

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
