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
    WRONG_FIELDS,
    Bytes,
    Ints,
    Reading,
    click,
    enter_session,
    field_is,
    field_number,
    finish_list,
    is_full,
    place_items,
    set_aside,
    split_row,
)

_FIRST_URL = 6


def _parse(data: Bytes, begin: int, reading: Reading, options: Ints) -> int:
    while begin < len(data) and not is_full(reading):
        fields, begin = split_row(data, begin, reading)
        if fields == 0:
            continue
        if fields < 4:
            set_aside(reading, WRONG_FIELDS, fields)
            continue
        session = field_number(data, reading, 0)
        if session < 0:
            set_aside(reading, NOT_A_NUMBER, fields)
        elif field_is(data, reading, 1, 77):  # M
            if fields == 4:
                enter_session(reading, session)
            else:
                set_aside(reading, WRONG_FIELDS, fields)
        elif field_number(data, reading, 1) < 0 or field_number(data, reading, 3) < 0:
            set_aside(reading, NOT_A_NUMBER, fields)
        elif field_is(data, reading, 2, 67):  # C
            if fields != 5:
                set_aside(reading, WRONG_FIELDS, fields)
            elif field_number(data, reading, 4) < 0:
                set_aside(reading, NOT_A_NUMBER, fields)
            else:
                enter_session(reading, session)
                click(reading, field_number(data, reading, 4), field_number(data, reading, 3), False)
        elif field_is(data, reading, 2, 81) or field_is(data, reading, 2, 84):  # Q, T
            if fields < 7:
                set_aside(reading, WRONG_FIELDS, fields)
                continue
            query, page = field_number(data, reading, 4), field_number(data, reading, 3)
            complete = place_items(data, reading, _FIRST_URL, fields, True)
            if query < 0 or not complete:
                set_aside(reading, NOT_A_NUMBER, fields)
                continue
            enter_session(reading, session)
            if field_is(data, reading, 2, 84):
                query = NO_OUTCOMES
            finish_list(reading, session, query, 0, page, fields - _FIRST_URL, False)
        else:
            set_aside(reading, UNKNOWN_KIND, fields)
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
