"""Result lists and clicks of session logs: the compiled steps of reading a row.

Rows of a session stand together in the log, so the lists of the current session stay open for its clicks and are
finished when the next session begins. A click belongs to the latest list of its session that shows the item.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.clicks.counts.column_kinds import entries
from rankone.compiling.compiled import inlined, noalloc
from rankone.numerics.arrays import Ints

Bytes = npt.NDArray[np.uint8]

OPEN_LISTS = 1 << 12
_BAD_ROWS = 1 << 10
_MOST_FIELDS = 512
_MOST_DIGITS = 18
NO_ITEM = -1
NO_OUTCOMES = -1  # as the query of a list that was logged without clicks

# Slots of the state: tallies, under their names in the account of the reading, then where the reading is.
ROWS, BLANK, LISTS, CLICKS, REPEATED, OFF_LIST, BEFORE_ANY, ON_EARLIER = range(8)
SHOWN_AGAIN, SHORT, LONG, EMPTY, DUPLICATE, WITHOUT_OUTCOMES, GAPS = range(8, 15)
N_LISTS, FIRST_OPEN, CURRENT_SESSION, STARTED, LINE, N_BAD = range(15, 21)
TALLY_NAMES = entries("""
    rows, blank lines, lists, clicks, clicks repeated, clicks off the list, clicks before any list,
    clicks on an earlier list, lists shown again, short lists, long lists, empty items, duplicate items,
    lists without outcomes, lists with gaps""")
N_TALLIES = len(TALLY_NAMES)

REASONS = ("", "wrong number of fields", "unknown kind of row", "a field is not a whole number")
WRONG_FIELDS, UNKNOWN_KIND, NOT_A_NUMBER = 1, 2, 3

SESSION, QUERY, REGION, PAGE = range(4)  # columns of the heads
START, END, VALUE = range(3)  # rows of the fields


class Reading(NamedTuple):
    """The state of the reading of one file."""

    heads: Ints  # (lists, 4): session, query, region, page
    items: Ints  # (lists, positions); NO_ITEM where a position shows nothing
    clicked: Bytes  # (lists, positions)
    state: Ints
    bad: Ints  # (rows, 4): line, reason, start and end of its text in the block
    fields: Ints  # (3, fields) of the current row: start, end, value as a whole number or -1


def start_reading(positions: int) -> Reading:
    """Return the state before the first row of a file."""
    return Reading(
        heads=np.empty((OPEN_LISTS, 4), np.int64),
        items=np.empty((OPEN_LISTS, positions), np.int64),
        clicked=np.zeros((OPEN_LISTS, positions), np.uint8),
        state=np.zeros(N_BAD + 1, np.int64),
        bad=np.empty((_BAD_ROWS, 4), np.int64),
        fields=np.empty((3, _MOST_FIELDS), np.int64),
    )


@noalloc
def is_full(state: Ints) -> bool:
    """Say whether finished lists or bad rows must be taken out before the next row."""
    return state[N_LISTS] == OPEN_LISTS or state[N_BAD] == _BAD_ROWS


@noalloc
def split_row(data: Bytes, begin: int, fields: Ints, state: Ints) -> tuple[int, int]:
    """Find the fields of the row at `begin` and the numbers in them, in one pass over its bytes.

    Returns the number of fields, 0 for a blank line, and the place after the row's line end.
    """
    number = 0
    place = start = begin
    value = 0
    digits_only = True
    while True:
        byte = int(data[place])
        digit = byte - 48
        if 0 <= digit <= 9:
            value = value * 10 + digit
        elif byte == 9 or byte == 10:  # a tab, a line end
            end = place - 1 if byte == 10 and place > begin and data[place - 1] == 13 else place  # CRLF
            if number < _MOST_FIELDS:
                fields[START, number] = start
                fields[END, number] = end
                fields[VALUE, number] = value if digits_only and 0 < end - start <= _MOST_DIGITS else -1
            number += 1
            if byte == 10:
                break
            start = place + 1
            value = 0
            digits_only = True
        elif not (byte == 13 and data[place + 1] == 10):
            digits_only = False
        place += 1
    state[LINE] += 1
    if number == 1 and fields[END, 0] == fields[START, 0]:
        state[BLANK] += 1
        return 0, place + 1
    state[ROWS] += 1
    return number, place + 1


@noalloc
def whole_number(data: Bytes, start: int, end: int) -> int:
    """Value of a stretch of digits, or -1."""
    if start >= end or end - start > _MOST_DIGITS:
        return -1
    value = 0
    for place in range(start, end):
        digit = int(data[place]) - 48
        if digit < 0 or digit > 9:
            return -1
        value = value * 10 + digit
    return value


@noalloc
def letter(data: Bytes, fields: Ints, field: int) -> int:
    """Return the byte of a field that is one byte long, or -1."""
    if fields[END, field] - fields[START, field] != 1:
        return -1
    return int(data[fields[START, field]])


@noalloc
def set_aside(bad: Ints, fields: Ints, state: Ints, reason: int, number: int) -> None:
    """Note the current row, of that many fields, as one that cannot be read."""
    place = state[N_BAD]
    bad[place, 0] = state[LINE]
    bad[place, 1] = reason
    bad[place, 2] = fields[START, 0]
    bad[place, 3] = fields[END, min(number, _MOST_FIELDS) - 1]
    state[N_BAD] = place + 1


@noalloc
def enter_session(state: Ints, session: int) -> None:
    """Make `session` the current one; the lists of the session before are finished."""
    if state[STARTED] == 0 or state[CURRENT_SESSION] != session:
        state[CURRENT_SESSION] = session
        state[STARTED] = 1
        state[FIRST_OPEN] = state[N_LISTS]


@noalloc
def item_number(data: Bytes, fields: Ints, field: int, paired: bool) -> int:
    """Return the item of a field: its number, or in a paired log the number before the comma of "url,domain"; or -1."""
    if not paired:
        return fields[VALUE, field]
    for place in range(fields[START, field], fields[END, field]):
        if data[place] == 44:  # a comma
            domain = whole_number(data, place + 1, fields[END, field])
            return whole_number(data, fields[START, field], place) if domain >= 0 else -1
    return -1


@noalloc
def place_items(
    data: Bytes, items: Ints, clicked: Bytes, fields: Ints, state: Ints, first_field: int, number: int, paired: bool
) -> bool:
    """Put the items of the current row, of that many fields, into the next list; say whether all of them are items."""
    here = state[N_LISTS]
    positions = min(number - first_field, items.shape[1])
    for position in range(positions):
        field = first_field + position
        empty = fields[START, field] == fields[END, field]
        items[here, position] = NO_ITEM if empty else item_number(data, fields, field, paired)
        if items[here, position] == NO_ITEM and not empty:
            return False
    gap = gaps = False
    for position in range(items.shape[1]):
        clicked[here, position] = 0
        if position >= positions:
            items[here, position] = NO_ITEM
        elif items[here, position] == NO_ITEM:
            state[EMPTY] += 1
            gap = True
        else:
            gaps = gaps or gap
    state[GAPS] += gaps
    for position in range(1, positions):
        item = items[here, position]
        for earlier in range(position):
            if items[here, earlier] == item and item != NO_ITEM:
                state[DUPLICATE] += 1
                items[here, position] = NO_ITEM
                break
    return True


@noalloc
def finish_list(
    heads: Ints, items: Ints, state: Ints, query: int, region: int, page: int, places: int, merge: bool
) -> None:
    """Add the list whose items were placed to the current session; `places` is how many the row has."""
    here = state[N_LISTS]
    positions = items.shape[1]
    if places > positions:
        state[LONG] += 1
    elif places < positions:
        state[SHORT] += 1
    if here > state[FIRST_OPEN] and heads[here - 1, QUERY] == query and heads[here - 1, REGION] == region:
        same = True
        for position in range(positions):
            if items[here, position] != items[here - 1, position]:
                same = False
                break
        if same:
            state[SHOWN_AGAIN] += 1
            if merge:
                return
    heads[here, SESSION] = state[CURRENT_SESSION]
    heads[here, QUERY] = query
    heads[here, REGION] = region
    heads[here, PAGE] = page
    state[WITHOUT_OUTCOMES if query == NO_OUTCOMES else LISTS] += 1
    state[N_LISTS] = here + 1


@noalloc
def click(heads: Ints, items: Ints, clicked: Bytes, state: Ints, item: int, page: int, last_list_only: bool) -> None:
    """Attach a click of the current session to the latest list (of that page, if it is not -1) with the item."""
    state[CLICKS] += 1
    latest = state[N_LISTS] - 1
    first = state[FIRST_OPEN]
    if latest < first:
        state[BEFORE_ANY] += 1
        return
    if last_list_only:
        first = latest
    for here in range(latest, first - 1, -1):
        if page >= 0 and heads[here, PAGE] != page:
            continue
        for position in range(items.shape[1]):
            if items[here, position] == item:
                if clicked[here, position]:
                    state[REPEATED] += 1
                elif here < latest:
                    state[ON_EARLIER] += 1
                clicked[here, position] = 1
                return
    state[OFF_LIST] += 1


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


@inlined
def _click_row(reading: Reading, layout: Layout, number: int) -> int:
    """Take a row of a click; return the reason why that is not possible, or 0."""
    heads, items, clicked, state, _, fields = reading
    if number != layout.click_fields:
        return WRONG_FIELDS
    if fields[VALUE, layout.clicked_item] < 0:
        return NOT_A_NUMBER
    enter_session(state, fields[VALUE, _SESSION])
    page = fields[VALUE, layout.page] if layout.page >= 0 else _NONE
    click(heads, items, clicked, state, fields[VALUE, layout.clicked_item], page, layout.last_list_only)
    return 0


@inlined
def _list_row(data: Bytes, reading: Reading, layout: Layout, number: int, with_outcomes: bool) -> int:
    """Take a row of a result list; return the reason why that is not possible, or 0."""
    heads, items, clicked, state, _, fields = reading
    first = layout.first_item
    if number < layout.list_fields:
        return WRONG_FIELDS
    if fields[VALUE, layout.query] < 0 or (layout.region >= 0 and fields[VALUE, layout.region] < 0):
        return NOT_A_NUMBER
    if layout.later_challenge:  # a constant gives each kind of item a compiled loop of its own
        placed = place_items(data, items, clicked, fields, state, first, number, True)
    else:
        placed = place_items(data, items, clicked, fields, state, first, number, False)
    if not placed:
        return NOT_A_NUMBER
    enter_session(state, fields[VALUE, _SESSION])
    query = fields[VALUE, layout.query] if with_outcomes else NO_OUTCOMES
    region = fields[VALUE, layout.region] if layout.region >= 0 and not layout.merge_regions else 0
    page = fields[VALUE, layout.page] if layout.page >= 0 else _NONE
    finish_list(heads, items, state, query, region, page, number - first, layout.merge_repeats)
    return 0


@inlined
def _take_row(data: Bytes, reading: Reading, layout: Layout, number: int) -> int:
    """Take a row of so many fields; return the reason why that is not possible, or 0."""
    state, fields = reading.state, reading.fields
    if number < _FEWEST_FIELDS:
        return WRONG_FIELDS
    kind = letter(data, fields, _KIND)
    if layout.later_challenge and letter(data, fields, _TIME) == _SESSION_BEGINS:
        if number != _FEWEST_FIELDS:
            return WRONG_FIELDS
        if fields[VALUE, _SESSION] < 0:
            return NOT_A_NUMBER
        enter_session(state, fields[VALUE, _SESSION])
        return 0
    if min(fields[VALUE, _SESSION], fields[VALUE, _TIME]) < 0 or (layout.page >= 0 and fields[VALUE, layout.page] < 0):
        return NOT_A_NUMBER
    if kind == _CLICK:
        return _click_row(reading, layout, number)
    if kind == _LIST or (kind == _TEST_LIST and layout.later_challenge):
        return _list_row(data, reading, layout, number, kind == _LIST)
    return UNKNOWN_KIND


def parse_rows(data: Bytes, begin: int, reading: Reading, layout: Layout) -> int:
    """Read rows from `begin` on until the data ends or the reading is full; return where it stopped."""
    while begin < len(data) and not is_full(reading.state):
        number, begin = split_row(data, begin, reading.fields, reading.state)
        if number > 0:
            reason = _take_row(data, reading, layout, number)
            if reason:
                set_aside(reading.bad, reading.fields, reading.state, reason, number)
    return begin
