"""Sessions of a generated log: what was shown and clicked, and the rows that say so."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rankone.numerics.arrays import Floats, Ints, Mask

POSITIONS = 10
_RANDOM_SHARE = 0.05  # of lists with one item that may be any
_CUT = 3  # items that a short list lacks
_UNKNOWN_ITEM = 900_000_000  # plus the session: an item that no list shows
_LONGEST = 2 * POSITIONS + 2  # rows of a list: itself, clicks that may be repeated, and one off the list
_ROW = {"edge": pl.String, "kind": pl.String, "time": pl.Int64}


class World(NamedTuple):
    """What is true: documents of query q are ``starts[q]`` to ``starts[q + 1]``."""

    starts: Ints
    items: Ints
    attraction: Floats
    examination: Floats  # (queries, positions)
    races: Floats  # (epochs, documents): a document's place in the ranking to the power b
    popularity: Floats  # cumulative, one per query


def written_sessions(
    world: World, sessions: Ints, total: int, rates: Mapping[str, float], rng: np.random.Generator
) -> tuple[bytes, Counter[str]]:
    """Draw some of the sessions of a log of `total`; return their rows, and how many of everything they have.

    A session has one list, or two where an edge case needs the second (a list shown again, a late click).
    """
    size, rows, shape = len(sessions), list[pl.DataFrame](), np.full(len(sessions), "", "U20")

    def happens(edge: str, *more: int) -> Mask:
        return rng.random((size, *more)) < rates[edge]

    def write(edge: Any, chosen: Mask, time: Any, kind: str | None, body: Any) -> None:
        at = np.nonzero(chosen)
        edge, time, body = (np.broadcast_to(each, chosen.shape)[at] for each in (edge, time, body))
        columns = {"edge": edge, "session": sessions[at[0]], "time": time, "kind": [kind] * len(time)}
        rows.append(pl.DataFrame(columns | {"body": pl.Series(body).cast(pl.String)}, schema_overrides=_ROW))

    query, epoch = np.searchsorted(world.popularity, rng.random(size), "right"), sessions * len(world.races) // total
    for edge in ("short lists", "long lists", "duplicate items", "lists shown again"):
        shape[happens(edge) & (shape == "")] = edge
    late = happens("clicks on an earlier list") & (shape != "lists shown again")
    first = _draw_lists(world, query, epoch, rng)
    second, has_second = first.copy(), late | (shape == "lists shown again")
    second[late] = _draw_lists(world, query[late], epoch[late], rng)
    write("rows set aside", happens("rows set aside"), 0, None, "?")
    write("clicks before any list", happens("clicks before any list"), 1, "C", _UNKNOWN_ITEM + sessions)
    for page, documents in enumerate((first, second)):
        begin, shown = 2 + _LONGEST * page, np.ones(size, np.bool_) if page == 0 else has_second
        own = np.where((shape == "lists shown again") == (page == 1), shape, "")
        write(own, shown, begin, "Q", _lists_as_text(query, world.items[documents], own))
        clicked = rng.random(documents.shape) < world.attraction[documents] * world.examination[query]
        clicked &= shown[:, None] & (np.arange(POSITIONS) < _readable(own)[:, None])
        if page == 0:
            elsewhere = clicked & late[:, None] & ~(first[:, :, None] == second[:, None, :]).any(axis=2)
            held_back = elsewhere & (elsewhere.cumsum(axis=1) == 1)  # comes after the second list
            clicked &= ~held_back
        times = begin + 1 + 2 * np.arange(POSITIONS)
        again = clicked & happens("clicks repeated", POSITIONS)
        write("", clicked, times, "C", world.items[documents])
        write("clicks repeated", again, times + 1, "C", world.items[documents])
        off = shown & happens("clicks off the list")
        write("clicks off the list", off, begin + _LONGEST - 1, "C", _UNKNOWN_ITEM + sessions)
    write("clicks on an earlier list", held_back, 2 + 2 * _LONGEST, "C", world.items[first])
    table = pl.concat(rows).sort("session", "time", maintain_order=True)
    whole = pl.concat_str("session", "time", "kind", "body", separator="\t")
    text = pl.when(pl.col("kind").is_null()).then("body").otherwise(whole)
    tally = Counter(table["edge"].to_list())
    kinds = Counter(table["kind"].to_list())
    tally |= {"rows": table.height, "lists": kinds["Q"], "clicks": kinds["C"]}
    return table.select(text.str.join("\n")).item().encode() + b"\n", tally


def _readable(shape: Any) -> Ints:
    """Return how many places of lists can be clicked."""
    return POSITIONS - np.where(shape == "short lists", _CUT, np.where(shape == "duplicate items", 1, 0))


def _lists_as_text(query: Ints, items: Ints, shape: Any) -> Any:
    """Return what a row says of each list: query, region and items."""
    items = np.column_stack([items, np.where(shape == "long lists", _UNKNOWN_ITEM + items[:, 0], 0)])
    items[shape == "duplicate items", POSITIONS - 1] = items[shape == "duplicate items", 0]
    items[shape == "short lists", POSITIONS - _CUT :] = 0
    table = pl.DataFrame({"query": query + 1, "region": 0} | {f"{place}": each for place, each in enumerate(items.T)})
    shown = pl.when(pl.exclude("query", "region") > 0).then(pl.exclude("query", "region"))
    fields = pl.concat_str("query", "region", shown, separator="\t", ignore_nulls=True)
    return table.select(fields).to_series().to_numpy()


def _draw_lists(world: World, query: Ints, epoch: Ints, rng: np.random.Generator) -> Ints:
    """Draw Plackett-Luce lists as races: the documents with the smallest exponential times, weight rank^-b.

    Now and then one item is replaced by any other.
    """
    lists = np.empty((len(query), POSITIONS), np.int64)
    race = query * len(world.races) + epoch
    order = np.argsort(race, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(race[order])) + 1):
        if len(own):
            start, end = world.starts[query[own[0]] : query[own[0]] + 2]
            times = rng.standard_exponential((len(own), end - start)) * world.races[epoch[own[0]], start:end]
            best = np.argpartition(times, POSITIONS, axis=1)[:, :POSITIONS]
            ranked = np.take_along_axis(times, best, axis=1).argsort(axis=1)
            lists[own] = start + np.take_along_axis(best, ranked, axis=1)
    stranger = rng.integers(world.starts[query], world.starts[query + 1])
    place = rng.integers(POSITIONS, size=len(query))
    new = (rng.random(len(query)) < _RANDOM_SHARE) & ~(lists == stranger[:, None]).any(axis=1)
    lists[new, place[new]] = stranger[new]
    return lists
