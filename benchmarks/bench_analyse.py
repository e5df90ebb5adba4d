"""How often what `rankone analyse` says is true: share of simulated tables in which each statement held, 95 % wanted.

"levels" is the interval of a level's ratio to the best one; "best kept" that no truly best level was called "not the
best" in either factor; "loss" that showing the answer gives up no more than was said; "rate" the interval of the best
combination's rate; "as observed" that of the highest observed rate, without a product. "overrated" is how much too high
the highest observed rate was on average, and then the shrunken one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from rankone.analysis.best import Bounded, chosen_contrast, level_bounds, whole_rate
from rankone.analysis.intervals import Intervals
from rankone.analysis.product_fit import Design
from rankone.analysis.shrinkage import shrink
from rankone.clicks.counts.dispersion import BINOMIAL, Dispersion, estimated_dispersion, given_dispersion
from rankone.clicks.counts.factor_counts import as_factor_counts
from rankone.numerics.seeds import generator

TABLES = 300
DOUBT = 0.025
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
    uneven: float = 1.0  # the pair that was shown most, in times of the one shown least; the truly best one was least
    parts: int = 8  # rows of a pair, where the dispersion is estimated


SAME, NEAR = [1.0] * 4, [1.0, 0.97, 0.9, 0.85]
WORLDS = {
    "4 x 4, all the same, 2 %, 1,000 a pair": World(SAME, SAME, 0.02, 1000),
    "4 x 4, all the same, 2 %, 50 a pair (one click)": World(SAME, SAME, 0.02, 50),
    "4 x 2, 1 to 0.4, 3 %, 60 a pair": World([1.0, 0.8, 0.6, 0.4], [1.0, 0.7], 0.03, 60),
    "4 x 4, near ties, 1.3 %, 3,000 a pair": World(NEAR, NEAR, 0.013, 3000),
    "4 x 4, levels as in headline tests, 1.3 %, 3,000 a pair": World(SAME, SAME, 0.013, 3000, like_archive=True),
    "2 x 2, clear, 10 %, 1,000 a pair": World([1.0, 0.5], [1.0, 0.5], 0.1, 1000),
    "3 x 2, 95 %, 40 a pair": World([1.0, 0.9, 0.8], [1.0, 0.95], 0.95, 40),
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
    "4 x 4, near ties, no product: pairs off by 10 %": World(NEAR, NEAR, 0.03, 2000, off=0.1),
    "4 x 4, all the same, rate doubles while shares move": World(SAME, SAME, 0.02, 2000, drift=True),
}


def report() -> str:
    """Measure all worlds."""
    head = ["tables", "levels", "best kept", "loss", "rate", "as observed", "overrated"]
    lines = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    for name, world in WORLDS.items():
        found = np.array([one for seed in range(TABLES) if (one := judged(world, generator(seed, name))) is not None])
        held = [f"{share:.1%}" for share in found[:, :5].mean(axis=0)]
        raw, shrunken = np.exp(found[:, 5:].mean(axis=0)) - 1.0
        lines.append(f"| {name} | {' | '.join(held)} | {raw:+.0%}, {shrunken:+.0%} |")
    return "\n".join(lines)


def judged(world: World, rng: np.random.Generator) -> list[float] | None:
    """Draw a table and return which statements on it are true; None if it has no click."""
    if world.like_archive:
        sides = [np.exp(rng.normal(0.0, spread, 4)) for spread in (0.19, 0.14)]
        world = world._replace(rows=sides[0].tolist(), cols=sides[1].tolist())
    product = world.rate * np.outer(world.rows, world.cols)
    rates = product * np.exp(world.off * rng.normal(size=product.shape)) if world.off else product
    shown, clicked, scatter = _drawn(world, rates, rng)
    if not clicked.any():
        return None
    rates = 1.5 * rates if world.drift else rates  # on average over time
    counts = as_factor_counts((shown, clicked))
    intervals = Intervals(Design.of(counts.cells, counts.sizes, counts.shown, counts.clicked), scatter)
    bounds = [level_bounds(intervals, factor, DOUBT) for factor in (0, 1)]
    truths = [np.array(side) / max(side) for side in (world.rows, world.cols)]
    levels = [
        share
        for bound, truth in zip(bounds, truths, strict=True)
        for share in (bound.low <= truth + 1e-9) & (truth <= bound.high + 1e-9)
    ]
    kept = all(bound.high[truth.argmax()] >= 1.0 for bound, truth in zip(bounds, truths, strict=True))
    best = np.array([bounds[0].best, len(world.rows) + bounds[1].best])
    contrast = np.zeros(len(world.rows) + len(world.cols))
    contrast[best] = 1.0
    chosen = rates[bounds[0].best, bounds[1].best]
    least = math.prod(bound.low[bound.best] for bound in bounds)
    rate = chosen_contrast(intervals, contrast, best, DOUBT)
    observed = counts.clicked / counts.shown
    place = int(np.lexsort((counts.shown, observed))[-1])
    truth = rates[tuple(counts.cells[place])]
    whole = whole_rate(counts.shown, counts.clicked, place, scatter, DOUBT)
    shrunken = float(shrink(counts, scatter.value)[place])
    return [
        float(np.mean(levels)), kept, chosen >= least * rates.max() - 1e-12, _holds(rate, chosen), _holds(whole, truth),
        math.log(observed[place] / truth), math.log(shrunken / truth),
    ]  # fmt: skip


def _holds(found: Bounded, truth: float) -> bool:
    return found.low <= truth <= found.high


def _drawn(world: World, rates: Floats, rng: np.random.Generator) -> tuple[Ints, Ints, Dispersion]:
    """Return what was shown and clicked of each pair, and what is known of the dispersion."""
    shown = _shares(world, rates)
    if world.drift:  # the last row has most of its traffic after the rise
        late = np.where(np.arange(len(rates))[:, None] == len(rates) - 1, 0.9, 0.4) * np.ones_like(rates)
        after = (shown * late).astype(np.int64)
        return shown, rng.binomial(shown - after, rates) + rng.binomial(after, 2.0 * rates), BINOMIAL
    if world.scatter == 1.0:
        return shown, rng.binomial(shown, rates), BINOMIAL
    each = np.maximum(shown // world.parts, 2)[None] * np.ones((world.parts, 1, 1), np.int64)
    if world.uneven > 1.0:  # rows of a pair differ, too
        each = np.maximum((each * rng.uniform(0.3, 1.7, each.shape)).astype(np.int64), 2)
    rise = 1.0 + np.arange(world.parts)[:, None, None] / world.parts if world.told == "slices" else 1.0
    alike = (world.scatter - 1.0) / (each - 1.0)
    weight = (1.0 - alike) / alike
    moved = rates * rise / np.mean(rise)
    clicks = rng.binomial(each, rng.beta(moved * weight, (1.0 - moved) * weight))
    known = BINOMIAL
    if world.told == "given":
        known = given_dispersion(world.scatter)
    elif world.told:
        pair = np.tile(np.arange(rates.size), world.parts)
        days = np.repeat(np.arange(world.parts), rates.size) if world.told == "slices" else None
        known = estimated_dispersion(pair, days, each.reshape(-1) * 1.0, clicks.reshape(-1) * 1.0) or BINOMIAL
    return each.sum(axis=0), clicks.sum(axis=0), known


def _shares(world: World, rates: Floats) -> Ints:
    """Impressions of each pair: as many of each, or the fewest of the best one and ever more of worse ones."""
    if world.uneven == 1.0:
        return np.full(rates.shape, world.shown)
    order = np.argsort(np.argsort(-rates.reshape(-1), kind="stable"), kind="stable").reshape(rates.shape)
    parts = world.uneven ** (order / max(1, rates.size - 1))
    return np.asarray(np.maximum(2, world.shown * parts / parts.mean()), np.int64)
