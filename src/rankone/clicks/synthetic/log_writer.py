"""The compiled part of the log generator: draws sessions and writes their rows as bytes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rankone.clicks.logs.sessions import Bytes
from rankone.compiling.compiled import noalloc
from rankone.numerics.arrays import Floats, Ints

# What can be injected into a log, in the order of the rates and of the tallies; see `generate.EDGES`.
N_EDGES = 9
REPEATED, OFF_LIST, LATE, AGAIN, SHORT, LONG, DUPLICATE, BEFORE_ANY, BAD_ROW = range(N_EDGES)
N_LISTS, N_CLICKS, N_ROWS = N_EDGES, N_EDGES + 1, N_EDGES + 2
MOST_BYTES_A_SESSION = 4096
_UNKNOWN_ITEM = 900_000_000  # plus the session: an item that no list shows


class World(NamedTuple):
    """What is true: documents of query q are ``starts[q]`` to ``starts[q + 1]``."""

    starts: Ints
    items: Ints
    attraction: Floats
    examination: Floats  # (queries, positions)
    races: Floats  # (epochs, documents): a document's place in the ranking to the power b
    popularity: Floats  # cumulative, one per query
    random_share: float


@noalloc
def _put(buffer: Bytes, place: int, value: int, after: int) -> int:
    """Write a number and one byte after it; return the next place."""
    digits = 1
    rest = value // 10
    while rest > 0:
        digits += 1
        rest //= 10
    for digit in range(digits):
        buffer[place + digits - 1 - digit] = 48 + value % 10
        value //= 10
    buffer[place + digits] = after
    return place + digits + 1


@noalloc
def _put_kind(buffer: Bytes, place: int, session: int, time: int, letter: int) -> int:
    """Write the first three fields of a row: session, time, and the letter of its kind."""
    place = _put(buffer, _put(buffer, place, session, 9), time, 9)
    buffer[place] = letter
    buffer[place + 1] = 9
    return place + 2


@noalloc
def _draw_list(world: World, query: int, epoch: int, chosen: Ints, best: Floats, rng: np.random.Generator) -> None:
    """Draw a Plackett-Luce list as a race: the documents with the smallest exponential times, weight rank^-b."""
    best[:] = np.inf
    size = len(chosen)
    for document in range(world.starts[query], world.starts[query + 1]):
        time = rng.standard_exponential() * world.races[epoch, document]
        if time < best[size - 1]:
            place = size - 1
            while place > 0 and best[place - 1] > time:
                best[place] = best[place - 1]
                chosen[place] = chosen[place - 1]
                place -= 1
            best[place] = time
            chosen[place] = document
    if rng.random() < world.random_share:
        stranger = world.starts[query] + int(rng.random() * (world.starts[query + 1] - world.starts[query]))
        position = int(rng.random() * size)
        for other in range(size):
            if chosen[other] == stranger:
                return
        chosen[position] = stranger


@noalloc
def _put_list(
    buffer: Bytes, place: int, world: World, session: int, time: int, query: int, page: int, chosen: Ints, shape: int,
    paired: bool,
) -> int:  # fmt: skip
    """Write the row of a result list; `shape` is the edge case it shows, or -1."""
    place = _put_kind(buffer, place, session, time, 81)  # Q
    if paired:
        place = _put(buffer, place, page, 9)
        place = _put(buffer, place, query + 1, 9)
        place = _put(buffer, place, query + 1, 44)
        place = _put(buffer, place, query + 2, 9)
    else:
        place = _put(buffer, place, query + 1, 9)
        place = _put(buffer, place, 0, 9)
    length = len(chosen) + (1 if shape == LONG else -3 if shape == SHORT else 0)
    for position in range(length):
        source = 0 if position == len(chosen) or (shape == DUPLICATE and position == len(chosen) - 1) else position
        item = world.items[chosen[source]] + (_UNKNOWN_ITEM if position == len(chosen) else 0)
        if paired:
            place = _put(buffer, place, item, 44)
            place = _put(buffer, place, item % 1000, 9)
        else:
            place = _put(buffer, place, item, 9)
    buffer[place - 1] = 10
    return place


@noalloc
def _put_click(buffer: Bytes, place: int, session: int, time: int, page: int, item: int, paired: bool) -> int:
    place = _put_kind(buffer, place, session, time, 67)  # C
    if paired:
        place = _put(buffer, place, page, 9)
    return _put(buffer, place, item, 10)


@noalloc
def _contains(chosen: Ints, document: int) -> bool:
    for position in range(len(chosen)):  # noqa: SIM110 (compiled code has no generators)
        if chosen[position] == document:
            return True
    return False


class Room(NamedTuple):
    """Room to draw a session in."""

    chosen: Ints
    second: Ints
    best: Floats


def room(positions: int) -> Room:
    """Return the room that sessions of lists with that many positions need."""
    return Room(np.empty(positions, np.int64), np.empty(positions, np.int64), np.empty(positions))


@noalloc
def _count(tally: Ints, edge: int, clicks: int) -> None:
    """Count a row that was written, the edge case that it shows (-1: none), and the clicks in it."""
    tally[N_ROWS] += 1
    tally[N_CLICKS] += clicks
    if edge >= 0:
        tally[edge] += 1


@noalloc
def _put_start(
    buffer: Bytes, place: int, session: int, epoch: int, paired: bool, rates: Floats, tally: Ints, rng: Any
) -> int:
    """Write what comes before the first list of a session."""
    if paired:
        place = _put(buffer, place, session, 9)
        buffer[place] = 77  # M
        buffer[place + 1] = 9
        place = _put(buffer, place + 2, 1 + epoch, 9)
        place = _put(buffer, place, session, 10)
        _count(tally, -1, 0)
    if rng.random() < rates[BAD_ROW]:
        buffer[place] = 63  # a question mark is no row
        buffer[place + 1] = 10
        place += 2
        _count(tally, BAD_ROW, 0)
    if rng.random() < rates[BEFORE_ANY]:
        place = _put_click(buffer, place, session, 0, 0, _UNKNOWN_ITEM + session, paired)
        _count(tally, BEFORE_ANY, 1)
    return place


@noalloc
def _draw_shape(rates: Floats, tally: Ints, rng: Any) -> int:
    """Draw which edge case a list shows, -1 for none."""
    shape = -1
    for edge in (SHORT, LONG, DUPLICATE):
        if shape < 0 and rng.random() < rates[edge]:
            shape = edge
            tally[edge] += 1
    return shape


@noalloc
def _put_clicks(
    buffer: Bytes, place: int, world: World, session: int, time: int, query: int, page: int, chosen: Ints, second: Ints,
    shape: int, holds_back: bool, held_back: int, paired: bool, rates: Floats, tally: Ints, rng: np.random.Generator,
) -> tuple[int, int, int]:  # fmt: skip
    """Write the clicks on a list; return the next place, the time, and the document whose click comes later, or -1."""
    size = len(chosen)
    shown = size - 3 if shape == SHORT else size - 1 if shape == DUPLICATE else size
    for position in range(shown):
        document = chosen[position]
        if rng.random() >= world.attraction[document] * world.examination[query, position]:
            continue
        if holds_back and held_back < 0 and not _contains(second, document):
            held_back = document  # this click comes after the second list
            continue
        time += 7
        place = _put_click(buffer, place, session, time, page, world.items[document], paired)
        _count(tally, -1, 1)
        if rng.random() < rates[REPEATED]:
            place = _put_click(buffer, place, session, time + 3, page, world.items[document], paired)
            _count(tally, REPEATED, 1)
    if rng.random() < rates[OFF_LIST]:
        place = _put_click(buffer, place, session, time, page, _UNKNOWN_ITEM + session, paired)
        _count(tally, OFF_LIST, 1)
    return place, time, held_back


def write_sessions(
    buffer: Bytes, first: int, last: int, total: int, world: World, rates: Floats, paired: bool, tally: Ints,
    space: Room, rng: np.random.Generator,
) -> int:  # fmt: skip
    """Write the sessions from `first` to `last` of `total`; return how many bytes they take.

    A session has one list, or two where an edge case needs the second (a list shown again, a late click).
    """
    chosen, second, best = space
    place = 0
    for session in range(first, last):
        epoch = session * len(world.races) // total
        query = int(np.searchsorted(world.popularity, rng.random(), side="right"))
        place = _put_start(buffer, place, session, epoch, paired, rates, tally, rng)
        _draw_list(world, query, epoch, chosen, best, rng)
        shape = _draw_shape(rates, tally, rng)
        again = rng.random() < rates[AGAIN] and shape < 0
        late = rng.random() < rates[LATE] and not again
        time, held_back = 0, -1
        if late:
            _draw_list(world, query, epoch, second, best, rng)
        for page in range(2 if again or late else 1):
            if page == 1 and late:
                chosen, second = second, chosen
                shape = -1
            place = _put_list(buffer, place, world, session, time, query, page, chosen, shape, paired)
            tally[N_LISTS] += 1
            _count(tally, AGAIN if page == 1 and again else -1, 0)
            holds_back = page == 0 and late
            place, time, held_back = _put_clicks(
                buffer, place, world, session, time, query, page, chosen, second, shape, holds_back, held_back, paired,
                rates, tally, rng,
            )  # fmt: skip
            time += 60
        if held_back >= 0:
            place = _put_click(buffer, place, session, time, 0, world.items[held_back], paired)
            _count(tally, LATE, 1)
    return place
