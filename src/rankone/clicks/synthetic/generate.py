"""Yandex-like click logs with known truth.

Truth: each query has mu and p_max (paper, eqs. 3-4) exactly: examination p_max * k^-eta with eta such that its mean
is mu; the best item at 0.90-0.99 of p_max, the next 0.05 below, the others on a power-law curve with mean 1.25 mu +
0.02. Queries 1 and 2 have the paper's L, mu and p_max. Logging: a ranker that knows attraction with an error (sigma),
redraws some of it in each index epoch, shows Plackett-Luce lists with weight rank^-b and now and then one random
item. Clicks follow the position-based model. Edge cases can be injected; how many is counted exactly.
"""

import dataclasses
import functools
import gzip
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
import polars as pl

from rankone.numerics.arrays import Floats, Ints, Mask, starts_of
from rankone.numerics.seeds import generator
from rankone.problems import RankOne
from rankone.progress import Progress, as_progress
from rankone.specs import number_in, whole_number
from rankone.writing import whole_file

#: What can be injected, as the reader tallies it, and the usual rates (a session, list or click each). Repeats and
#: off-list clicks are about as frequent as in Yandex's logs; the other rates are made up for tests.
EDGES = {
    "clicks repeated": 0.10,
    "clicks off the list": 0.006,
    "clicks on an earlier list": 0.03,
    "lists shown again": 0.05,
    "short lists": 0.01,
    "long lists": 0.005,
    "duplicate items": 0.005,
    "clicks before any list": 0.002,
    "rows set aside": 0.001,
}
#: (mu, p_max): the paper's Queries 1 and 2, then rounded fits of real queries.
HARDNESS = (
    (0.13, 0.85), (0.28, 0.66), (0.29, 0.74), (0.39, 0.79), (0.37, 0.89), (0.22, 0.93), (0.41, 0.90), (0.42, 0.71),
    (0.40, 0.88), (0.43, 0.89), (0.40, 0.75), (0.32, 0.69), (0.32, 0.82), (0.25, 0.67), (0.14, 0.60), (0.24, 0.90),
    (0.28, 0.75), (0.23, 0.89), (0.36, 0.73), (0.24, 0.71),
)  # fmt: skip
PAPER_ITEMS = (871, 807)
_SESSIONS_AT_ONCE = 2048
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class GeneratedLog:
    """A log, what is true in it, and what it holds; `injected` counts its edge cases."""

    path: Path
    world: World
    rows: int
    lists: int
    clicks: int
    injected: dict[str, int]

    @functools.cached_property
    def problems(self) -> list[RankOne]:
        """The truth, one problem per query, named as the reader of the format names the queries."""
        return [_problem(self.world, number, f"{number + 1}_0") for number in range(len(self.world.popularity))]


def generate_log(
    path: str | os.PathLike[str],
    lists: int = 400_000,
    *,
    queries: int = 20,
    items: int | None = None,
    edges: bool = False,
    sigma: float = 0.1,
    steepness: float = 2.5,
    epochs: int = 5,
    seed: int = 0,
    progress: Progress | bool | None = None,
) -> GeneratedLog:
    """Write a log of that many sessions (a few have a second list); a path that ends in .gz or .zst is compressed.

    Args:
        path: the file to write.
        lists: sessions to write.
        queries: number of queries; their frequencies follow Zipf's law.
        items: items a query; by default as in the paper: 871, 807, and 800 to 900 for the others.
        edges: inject edge cases, at the rates of `EDGES`.
        sigma: error of the ranker.
        steepness: b, how strongly the ranker's order decides the lists.
        epochs: index epochs; a tenth of the ranker's errors is drawn anew in each.
        seed: seed of the random numbers.
        progress: True for a bar, or a function, called with sessions done and in all.

    >>> import tempfile
    >>> log = generate_log(tempfile.mkdtemp() + "/log.tsv", lists=100, queries=2, items=30)
    >>> log.lists, [problem.n_rows for problem in log.problems], log.problems[0].p_max
    (100, [30, 30], 0.85)
    """
    for what, number, usual in (("lists", lists, 100_000), ("queries", queries, 20), ("epochs", epochs, 5)):
        whole_number(what, number, example=usual)
    if items is not None:
        whole_number("items", items, least=POSITIONS + 2, example=200)
    number_in("sigma", sigma, "[0, inf)", example=0.1)
    number_in("steepness", steepness, "[0, inf)", example=2.5)
    rng = generator(seed, "click log")
    truths = [_truth(place, items, rng) for place in range(queries)]
    world = _world(truths, sigma, steepness, epochs, rng)
    target, report = Path(path), as_progress(progress, "lists")
    rates, tally = EDGES if edges else dict.fromkeys(EDGES, 0.0), Counter[str]()
    with whole_file(target) as part, _compressed(part, target.suffix) as file:
        for first in range(0, lists, _SESSIONS_AT_ONCE):
            last = min(first + _SESSIONS_AT_ONCE, lists)
            text, counted = _written_sessions(world, np.arange(first, last), lists, rates, rng)
            file.write(text)
            tally.update(counted)
            report(last, lists)
    numbers = {name: tally[name] for name in ("rows", "lists", "clicks")}
    return GeneratedLog(path=target, world=world, **numbers, injected={edge: tally[edge] for edge in EDGES})


def _truth(number: int, items: int | None, rng: np.random.Generator) -> tuple[Floats, Floats]:
    mu, p_max = HARDNESS[number % len(HARDNESS)]
    size = items or (PAPER_ITEMS[number] if number < len(PAPER_ITEMS) else int(rng.integers(800, 901)))
    attraction = rng.permutation(_attraction(mu, p_max, size, int(rng.integers(90, 100))))
    return attraction, _examination(mu, p_max)


@functools.cache
def _attraction(mu: float, p_max: float, size: int, percent: int) -> Floats:
    """Sorted attractions whose best is that many per cent of p_max."""
    best = percent / 100.0 * p_max
    quantiles = (np.arange(size - 2) + 0.5) / (size - 2)
    rest_mean = (size * (1.25 * mu + 0.02) - best - (best - 0.05)) / (size - 2)
    power = _root(lambda power: float(np.mean((best - 0.05) * quantiles**power)) - rest_mean)
    return np.concatenate([[best, best - 0.05], (best - 0.05) * quantiles**power])


@functools.cache
def _examination(mu: float, p_max: float) -> Floats:
    positions = np.arange(1, POSITIONS + 1)
    eta = _root(lambda eta: float(np.mean(p_max * positions**-eta)) - mu)
    return np.asarray(p_max * positions**-eta, np.float64)


def _root(falling: Callable[[float], float]) -> float:
    """Find where a falling function crosses 0, by bisection."""
    low, high = 0.0, 64.0
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (middle, high) if falling(middle) > 0.0 else (low, middle)
    return low


def _world(truths: Sequence[tuple[Floats, Floats]], sigma: float, steepness: float, epochs: int, rng: Any) -> World:
    starts = starts_of([len(attraction) for attraction, _ in truths])
    attraction = np.concatenate([attraction for attraction, _ in truths])
    races = np.empty((epochs, len(attraction)))
    error = rng.normal(0.0, sigma, len(attraction))
    for epoch in range(epochs):
        redrawn = rng.random(len(attraction)) < (0.1 if epoch else 0.0)
        error = np.where(redrawn, rng.normal(0.0, sigma, len(attraction)), error)
        for query in range(len(truths)):
            own = slice(starts[query], starts[query + 1])
            rank = np.empty(own.stop - own.start)
            rank[np.argsort(-(attraction[own] + error[own]))] = np.arange(1, len(rank) + 1)
            races[epoch, own] = rank**steepness
    popularity = np.cumsum(1.0 / np.arange(1, len(truths) + 1))
    return World(
        starts,
        items=rng.permutation(len(attraction)) + 1000,
        attraction=attraction,
        examination=np.array([examination for _, examination in truths]),
        races=races,
        popularity=popularity / popularity[-1],
    )


def _problem(world: World, query: int, name: str) -> RankOne:
    own = slice(world.starts[query], world.starts[query + 1])
    names = [f"position {position}" for position in range(1, POSITIONS + 1)]
    items = [str(item) for item in world.items[own]]
    return RankOne(world.attraction[own], world.examination[query], row_names=items, col_names=names, name=name)


def _compressed(path: Path, suffix: str) -> IO[bytes]:
    if suffix == ".gz":
        return cast(IO[bytes], gzip.open(path, "wb", compresslevel=6))
    if suffix == ".zst":
        from rankone.clicks.logs.zstandard import zstd

        return cast(IO[bytes], zstd.open(path, "wb"))
    return path.open("wb")


def _written_sessions(
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
        readable = POSITIONS - np.where(own == "short lists", _CUT, np.where(own == "duplicate items", 1, 0))
        clicked &= shown[:, None] & (np.arange(POSITIONS) < readable[:, None])
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
