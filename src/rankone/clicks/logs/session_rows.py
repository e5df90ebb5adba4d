"""The rows of the session logs, parsed by one compiled function: a format says only which field holds what."""

from __future__ import annotations

from typing import NamedTuple

from rankone.clicks.logs.sessions import (
    NO_OUTCOMES,
    NOT_A_NUMBER,
    UNKNOWN_KIND,
    VALUE,
    WRONG_FIELDS,
    Bytes,
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

_NONE = -1  # a field that the format does not have
_SESSION, _TIME, _KIND = range(3)  # fields that every format has in front
_CLICK, _SESSION_BEGINS, _LIST, _TEST_LIST = 67, 77, 81, 84  # C, M, Q, T
_FEWEST_FIELDS = 4


class Layout(NamedTuple):
    """Which field of a row holds what, counted from 0, and how its clicks and lists are taken."""

    click_fields: int  # a click has exactly so many fields
    clicked_item: int
    list_fields: int  # a list has at least so many
    query: int
    first_item: int
    region: int = _NONE
    page: int = _NONE  # number of the list in its session, in the rows of lists and clicks alike
    later_challenge: bool = False  # rows that begin a session (M), lists without outcomes (T), items as "url,domain"
    last_list_only: bool = False
    merge_repeats: bool = False
    merge_regions: bool = False


def parse_rows(data: Bytes, begin: int, reading: Reading, layout: Layout) -> int:
    """Read rows from `begin` on until the data ends or the reading is full; return where it stopped."""
    heads, items, clicked, state, bad, fields = reading
    first, paired = layout.first_item, layout.later_challenge
    while begin < len(data) and not is_full(state):
        number, begin = split_row(data, begin, fields, state)
        if number == 0:
            continue
        reason = 0
        kind = letter(data, fields, _KIND) if number > _KIND else _NONE
        if number < _FEWEST_FIELDS:
            reason = WRONG_FIELDS
        elif paired and letter(data, fields, _TIME) == _SESSION_BEGINS:
            if number != _FEWEST_FIELDS:
                reason = WRONG_FIELDS
            elif fields[VALUE, _SESSION] < 0:
                reason = NOT_A_NUMBER
            else:
                enter_session(state, fields[VALUE, _SESSION])
        elif (
            fields[VALUE, _SESSION] < 0
            or fields[VALUE, _TIME] < 0
            or (layout.page >= 0 and fields[VALUE, layout.page] < 0)
        ):
            reason = NOT_A_NUMBER
        elif kind == _CLICK:
            if number != layout.click_fields:
                reason = WRONG_FIELDS
            elif fields[VALUE, layout.clicked_item] < 0:
                reason = NOT_A_NUMBER
            else:
                enter_session(state, fields[VALUE, _SESSION])
                page = fields[VALUE, layout.page] if layout.page >= 0 else _NONE
                click(heads, items, clicked, state, fields[VALUE, layout.clicked_item], page, layout.last_list_only)
        elif kind == _LIST or (kind == _TEST_LIST and paired):
            if number < layout.list_fields:
                reason = WRONG_FIELDS
            elif (
                fields[VALUE, layout.query] < 0
                or (layout.region >= 0 and fields[VALUE, layout.region] < 0)
                or (paired and not place_items(data, items, clicked, fields, state, first, number, True))
                or (not paired and not place_items(data, items, clicked, fields, state, first, number, False))
            ):  # a constant gives each kind of item a compiled loop of its own
                reason = NOT_A_NUMBER
            else:
                enter_session(state, fields[VALUE, _SESSION])
                query = fields[VALUE, layout.query] if kind == _LIST else NO_OUTCOMES
                region = fields[VALUE, layout.region] if layout.region >= 0 and not layout.merge_regions else 0
                page = fields[VALUE, layout.page] if layout.page >= 0 else _NONE
                finish_list(heads, items, state, query, region, page, number - first, layout.merge_repeats)
        else:
            reason = UNKNOWN_KIND
        if reason:
            set_aside(bad, fields, state, reason, number)
    return begin
