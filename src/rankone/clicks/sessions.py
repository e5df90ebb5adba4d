"""Result lists and clicks of session logs: the compiled parts that the Yandex formats share.

Rows of a session stand together in the log, so the lists of the current session stay open for its clicks and are
finished when the next session begins. A click belongs to the latest list of its session that shows the item.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.numerics.compiled import kernel

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

OPEN_LISTS = 1 << 14
_BAD_ROWS = 1 << 10
_MOST_FIELDS = 512
NO_ITEM = -1
NO_OUTCOMES = -1  # as the query of a list that was logged without clicks

TALLY_NAMES = (
    "rows", "blank lines", "lists", "clicks", "clicks repeated", "clicks off the list", "clicks before any list",
    "clicks on an earlier list", "lists shown again", "short lists", "long lists", "empty items", "duplicate items",
    "lists without outcomes",
)  # fmt: skip
(
    ROWS, BLANK, LISTS, CLICKS, REPEATED, OFF_LIST, BEFORE_ANY, ON_EARLIER, SHOWN_AGAIN, SHORT, LONG, EMPTY, DUPLICATE,
    WITHOUT_OUTCOMES,
) = range(len(TALLY_NAMES))  # fmt: skip

REASONS = ("", "wrong number of fields", "unknown kind of row", "a field is not a whole number")
WRONG_FIELDS, UNKNOWN_KIND, NOT_A_NUMBER = 1, 2, 3

# Places of the cursor.
N_LISTS, FIRST_OPEN, SESSION, STARTED, LINE, N_BAD = range(6)


class Reading(NamedTuple):
    """The state of the reading of one file; a list is one index of the first six arrays."""

    session: Ints
    query: Ints
    region: Ints
    page: Ints
    items: Ints  # (lists, positions); NO_ITEM where a position shows nothing
    clicked: Bytes  # (lists, positions)
    cursor: Ints
    tally: Ints
    bad: Ints  # (rows, 4): line, reason, start and end of its text in the block
    starts: Ints  # where the fields of the current row start and end
    ends: Ints


def start_reading(positions: int) -> Reading:
    """Return the state before the first row of a file."""
    columns = (np.empty(OPEN_LISTS, np.int64) for _ in range(4))
    return Reading(
        *columns,
        items=np.empty((OPEN_LISTS, positions), np.int64),
        clicked=np.zeros((OPEN_LISTS, positions), np.uint8),
        cursor=np.zeros(6, np.int64),
        tally=np.zeros(len(TALLY_NAMES), np.int64),
        bad=np.empty((_BAD_ROWS, 4), np.int64),
        starts=np.empty(_MOST_FIELDS, np.int64),
        ends=np.empty(_MOST_FIELDS, np.int64),
    )


@kernel
def is_full(reading: Reading) -> bool:
    """Say whether finished lists or bad rows must be taken out before the next row."""
    return reading.cursor[N_LISTS] == len(reading.session) or reading.cursor[N_BAD] == len(reading.bad)


@kernel
def split_row(data: Bytes, begin: int, reading: Reading) -> tuple[int, int]:
    """Find the fields of the row at `begin`; return their number and the place after the row's line end."""
    fields = 0
    place = start = begin
    most = len(reading.starts)
    while True:
        byte = data[place]
        if byte == 9 or byte == 10:  # a tab, a line end
            if fields < most:
                reading.starts[fields] = start
                reading.ends[fields] = place
            fields += 1
            start = place + 1
            if byte == 10:
                break
        place += 1
    last = min(fields, most) - 1
    if reading.ends[last] > reading.starts[last] and data[reading.ends[last] - 1] == 13:  # CRLF
        reading.ends[last] -= 1
    reading.cursor[LINE] += 1
    if fields == 1 and reading.ends[0] == reading.starts[0]:
        reading.tally[BLANK] += 1
        return 0, place + 1
    reading.tally[ROWS] += 1
    return fields, place + 1


@kernel
def whole_number(data: Bytes, start: int, end: int) -> int:
    """Value of a field of digits, or -1."""
    if start >= end or end - start > 18:
        return -1
    value = 0
    for place in range(start, end):
        digit = np.int64(data[place]) - 48
        if digit < 0 or digit > 9:
            return -1
        value = value * 10 + digit
    return value


@kernel
def field_number(data: Bytes, reading: Reading, field: int) -> int:
    """Value of one field of the current row, or -1."""
    return whole_number(data, reading.starts[field], reading.ends[field])


@kernel
def field_is(data: Bytes, reading: Reading, field: int, byte: int) -> bool:
    """Say whether a field is that one byte."""
    return reading.ends[field] - reading.starts[field] == 1 and data[reading.starts[field]] == byte


@kernel
def set_aside(reading: Reading, reason: int, fields: int) -> None:
    """Note the current row as one that cannot be read."""
    number = reading.cursor[N_BAD]
    reading.bad[number, 0] = reading.cursor[LINE]
    reading.bad[number, 1] = reason
    reading.bad[number, 2] = reading.starts[0]
    reading.bad[number, 3] = reading.ends[min(fields, len(reading.ends)) - 1]
    reading.cursor[N_BAD] = number + 1


@kernel
def enter_session(reading: Reading, session: int) -> None:
    """Make `session` the current one; the lists of the session before are finished."""
    if reading.cursor[STARTED] == 0 or reading.cursor[SESSION] != session:
        reading.cursor[SESSION] = session
        reading.cursor[STARTED] = 1
        reading.cursor[FIRST_OPEN] = reading.cursor[N_LISTS]


@kernel
def item_number(data: Bytes, reading: Reading, field: int, paired: bool) -> int:
    """Return the item of a field: its number, or in a paired log the number before the comma of "url,domain"; or -1."""
    start, end = reading.starts[field], reading.ends[field]
    if not paired:
        return whole_number(data, start, end)
    for place in range(start, end):
        if data[place] == 44:  # a comma
            return whole_number(data, start, place) if whole_number(data, place + 1, end) >= 0 else -1
    return -1


@kernel
def place_items(data: Bytes, reading: Reading, first_field: int, fields: int, paired: bool) -> bool:
    """Put the items of the current row into the next list; say whether all of them are items."""
    number = reading.cursor[N_LISTS]
    row = reading.items[number]
    positions = min(fields - first_field, len(row))
    for position in range(positions):
        field = first_field + position
        empty = reading.ends[field] == reading.starts[field]
        row[position] = NO_ITEM if empty else item_number(data, reading, field, paired)
        if row[position] == NO_ITEM and not empty:
            return False
    for position in range(positions):
        reading.clicked[number, position] = 0
        if row[position] == NO_ITEM:
            reading.tally[EMPTY] += 1
            continue
        for earlier in range(position):
            if row[earlier] == row[position]:
                reading.tally[DUPLICATE] += 1
                row[position] = NO_ITEM
                break
    return True


@kernel
def finish_list(
    reading: Reading, session: int, query: int, region: int, page: int, places: int, merge: bool
) -> None:
    """Add the list whose items were placed; `places` is how many the row has."""
    number = reading.cursor[N_LISTS]
    positions = reading.items.shape[1]
    for position in range(min(places, positions), positions):
        reading.items[number, position] = NO_ITEM
        reading.clicked[number, position] = 0
    if places > positions:
        reading.tally[LONG] += 1
    elif places < positions:
        reading.tally[SHORT] += 1
    if number > reading.cursor[FIRST_OPEN] and reading.query[number - 1] == query and reading.region[number - 1] == region:
        same = True
        for position in range(positions):
            if reading.items[number, position] != reading.items[number - 1, position]:
                same = False
                break
        if same:
            reading.tally[SHOWN_AGAIN] += 1
            if merge:
                return
    reading.session[number] = session
    reading.query[number] = query
    reading.region[number] = region
    reading.page[number] = page
    reading.tally[WITHOUT_OUTCOMES if query == NO_OUTCOMES else LISTS] += 1
    reading.cursor[N_LISTS] = number + 1


@kernel
def click(reading: Reading, item: int, page: int, last_list_only: bool) -> None:
    """Attach a click of the current session to the latest list (of that page, unless page is -1) that shows the item."""
    reading.tally[CLICKS] += 1
    latest = reading.cursor[N_LISTS] - 1
    first = reading.cursor[FIRST_OPEN]
    if latest < first:
        reading.tally[BEFORE_ANY] += 1
        return
    if last_list_only:
        first = latest
    for number in range(latest, first - 1, -1):
        if page >= 0 and reading.page[number] != page:
            continue
        for position in range(reading.items.shape[1]):
            if reading.items[number, position] == item:
                if reading.clicked[number, position]:
                    reading.tally[REPEATED] += 1
                elif number < latest:
                    reading.tally[ON_EARLIER] += 1
                reading.clicked[number, position] = 1
                return
    reading.tally[OFF_LIST] += 1
