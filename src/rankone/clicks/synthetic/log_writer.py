"""The compiled part of the log generator: draws sessions and writes their rows as bytes."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import noalloc
from rankone.numerics.arrays import Floats, Ints

Bytes = npt.NDArray[np.uint8]
# What can be injected into a log, in the order of the rates and of the tallies; see `generate.EDGES`.
N_EDGES = 9
REPEATED, OFF_LIST, LATE, AGAIN, SHORT, LONG, DUPLICATE, BEFORE_ANY, BAD_ROW = range(N_EDGES)
N_LISTS, N_CLICKS, N_ROWS = N_EDGES, N_EDGES + 1, N_EDGES + 2
MOST_BYTES_A_SESSION = 4096
_NONE = -1
_UNKNOWN_ITEM = 900_000_000  # plus the session: an item that no list shows
_SIZE, _SESSION, _QUERY, _TIME, _HELD_BACK = range(5)  # what `Pen.now` holds
_TAB, _LINE_END, _UNREADABLE = 9, 10, 63
_CLICK, _LIST = 67, 81  # C, Q


class World(NamedTuple):
    """What is true: documents of query q are ``starts[q]`` to ``starts[q + 1]``."""

    starts: Ints
    items: Ints
    attraction: Floats
    examination: Floats  # (queries, positions)
    races: Floats  # (epochs, documents): a document's place in the ranking to the power b
    popularity: Floats  # cumulative, one per query
    random_share: float


class Pen(NamedTuple):
    """What is written, what is counted, and where the writing is."""

    buffer: Bytes
    tally: Ints  # edge cases, lists, clicks and rows
    rates: Floats  # of the edge cases
    now: Ints  # bytes written; session, query, time; document whose click comes later, or -1
    chosen: Ints  # documents of the current list
    second: Ints  # and of the next one, where there is one
    best: Floats  # room: the times of a race


def pen(sessions: int, positions: int, rates: Floats) -> Pen:
    """Return a pen for that many sessions at once, with lists of that many positions."""
    return Pen(
        buffer=np.empty(sessions * MOST_BYTES_A_SESSION, np.uint8),
        tally=np.zeros(N_EDGES + 3, np.int64),
        rates=rates,
        now=np.zeros(5, np.int64),
        chosen=np.empty(positions, np.int64),
        second=np.empty(positions, np.int64),
        best=np.empty(positions),
    )


@noalloc
def _put(pen: Pen, value: int, after: int) -> None:
    digits = 1
    rest = value // 10
    while rest > 0:
        digits += 1
        rest //= 10
    last = pen.now[_SIZE] + digits
    for digit in range(1, digits + 1):
        pen.buffer[last - digit] = 48 + value % 10
        value //= 10
    pen.buffer[last] = after
    pen.now[_SIZE] = last + 1


@noalloc
def _put_letter(pen: Pen, letter: int, after: int) -> None:
    size = pen.now[_SIZE]
    pen.buffer[size] = letter
    pen.buffer[size + 1] = after
    pen.now[_SIZE] = size + 2


@noalloc
def _count(pen: Pen, edge: int) -> None:
    """Count a row that was written, and the edge case that it shows (-1: none)."""
    pen.tally[N_ROWS] += 1
    if edge != _NONE:
        pen.tally[edge] += 1


@noalloc
def _draw_list(world: World, query: int, epoch: int, chosen: Ints, best: Floats, rng: np.random.Generator) -> None:
    """Draw a Plackett-Luce list as a race: the documents with the smallest exponential times, weight rank^-b."""
    best[:] = np.inf
    size = len(chosen)
    for document in range(world.starts[query], world.starts[query + 1]):
        time = rng.standard_exponential() * world.races[epoch, document]
        if time < best[size - 1]:
            rank = size - 1
            while rank > 0 and best[rank - 1] > time:
                best[rank] = best[rank - 1]
                chosen[rank] = chosen[rank - 1]
                rank -= 1
            best[rank] = time
            chosen[rank] = document
    if rng.random() < world.random_share:
        stranger = world.starts[query] + int(rng.random() * (world.starts[query + 1] - world.starts[query]))
        position = int(rng.random() * size)
        if not _contains(chosen, stranger):
            chosen[position] = stranger


@noalloc
def _contains(chosen: Ints, document: int) -> bool:
    for position in range(len(chosen)):  # noqa: SIM110 (compiled code has no generators)
        if chosen[position] == document:
            return True
    return False


@noalloc
def _put_list(pen: Pen, world: World, chosen: Ints, shape: int) -> None:
    query = pen.now[_QUERY]
    _put(pen, pen.now[_SESSION], _TAB)
    _put(pen, pen.now[_TIME], _TAB)
    _put_letter(pen, _LIST, _TAB)
    _put(pen, query + 1, _TAB)
    _put(pen, 0, _TAB)  # the region
    length = len(chosen) + (1 if shape == LONG else -3 if shape == SHORT else 0)
    for position in range(length):
        source = 0 if position == len(chosen) or (shape == DUPLICATE and position == len(chosen) - 1) else position
        item = world.items[chosen[source]] + (_UNKNOWN_ITEM if position == len(chosen) else 0)
        _put(pen, item, _TAB)
    pen.buffer[pen.now[_SIZE] - 1] = _LINE_END
    pen.tally[N_LISTS] += 1


@noalloc
def _put_click(pen: Pen, time: int, item: int, edge: int) -> None:
    _put(pen, pen.now[_SESSION], _TAB)
    _put(pen, time, _TAB)
    _put_letter(pen, _CLICK, _TAB)
    _put(pen, item, _LINE_END)
    pen.tally[N_CLICKS] += 1
    _count(pen, edge)


@noalloc
def _put_start(pen: Pen, rng: np.random.Generator) -> None:
    session = pen.now[_SESSION]
    if rng.random() < pen.rates[BAD_ROW]:
        _put_letter(pen, _UNREADABLE, _LINE_END)
        _count(pen, BAD_ROW)
    if rng.random() < pen.rates[BEFORE_ANY]:
        _put_click(pen, 0, _UNKNOWN_ITEM + session, BEFORE_ANY)


@noalloc
def _draw_shape(pen: Pen, rng: np.random.Generator) -> int:
    shape = _NONE
    for edge in (SHORT, LONG, DUPLICATE):
        if shape == _NONE and rng.random() < pen.rates[edge]:
            shape = edge
            pen.tally[edge] += 1
    return shape


@noalloc
def _put_clicks(
    pen: Pen, world: World, chosen: Ints, second: Ints, shape: int, late: bool, rng: np.random.Generator
) -> None:
    """Write the clicks on a list; where one may come `late`, after the second list, that is held back."""
    now = pen.now
    for position in range(len(chosen) - (3 if shape == SHORT else 1 if shape == DUPLICATE else 0)):
        document = chosen[position]
        if rng.random() >= world.attraction[document] * world.examination[now[_QUERY], position]:
            continue
        if late and now[_HELD_BACK] == _NONE and not _contains(second, document):
            now[_HELD_BACK] = document
            continue
        now[_TIME] += 7
        _put_click(pen, now[_TIME], world.items[document], _NONE)
        if rng.random() < pen.rates[REPEATED]:
            _put_click(pen, now[_TIME] + 3, world.items[document], REPEATED)
    if rng.random() < pen.rates[OFF_LIST]:
        _put_click(pen, now[_TIME], _UNKNOWN_ITEM + now[_SESSION], OFF_LIST)


def write_sessions(pen: Pen, first: int, last: int, total: int, world: World, rng: np.random.Generator) -> int:
    """Write the sessions from `first` to `last` of `total`; return how many bytes they take.

    A session has one list, or two where an edge case needs the second (a list shown again, a late click).
    """
    now, chosen, second = pen.now, pen.chosen, pen.second
    now[_SIZE] = 0
    for session in range(first, last):
        epoch = session * len(world.races) // total
        query = int(np.searchsorted(world.popularity, rng.random(), side="right"))
        now[_SESSION], now[_QUERY], now[_TIME], now[_HELD_BACK] = session, query, 0, _NONE
        _put_start(pen, rng)
        _draw_list(world, query, epoch, chosen, pen.best, rng)
        shape = _draw_shape(pen, rng)
        again = rng.random() < pen.rates[AGAIN] and shape == _NONE
        late = rng.random() < pen.rates[LATE] and not again
        if late:
            _draw_list(world, query, epoch, second, pen.best, rng)
        for page in range(2 if again or late else 1):
            if page == 1 and late:
                chosen, second, shape = second, chosen, _NONE
            _put_list(pen, world, chosen, shape)
            _count(pen, AGAIN if page == 1 and again else _NONE)
            _put_clicks(pen, world, chosen, second, shape, page == 0 and late, rng)
            now[_TIME] += 60
        if now[_HELD_BACK] != _NONE:
            _put_click(pen, now[_TIME], world.items[now[_HELD_BACK]], LATE)
    return int(now[_SIZE])
