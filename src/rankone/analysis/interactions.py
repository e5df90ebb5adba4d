"""Do factors act each for itself? Of two factors the rank-1 test; of more, a test of every two of them.

With three factors and more, two of them interact if the product with one value for each of their pairs (and one for
each level of the others) fits better than the product of single levels. The likelihood ratio of the two is compared
with tables simulated from the product, corrected as in `rankone.clicks.rank1_test.check`; all two-factor tests together
keep the error rate (Holm's rule, in the report).

A fit costs the cube of its levels, and a factor of many levels has very many pairs with another. So the work is
bounded: larger tables get fewer simulations, and two factors that would get too few are not tested, which is said.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import polars as pl

from rankone.analysis.product_fit import Design
from rankone.clicks.counts.count_arrays import Floats, Ints
from rankone.clicks.counts.dispersion import BINOMIAL, Dispersion, given_dispersion
from rankone.clicks.counts.factor_counts import FactorCounts
from rankone.clicks.rank1_test.check import (
    FIXED,
    CheckProgress,
    Measure,
    check_rank1,
    check_table,
    checked_level,
    reach,
    simulated,
)
from rankone.clicks.rank1_test.fit import deviances
from rankone.clicks.rank1_test.misfit import Misfit, measure_misfit
from rankone.clicks.rank1_test.report import Rank1Check, Rank1Report
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from rankone.specs import whole_number

_SIMULATIONS = 999
_WORK = 3e10  # operations for all tests together, about half a minute
_STEPS, _OVERHEAD = 10.0, 1e5  # Newton steps of a fit, and what a step costs however small it is, in operations
_LEAST = 99  # simulations below which a p-value is too coarse to be of use


def check_factors(
    counts: FactorCounts,
    *,
    simulations: int | None = None,
    level: float = 0.05,
    seed: int = 0,
    dispersion: float | None = None,
    progress: CheckProgress = lambda now, total: None,
) -> Rank1Report:
    """Test any number of factors, with the wishes of `rankone.check_rank1`: of two it is that."""
    if len(counts.factors) < 2:
        raise InputError("two factors or more", f"one ({counts.factors[0]})", "one alone is a product in any case")
    scatter = counts.repeats or BINOMIAL if dispersion is None else given_dispersion(dispersion)
    if len(counts.factors) == 2:
        pair = counts.pair(f"{counts.factors[0]} and {counts.factors[1]}")
        return check_rank1(
            [pair], simulations=simulations, level=level, seed=seed, dispersion=dispersion, progress=progress
        )
    whole_number("seed", seed, least=0)
    tables = whole_number("simulations", _SIMULATIONS if simulations is None else simulations, least=20)
    found = check_interactions(counts, scatter, tables, checked_level(level), seed, progress)
    assert found is not None  # there are two factors or more
    return found


def check_interactions(
    counts: FactorCounts,
    dispersion: Dispersion,
    simulations: int,
    level: float,
    seed: int,
    progress: CheckProgress = lambda now, total: None,
) -> Rank1Report | None:
    """Test every two factors; None where there is only one."""
    if len(counts.factors) < 2:
        return None
    if len(counts.factors) == 2:
        rng = generator(seed, "check-rank1", "all")
        name = f"{counts.factors[0]} and {counts.factors[1]}"
        check = check_table(counts.pair(name), simulations, rng, progress=progress, dispersion=dispersion)
        return Rank1Report((check,), level)
    pairs = list(combinations(range(len(counts.factors)), 2))
    if simulations >= _SIMULATIONS:  # with many factors more, so that the smallest p-value can survive Holm's rule
        simulations = max(simulations, math.ceil(2 * len(pairs) / level))
    checks = []
    for place, (first, second) in enumerate(pairs):
        able = min(simulations, int(_WORK / len(pairs) / _work(counts, first, second)))
        if able < min(simulations, _LEAST):
            checks.append(_untested(counts, first, second, dispersion))
            continue

        def report(now: int, total: int, before: int = place) -> None:
            progress(before * total + now, len(pairs) * total)

        checks.append(_check_two(counts, first, second, dispersion, able, seed, report))
    return Rank1Report(tuple(checks), level, of_factors=True, of_all=_misfit(counts, dispersion, seed))


def _misfit(counts: FactorCounts, dispersion: Dispersion, seed: int) -> Misfit | None:
    """Return how far all factors together are from a product, and what that costs."""
    design = Design.of(counts.cells, counts.sizes, counts.shown, counts.clicked)
    rates, rng = design.rates(design.maximise().x), generator(seed, "analyse", "misfit")
    return measure_misfit(counts.cells, counts.sizes, counts.shown, counts.clicked, rates, rng, dispersion)


def _work(counts: FactorCounts, first: int, second: int) -> float:
    """Operations of a simulation: two rounds of fitting the product and the product with one value for each pair."""
    pairs = len(np.unique(counts.cells[:, first] * counts.sizes[second] + counts.cells[:, second]))
    alone = sum(counts.sizes)
    together = alone - counts.sizes[first] - counts.sizes[second] + pairs
    cells = 10.0 * len(counts.cells) * len(counts.factors) ** 2
    return 2.0 * _STEPS * sum(levels**3 / 3.0 + 8.0 * levels**2 + cells + _OVERHEAD for levels in (alone, together))


def _untested(counts: FactorCounts, first: int, second: int, dispersion: Dispersion) -> Rank1Check:
    names = counts.factors[first], counts.factors[second]
    design = Design.of(counts.cells, counts.sizes, counts.shown, counts.clicked)
    return Rank1Check(
        name=f"{names[0]} and {names[1]}", n_rows=counts.sizes[first], n_cols=counts.sizes[second],
        outcomes=int(counts.shown.sum()), clicks=int(counts.clicked.sum()),
        constraints=(counts.sizes[first] - 1) * (counts.sizes[second] - 1), statistic=0.0, p_value=None, p_anytime=1.0,
        simulations=0, method=FIXED, visible=None, cells=_pair_cells(counts, first, second, design, dispersion),
        dispersion=dispersion,
    )  # fmt: skip


def _check_two(
    counts: FactorCounts,
    first: int,
    second: int,
    dispersion: Dispersion,
    simulations: int,
    seed: int,
    progress: CheckProgress,
) -> Rank1Check:
    names = counts.factors[first], counts.factors[second]
    rng = generator(seed, "analyse", *names)
    alone = Design.of(counts.cells, counts.sizes, counts.shown, counts.clicked)
    wide, sizes, freedom = _together(counts, first, second)
    measure = _measure(counts.cells, counts.sizes, wide, sizes)
    found, rates = measure(counts.shown[None], counts.clicked[None])
    statistic, p_value, done = float(found[0]) / dispersion.value, None, 0
    if freedom > 0:
        shown = counts.shown

        def redraw(rates: Floats, rng: np.random.Generator) -> tuple[Ints, Ints]:
            return np.broadcast_to(shown, rates.shape), rng.binomial(shown, np.clip(rates, 0.0, 1.0))

        law = simulated(statistic, rates[0], redraw, simulations, rng, progress, measure, dispersion)
        done = len(law)
        p_value = (1 + reach(law, statistic)) / (1 + done)
    progress(simulations, simulations)
    return Rank1Check(
        name=f"{names[0]} and {names[1]}",
        n_rows=counts.sizes[first],
        n_cols=counts.sizes[second],
        outcomes=int(counts.shown.sum()),
        clicks=int(counts.clicked.sum()),
        constraints=freedom,
        statistic=statistic,
        p_value=p_value,
        p_anytime=1.0,
        simulations=done,
        method=FIXED,
        visible=None,
        cells=_pair_cells(counts, first, second, alone, dispersion),
        dispersion=dispersion,
    )


def _together(counts: FactorCounts, first: int, second: int) -> tuple[Ints, tuple[int, ...], int]:
    """Cells with two factors as one, its sizes, and how many parameters that adds."""
    pairs = counts.cells[:, first] * counts.sizes[second] + counts.cells[:, second]
    known, numbered = np.unique(pairs, return_inverse=True)
    others = [place for place in range(len(counts.factors)) if place not in (first, second)]
    cells = np.column_stack([numbered, counts.cells[:, others]])
    sizes = (len(known), *(counts.sizes[place] for place in others))
    return cells, sizes, _rank(cells, sizes) - _rank(counts.cells, counts.sizes)


def _rank(cells: Ints, sizes: tuple[int, ...]) -> int:
    rows = np.zeros((len(cells), sum(sizes)))
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    for start, column in zip(starts, cells.T, strict=True):
        rows[np.arange(len(cells)), start + column] = 1.0
    return int(np.linalg.matrix_rank(rows.T @ rows))


def _measure(cells: Ints, sizes: tuple[int, ...], wide: Ints, wide_sizes: tuple[int, ...]) -> Measure:
    def measure(shown: Ints, clicked: Ints) -> tuple[Floats, Floats]:
        statistics, rates = np.zeros(len(shown)), np.zeros(shown.shape)
        for place, (pulls, clicks) in enumerate(zip(shown, clicked, strict=True)):
            if not clicks.any():
                continue
            narrow = Design.of(cells, sizes, pulls, clicks)
            here = narrow.maximise()
            there = Design.of(wide, wide_sizes, pulls, clicks).maximise()
            statistics[place] = max(0.0, 2.0 * (there.log_likelihood - here.log_likelihood))
            rates[place] = narrow.rates(here.x)
        return statistics, rates

    return measure


def _pair_cells(counts: FactorCounts, first: int, second: int, design: Design, dispersion: Dispersion) -> pl.DataFrame:
    """What each pair of two factors was clicked, against what the product expects, the others as they were shown."""
    size = counts.sizes[second]
    places = counts.cells[:, first] * size + counts.cells[:, second]
    total = counts.sizes[first] * size
    expected = np.bincount(places, counts.shown * design.rates(design.maximise().x), total)
    shown, clicked = (
        np.bincount(places, numbers, total).astype(np.int64) for numbers in (counts.shown, counts.clicked)
    )
    seen = np.flatnonzero(shown)
    shown, clicked, fitted = shown[seen], clicked[seen], expected[seen] / shown[seen]
    own = deviances(shown, clicked, np.clip(fitted, 1e-12, 1.0 - 1e-12)) / dispersion.value
    return pl.DataFrame(
        {
            "row": [counts.levels[first][place // size] for place in seen],
            "col": [counts.levels[second][place % size] for place in seen],
            "outcomes": shown, "clicks": clicked, "rate": clicked / shown, "rank_one_rate": fitted,
            "deviation": np.sign(clicked / shown - fitted) * np.sqrt(own),
        }
    ).sort(pl.col("deviation").abs(), descending=True, maintain_order=True)  # fmt: skip
