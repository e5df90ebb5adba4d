"""Is every click model chosen on logs of its own? 40 logs of each of eight worlds, all models compared on each.

A log has 16,000 lists of 6 of 15 items, in the order of a noisy ranking; a quarter is held out. What counts is the model
that `compare_models` marks as chosen: the smallest that is not clearly behind the best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import polars as pl

from rankone import clicks
from rankone.numerics.seeds import generator

LOGS, LISTS, ITEMS, POSITIONS = 40, 16_000, 15, 6
ATTRACTION = np.linspace(0.6, 0.1, ITEMS)
EXAMINED = 1.0 / np.arange(1, POSITIONS + 1) ** 0.6
STAYS = np.array([0.8, 0.3, 0.7, 0.4, 0.6, 0.5])
SATISFIES = generator(0, "satisfaction").permutation(np.linspace(0.1, 0.9, ITEMS))

#: By model: the chance that the item at a place is clicked or skipped and the user goes on, after a click and a skip.
READERS: dict[str, tuple[Callable[[int, np.ndarray], object], float]] = {
    "cascade": (lambda place, item: 0.0, 1.0),
    "dcm": (lambda place, item: STAYS[place], 1.0),
    "sdbn": (lambda place, item: 1.0 - SATISFIES[item], 1.0),
    "dbn": (lambda place, item: 0.8 * (1.0 - SATISFIES[item]), 0.8),
    "ccm": (lambda place, item: 0.9 - 0.7 * ATTRACTION[item], 0.85),
}
WORLDS = [*READERS, "pbm", "ubm"]


def log_of(world: str, seed: int) -> pl.DataFrame:
    """Return the lists of one log as a long table."""
    rng = generator(seed, "model choice", world)
    shown = np.argsort(0.15 * np.arange(ITEMS) + rng.normal(0.0, 1.0, (LISTS, ITEMS)), axis=1)[:, :POSITIONS]
    clicked, reading = np.zeros(shown.shape, bool), np.ones(LISTS, bool)
    previous = np.zeros(LISTS, int)
    for place in range(POSITIONS):
        items, draw = shown[:, place], rng.random(LISTS)
        if world == "pbm":
            rate = ATTRACTION[items] * EXAMINED[place]
            clicked[:, place] = draw < rate
        elif world == "ubm":
            after = np.where(previous == 0, 0.9 / (place + 1) ** 0.5, 0.95 / (place - previous + 1.0) ** 0.9)
            clicked[:, place] = draw < ATTRACTION[items] * after
            previous = np.where(clicked[:, place], place + 1, previous)
        else:
            after_click, after_skip = READERS[world]
            clicked[:, place] = reading & (draw < ATTRACTION[items])
            reading &= rng.random(LISTS) < np.where(clicked[:, place], after_click(place, items), after_skip)
    names = np.array([f"i{item:02}" for item in range(ITEMS)])
    return pl.DataFrame(
        {
            "list": np.repeat(np.arange(LISTS), POSITIONS),
            "query": "q",
            "item": names[shown.ravel()],
            "position": np.tile(np.arange(1, POSITIONS + 1), LISTS),
            "clicked": clicked.ravel(),
        }
    )


def chosen(world: str, seed: int) -> str:
    """Return the model that is chosen on one log."""
    table = log_of(world, seed)
    train, test = table.filter(pl.col("list") < LISTS * 3 // 4), table.filter(pl.col("list") >= LISTS * 3 // 4)
    columns = {name: name for name in table.columns}
    return str(clicks.compare_models(clicks.count(train, **columns), test).filter("chosen")["model"][0]).partition(":")[
        0
    ]


def report() -> str:
    """Return all figures as Markdown."""
    lines = [f"Own model chosen, of {LOGS} logs each. Bar: 36.", "", "| logs of | own model chosen | others |"]
    lines += ["| --- | --- | --- |"]
    for world in WORLDS:
        found = Counter(chosen(world, seed) for seed in range(LOGS))
        others = ", ".join(f"{model} {number}" for model, number in found.items() if model != world)
        lines.append(f"| {world} | {found[world]} | {others} |")
    return "\n".join(lines)
