"""Do the intervals of a click model hold the truth as often as they say? Ten kinds of logs, 400 of each.

And does "may be as good" leave out no item that is? Five kinds of logs with items that tie for the best, or nearly.

A log is one query whose truth is known; the 400 of a kind are fitted as 400 queries of one table. What counts is the
truth on the scale of the fit: the click rate at the position that is examined most (attraction), the examination
relative to it, and the click rates of the pairs that were shown.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from rankone import clicks
from rankone.numerics.seeds import generator

LOGS = 400
LEVEL = 0.95
PAIRS_OF = 40  # logs of a kind whose pair rates are asked for


def moved(items: int, positions: int, shown: int, steps: int = 3) -> np.ndarray:
    """Impressions of items that are shown at `steps` neighbouring positions, equally often."""
    n = np.zeros((items, positions))
    for item in range(items):
        for step in range(steps):
            n[item, (item + step) % positions] = shown
    return n


def ranked(items: int, positions: int, lists: int, seed: int) -> np.ndarray:
    """Impressions of lists that a noisy ranking made: good items are mostly at the top."""
    rng, n = generator(seed, "ranked"), np.zeros((items, positions))
    for _ in range(lists):
        order = np.argsort(np.arange(items) + rng.normal(0.0, 3.0, items))[:positions]
        n[order, np.arange(positions)] += 1
    return n


def kinds() -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield name, attraction, examination and impressions."""
    curve = 1.0 / np.arange(1, 7) ** 0.7
    even = np.linspace(0.05, 0.9, 24)
    yield "items at three positions each", even, curve, moved(24, 6, 150)
    yield "every position examined alike", even[:16] * 0.5, np.ones(6), moved(16, 6, 150)
    yield "100 lists, best item .97", np.linspace(0.97, 0.1, 8), curve[:4], ranked(8, 4, 100, 1)
    yield "500 lists, best item .97", np.linspace(0.97, 0.05, 12), curve, ranked(12, 6, 500, 2)
    yield "rates of 1 to 4%", np.linspace(0.01, 0.04, 16), curve, moved(16, 6, 2_000)
    yield "a steep curve", even, 1.0 / np.arange(1, 7) ** 2.0, moved(24, 6, 400)
    yield "the best position is the fourth", even, np.array([0.5, 0.6, 0.8, 1.0, 0.7, 0.4]), moved(24, 6, 150)
    apart = moved(24, 6, 500, 1) + moved(24, 6, 20, 2)
    yield "items that hardly move", even * 0.6, curve, apart
    yield "ten positions, 60 items", np.linspace(0.02, 0.6, 60), 1.0 / np.arange(1, 11), moved(60, 10, 100)


@functools.cache
def measured(logs: int = LOGS) -> list[tuple[str, float, float, float, float]]:
    """Return of each kind the coverage of attraction, examination and rates, and the processor seconds of intervals."""
    return [_measured(*kind, logs=logs) for kind in kinds()]


def _measured(
    name: str, a: np.ndarray, g: np.ndarray, n: np.ndarray, logs: int
) -> tuple[str, float, float, float, float]:
    model = clicks.PBM(min_impressions=0).fit(_drawn(name, a, g, n, logs))
    factor = g.max()
    begin = time.process_time()
    attraction, examination = model.intervals(LEVEL)
    seconds = time.process_time() - begin
    truth_a = {f"i{number:03}": value for number, value in enumerate(a * factor)}
    inside_a = _inside(attraction, lambda row: truth_a[row["item"]])
    best = int(g.argmax()) + 1
    asked = examination.filter(pl.col("position") != best)
    inside_g = _inside(asked, lambda row: g[row["position"] - 1] / factor)
    rates = [model.rates(query).select("item", "position", "low", "high") for query in model.cells_.queries[:PAIRS_OF]]
    inside_r = _inside(pl.concat(rates), lambda row: a[int(row["item"][1:])] * g[row["position"] - 1])
    return name, inside_a, inside_g, inside_r, seconds


def _drawn(name: str, a: np.ndarray, g: np.ndarray, n: np.ndarray, logs: int) -> clicks.Counts:
    """Logs of one kind, as the queries of one table."""
    rng = generator(7, name)
    item, place = np.nonzero(n)
    shown = n[item, place].astype(np.int64)
    drawn = rng.binomial(shown, (a[item] * g[place])[None, :].repeat(logs, axis=0))
    table = pl.DataFrame(
        {
            "query": np.repeat([f"log {log:04}" for log in range(logs)], len(item)),
            "item": np.tile([f"i{number:03}" for number in item], logs),
            "position": np.tile(place + 1, logs),
            "impressions": np.tile(shown, logs),
            "clicks": drawn.ravel(),
        }
    )
    return clicks.Counts(table)


def ties() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, attraction and impressions: several items are as good as the best, or nearly."""
    yield "10 equal items, .2", np.full(10, 0.2), moved(10, 6, 200)
    yield "30 equal items, .2", np.full(30, 0.2), moved(30, 6, 200)
    yield "10 equal items, .03", np.full(10, 0.03), moved(10, 6, 300)
    yield "10 of 20 items tie, the others half as good", np.repeat([0.3, 0.15], 10), moved(20, 6, 150)
    yield "20 items from .28 to .3", np.linspace(0.28, 0.3, 20), moved(20, 6, 500)


def too_small(name: str, a: np.ndarray, n: np.ndarray, logs: int = LOGS) -> float:
    """Return in which part of the logs fewer items than there are "may be as good" as the one that is named."""
    found = clicks.PBM(min_impressions=0).fit(_drawn(name, a, 1.0 / np.arange(1, 7) ** 0.7, n, logs)).best(LEVEL)
    named = a[found["supported_item"].str.slice(1).cast(pl.Int64).to_numpy()]
    as_good = (a[None, :] >= named[:, None]).sum(axis=1) - 1
    return float((found["not_told_apart"].to_numpy() < as_good).mean())


def _inside(table: pl.DataFrame, truth: Callable[[dict], float]) -> float:
    held = [row["low"] - 1e-9 <= truth(row) <= row["high"] + 1e-9 for row in table.iter_rows(named=True)]
    return float(np.mean(held))


def report() -> str:
    """Return all figures as Markdown."""
    lines = [f"Share of 95% intervals that hold the truth, {LOGS} logs of each kind ({PAIRS_OF} for pairs):", ""]
    lines += ["| logs | attraction | examination | rates of pairs |", "| --- | --- | --- | --- |"]
    lines += [f"| {name} | {a:.1%} | {g:.1%} | {r:.1%} |" for name, a, g, r, _ in measured()]
    lines += [
        "",
        f"How often fewer items than there are may be as good as the named one, {LOGS} logs of each kind. Bar: 5%.",
        "",
    ]
    lines += ["| logs | too few |", "| --- | --- |"]
    lines += [f"| {name} | {too_small(name, a, n):.1%} |" for name, a, n in ties()]
    items, n = 1_000, moved(1_000, 10, 100)
    item, place = np.nonzero(n)
    rate = np.linspace(0.02, 0.6, items)[item] / (1 + place)
    table = {"query": "q", "item": [f"{number:04}" for number in item], "position": place + 1, "impressions": 100}
    counts = clicks.Counts(pl.DataFrame({**table, "clicks": generator(1, "thousand").binomial(100, rate)}))
    model = clicks.PBM().fit(counts)
    begin = time.process_time()
    model.intervals()
    lines += ["", f"Intervals of 1,000 items at 10 positions: {time.process_time() - begin:.1f} CPU seconds. Bar: 5."]
    return "\n".join(lines)
