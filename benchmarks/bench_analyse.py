"""How often what `rankone analyse` says is true, in simulated tables.

First what it calls levels, which should be wrong in 5% of tables at most. "not the best": a level was called so that
is the best one, or as good as any; "is the best": a level was called so that is not, or that others equal. "settled" is
no error: both factors were left with their one best level.

Then the share of tables in which each interval held, 95% wanted. "levels" is that of a level's ratio to the best one;
"loss" that showing the answer gives up no more than was said; "rate" the interval of the best combination's rate; "as
observed" that of the highest observed rate, without a product. "overrated" is how much too high the highest observed
rate was on average, and then the shrunken one.
"""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

import numpy as np

from rankone.analysis.product.best import Bounded, contrast_bounds, level_bounds, whole_rate
from rankone.analysis.product.intervals import Intervals
from rankone.analysis.product.shrinkage import shrink
from rankone.clicks.counts.dispersion import BINOMIAL, Dispersion, estimated_dispersion, given_dispersion
from rankone.clicks.counts.factor_counts import FactorCounts, Slices
from rankone.numerics.seeds import generator

TABLES, CALLED = 300, 400
DOUBT = 0.05
Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int64]]


class World(NamedTuple):
    """How tables come about."""

    rows: list[float]
    cols: list[float]
    rate: float  # of the best pair
    shown: int  # impressions of a pair
    scatter: float = 1.0  # dispersion of the clicks
    told: str = ""  # what is known of it: "given", "repeats" (rows of a pair), "slices" (days that rise), or nothing
    off: float = 0.0  # standard deviation of what pairs add to the logarithm of the product
    like_archive: bool = False  # levels and pairs differ as in a public archive of headline tests
    drift: bool = False  # the site's rate doubles halfway, and shares move then
    move: bool = False  # from day to day click rates move, and shares with them: the last levels come on good days
    alone: float = 0.0  # standard deviation of what each level does on its own on each day, of the logarithm
    uneven: float = 1.0  # the pair that was shown most, in times of the one shown least; the truly best one was least
    parts: int = 8  # rows of a pair, or days, where there are several

    @property
    def by_day(self) -> bool:
        """Whether the table has a column of days."""
        return self.move or self.alone > 0.0 or self.told == "slices"


SAME, NEAR, CLEAR, FAR = [1.0] * 4, [1.0, 0.97, 0.9, 0.85], [1.0, 0.9, 0.8, 0.7], [1.0, 0.75, 0.6, 0.4]
WORLDS = {
    "4 x 4, all the same, 2%, 1,000 a pair": World(SAME, SAME, 0.02, 1000),
    "4 x 4, all the same, 2%, 50 a pair (one click)": World(SAME, SAME, 0.02, 50),
    "4 x 2, 1 to 0.4, 3%, 60 a pair": World([1.0, 0.8, 0.6, 0.4], [1.0, 0.7], 0.03, 60),
    "4 x 4, near ties, 1.3%, 3,000 a pair": World(NEAR, NEAR, 0.013, 3000),
    "4 x 4, levels as in headline tests, 1.3%, 3,000 a pair": World(SAME, SAME, 0.013, 3000, like_archive=True),
    "2 x 2, clear, 10%, 1,000 a pair": World([1.0, 0.5], [1.0, 0.5], 0.1, 1000),
    "3 x 2, 95%, 40 a pair": World([1.0, 0.9, 0.8], [1.0, 0.95], 0.95, 40),
    "4 x 4, near ties, shares from 1 to 20": World(NEAR, NEAR, 0.03, 4000, uneven=20.0),
    "4 x 4, all the same, shares from 1 to 20, few clicks": World(SAME, SAME, 0.02, 500, uneven=20.0),
    "3 x 2, shares from 1 to 20, twice the scatter, from 8 uneven rows": World(
        [1.0, 0.9, 0.8], [1.0, 0.95], 0.03, 4000, 2.0, "repeats", uneven=20.0
    ),
    "2 x 2, twice the scatter, from 3 rows per pair": World(
        [1.0, 0.9], [1.0, 0.95], 0.03, 3000, 2.0, "repeats", parts=3
    ),
    "2 x 2, three times the scatter, from 7 days with a rise": World(
        [1.0, 0.9], [1.0, 0.95], 0.03, 7000, 3.0, "slices", parts=7
    ),
    "4 x 4, near ties, twice the scatter, given": World(NEAR, NEAR, 0.03, 2000, 2.0, "given"),
    "4 x 4, near ties, twice the scatter, from 8 rows per pair": World(NEAR, NEAR, 0.03, 2000, 2.0, "repeats"),
    "the same, not known: as if binomial": World(NEAR, NEAR, 0.03, 2000, 2.0),
    "4 x 4, near ties, no product: pairs off by 10%": World(NEAR, NEAR, 0.03, 2000, off=0.1),
    "4 x 4, all the same, rate doubles while shares move, no days": World(SAME, SAME, 0.02, 2000, drift=True),
}
EQUAL_2, EQUAL_12 = [1.0] * 2, [1.0] * 12
CALLS = {
    "4 x 4, all the same": World(SAME, SAME, 0.02, 1000),
    "4 x 4, all the same, shares from 1 to 20": World(SAME, SAME, 0.03, 4000, uneven=20.0),
    "12 x 2, all the same": World(EQUAL_12, EQUAL_2, 0.02, 2000),
    "30 x 2, all the same": World([1.0] * 30, EQUAL_2, 0.02, 2000),
    "4 x 4, all the same, 14 days, rates and shares move": World(SAME, SAME, 0.02, 4000, move=True, parts=14),
    "4 x 4, near ties, 14 days, rates and shares move": World(NEAR, NEAR, 0.02, 4000, move=True, parts=14),
    "3 x 2, 7 days, rates and shares move, twice the scatter": World(
        [1.0, 1.0, 0.9], [1.0, 1.0], 0.03, 7000, 2.0, "slices", move=True, parts=7
    ),
    "4 x 4, all the same, 14 days, levels scatter by 0.2": World(SAME, SAME, 0.05, 7000, alone=0.2, parts=14),
    "2 x 2, all the same, 7 days, levels scatter by 0.2": World(EQUAL_2, EQUAL_2, 0.05, 14000, alone=0.2, parts=7),
    "2 x 2, all the same, 4 days, levels scatter by 0.2": World(EQUAL_2, EQUAL_2, 0.05, 14000, alone=0.2, parts=4),
    "12 x 2, all the same, 14 days, levels scatter by 0.2": World(EQUAL_12, EQUAL_2, 0.05, 7000, alone=0.2, parts=14),
    "4 x 4, all the same, 14 days, shares from 1 to 20, levels scatter by 0.2": World(
        SAME, SAME, 0.05, 7000, alone=0.2, uneven=20.0, parts=14
    ),
    "4 x 4, all the same, 14 days, rates and shares move, levels scatter by 0.2": World(
        SAME, SAME, 0.05, 7000, move=True, alone=0.2, parts=14
    ),
    "4 x 4, 1 to 0.4, 14 days, levels scatter by 0.2": World(FAR, FAR, 0.05, 7000, alone=0.2, parts=14),
    "4 x 4, 1 to 0.7, 14 days, nothing scatters": World(CLEAR, CLEAR, 0.05, 8000, told="slices", parts=14),
    "2 x 2, 1 and 0.9, 7 days, nothing scatters": World([1.0, 0.9], [1.0, 0.9], 0.05, 16_000, told="slices", parts=7),
    "4 x 4, 1 to 0.7, without days": World(CLEAR, CLEAR, 0.05, 8000),
    "2 x 2, 1 and 0.9, without days": World([1.0, 0.9], [1.0, 0.9], 0.05, 16_000),
}


def report() -> str:
    """Measure all worlds."""
    lines = ["| tables | not the best, wrongly | is the best, wrongly | settled |", "|" + " --- |" * 4]
    for name, world in CALLS.items():
        shares = np.mean([called(world, generator(seed, name)) for seed in range(CALLED)], axis=0)
        lines.append(f"| {name} | {' | '.join(f'{share:.1%}' for share in shares)} |")
        print(lines[-1], file=sys.stderr, flush=True)
    head = ["tables", "levels", "loss", "rate", "as observed", "overrated"]
    lines += ["", f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    for name, world in WORLDS.items():
        found = np.array([one for seed in range(TABLES) if (one := judged(world, generator(seed, name))) is not None])
        held = [f"{share:.1%}" for share in found[:, :4].mean(axis=0)]
        raw, shrunken = np.exp(found[:, 4:].mean(axis=0)) - 1.0
        lines.append(f"| {name} | {' | '.join(held)} | {raw:+.0%}, {shrunken:+.0%} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def called(world: World, rng: np.random.Generator) -> list[bool]:
    """Draw a table: was a best level called not the best, one the best that is not, and was all settled rightly?"""
    counts, scatter, _ = drawn(world, world.rate * np.outer(world.rows, world.cols), rng)
    bounds = level_bounds(Intervals.of(counts, scatter), DOUBT)
    best = [np.array(side) == max(side) for side in (world.rows, world.cols)]
    left = [bound.high >= 1.0 for bound in bounds]
    single = [able.sum() == 1 for able in left]
    right = [bool((able == truth).all()) for able, truth in zip(left, best, strict=True)]
    wrong = any(not able[truth].all() for able, truth in zip(left, best, strict=True))
    named = any(one and not yes for one, yes in zip(single, right, strict=True))
    return [wrong, named, all(single) and all(right)]


def judged(world: World, rng: np.random.Generator) -> list[float] | None:
    """Draw a table and return which intervals on it hold; None if it has no click."""
    if world.like_archive:
        sides = [np.exp(rng.normal(0.0, spread, 4)) for spread in (0.19, 0.14)]
        world = world._replace(rows=sides[0].tolist(), cols=sides[1].tolist())
    product = world.rate * np.outer(world.rows, world.cols)
    rates = product * np.exp(world.off * rng.normal(size=product.shape)) if world.off else product
    counts, scatter, average = drawn(world, rates, rng)
    if not counts.clicked.any():
        return None
    rates = average * rates  # over time
    intervals = Intervals.of(counts, scatter)
    bounds = level_bounds(intervals, DOUBT)
    truths = [np.array(side) / max(side) for side in (world.rows, world.cols)]
    levels = [
        share
        for bound, truth in zip(bounds, truths, strict=True)
        for share in (bound.low <= truth + 1e-9) & (truth <= bound.high + 1e-9)
    ]
    best = np.array([bounds[0].best, len(world.rows) + bounds[1].best])
    contrast = np.zeros(len(world.rows) + len(world.cols))
    contrast[best] = 1.0
    chosen = rates[bounds[0].best, bounds[1].best]
    least = math.prod(bound.low[bound.best] for bound in bounds)
    rate = contrast_bounds(intervals, contrast, DOUBT / 2.0, best)
    settled = counts if intervals.days is None else intervals.days.adjusted(counts)
    observed = settled.clicked / settled.shown
    place = int(np.lexsort((settled.shown, observed))[-1])
    truth = rates[tuple(counts.cells[place])]
    whole = whole_rate(settled.shown, settled.clicked, place, intervals.of_combination(place), DOUBT / 2.0)
    shrunken = float(shrink(settled, scatter.value)[place])
    return [
        float(np.mean(levels)),
        chosen >= least * rates.max() - 1e-12,
        _holds(rate, chosen),
        _holds(whole, truth),
        math.log(observed[place] / truth),
        math.log(shrunken / truth),
    ]


def _holds(found: Bounded, truth: float) -> bool:
    return found.low <= truth <= found.high


def drawn(world: World, rates: Floats, rng: np.random.Generator) -> tuple[FactorCounts, Dispersion, float]:
    """Return the counts, what is known of the dispersion, and how many times the rates the average over time is."""
    shown = _shares(world, rates)
    if world.drift:  # the last row has most of its traffic after the rise
        late = np.where(np.arange(len(rates))[:, None] == len(rates) - 1, 0.9, 0.4) * np.ones_like(rates)
        after = (shown * late).astype(np.int64)
        clicks = rng.binomial(shown - after, rates) + rng.binomial(after, 2.0 * rates)
        return _counted(shown[None], clicks[None], days=False), BINOMIAL, 1.5
    if world.scatter == 1.0 and not world.by_day:
        return _counted(shown[None], rng.binomial(shown, rates)[None], days=False), BINOMIAL, 1.0
    each = np.maximum(shown // world.parts, 2)[None] * np.ones((world.parts, 1, 1), np.int64)
    if world.uneven > 1.0:  # rows of a pair differ, too
        each = np.maximum((each * rng.uniform(0.3, 1.7, each.shape)).astype(np.int64), 2)
    site = 1.0 + np.arange(world.parts)[:, None, None] / world.parts if world.by_day else np.ones((1, 1, 1))
    if world.move:
        site = site * np.exp(rng.normal(0.0, 0.3, site.shape))
        each = np.maximum((each * _moving(each.shape)).astype(np.int64), 2)
    moved = rates * site
    for axis, size in enumerate(rates.shape, 1):
        own = rng.normal(0.0, world.alone, (world.parts, size)) - world.alone**2 / 2.0
        moved = moved * np.exp(np.expand_dims(own, 3 - axis))
    chance = np.minimum(moved, 1.0)
    if world.scatter > 1.0:
        alike = (world.scatter - 1.0) / (each - 1.0)
        chance = rng.beta(moved * (1.0 - alike) / alike, (1.0 - moved) * (1.0 - alike) / alike)
    counts = _counted(each, rng.binomial(each, chance), world.by_day)
    known = counts.repeats or BINOMIAL
    if world.told == "given":
        known = given_dispersion(world.scatter)
    elif not world.told and not world.by_day:
        known = BINOMIAL
    return counts, known, float((site * each).sum() / each.sum())


def _moving(shape: tuple[int, ...]) -> Floats:
    """How shares move: the last levels are shown ever more, the first ones ever less."""
    time = np.linspace(-1.0, 1.0, shape[0])
    rows, cols = (np.exp(np.outer(time, np.linspace(-1.5, 1.5, size))) for size in shape[1:])
    found = rows[:, :, None] * cols[:, None, :]
    return np.asarray(found / found.mean(axis=(1, 2), keepdims=True))


def _counted(shown: Ints, clicked: Ints, days: bool) -> FactorCounts:
    """Return what `analyse` makes of rows (days or repeats, rows, columns) that were read from a table."""
    parts, *sizes = shown.shape
    part, cell = np.indices((parts, math.prod(sizes))).reshape(2, -1)
    each = shown.reshape(-1), clicked.reshape(-1)
    return FactorCounts(
        ("row", "col"),
        tuple(tuple(f"{letter}{place}" for place in range(size)) for letter, size in zip("rc", sizes, strict=True)),
        np.argwhere(np.ones(sizes)),
        shown.sum(axis=0).reshape(-1),
        clicked.sum(axis=0).reshape(-1),
        estimated_dispersion(cell, part if days else None, each[0] * 1.0, each[1] * 1.0),
        slices=Slices(tuple(f"day {place}" for place in range(parts)), cell, part, *each) if days else None,
    )


def _shares(world: World, rates: Floats) -> Ints:
    """Impressions of each pair: as many of each, or the fewest of the best one and ever more of worse ones."""
    if world.uneven == 1.0:
        return np.full(rates.shape, world.shown)
    order = np.argsort(np.argsort(-rates.reshape(-1), kind="stable"), kind="stable").reshape(rates.shape)
    parts = world.uneven ** (order / max(1, rates.size - 1))
    return np.asarray(np.maximum(2, world.shown * parts / parts.mean()), np.int64)
