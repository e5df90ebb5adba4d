"""Do two factors act each for itself? The product of levels against one value for each pair of the two.

The statistic is the likelihood ratio of P(click) = product over factors of the level's value, all values in 0..1,
against the same with a value for each pair of the two factors; where there are no others, against a rate of its own for
every pair (rank 1 against any rates). Where pairs have few outcomes its law is far from chi-squared, and parametric
simulation from the fitted rates rejects too often, because fitted rates follow the noise. So each simulated table is
fitted and simulated once more (Davidson and MacKinnon, "Improving the reliability of bootstrap tests with the fast
double bootstrap", 2007): what a round of fitting and simulating does to location and spread of the statistic is undone
in the first round.

Where clicks scatter more than binomially (`rankone.clicks.counts.dispersion`) the statistic is divided by the
dispersion; an estimated one adds its own scatter to the simulated statistics.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rankone.clicks.counts.dispersion import BINOMIAL, Dispersion
from rankone.clicks.counts.factor_counts import FactorCounts
from rankone.clicks.models.fitting.intervals import places_information
from rankone.clicks.models.pbm import place_components
from rankone.clicks.rank1_test.misfit import measure_misfit
from rankone.clicks.rank1_test.report import Rank1Check
from rankone.numerics.arrays import Floats, Ints, starts_of
from rankone.numerics.product_fit import Design, deviances, product_rates
from rankone.numerics.seeds import generator
from rankone.wording.lists import listed

#: Called while tables are simulated: simulations done, simulations in all.
CheckProgress = Callable[[int, int], None]

EXACT_TO = 1e-3  # of the statistic: more than fits may be off
_ENOUGH = 50  # tables as far from rank 1 as the data: the p-value is known well enough (Besag and Clifford 1991)
_AT_ONCE = 20  # tables between two looks, so that progress is seen
_CELLS_AT_ONCE = 200_000
_SEEN_BY_MOST = 0.8416  # a statistic this many standard deviations above its threshold is seen with 80% power


def check_two(
    counts: FactorCounts,
    simulations: int,
    rng: np.random.Generator,
    *,
    pair: tuple[int, int] = (0, 1),
    name: str | None = None,
    rates: Floats | None = None,
    progress: CheckProgress = lambda now, total: None,
    dispersion: Dispersion = BINOMIAL,
) -> Rank1Check:
    """Test two factors of a table, by that many simulated tables at most; with none nothing is tested.

    `rates` are those of the product, where it is fitted already.
    """
    order = np.lexsort(counts.cells.T[::-1])  # so that rows may come in any order
    counts = counts._replace(cells=counts.cells[order], shown=counts.shown[order], clicked=counts.clicked[order])
    shown, clicked, whole = counts.shown, counts.clicked, len(counts.factors) == 2
    paired = _paired(counts, pair) if simulations and not whole else None
    test = _Test(counts.cells, counts.sizes, paired, dispersion)
    statistics, fitted = test.measured(shown[None], clicked[None], None if rates is None else rates[None, order])
    statistic, rates = float(statistics[0]) / dispersion.value, fitted[0]
    law: Floats = np.zeros(0)
    constraints, testable = _two_constraints(counts) if whole else _constraints(counts, pair, simulations > 0)
    if testable and simulations:
        law = test.simulated(statistic, rates, shown, simulations, rng, progress)
    progress(simulations, simulations)
    p_value = (1 + _reach(law, statistic)) / (1 + len(law)) if len(law) else None
    misfit_rng = generator(int(shown.sum()), int(clicked.sum()), "misfit")
    return Rank1Check(
        name=name or listed([counts.factors[factor] for factor in pair]),
        n_rows=counts.sizes[pair[0]],
        n_cols=counts.sizes[pair[1]],
        outcomes=int(shown.sum()),
        clicks=int(clicked.sum()),
        constraints=constraints,
        statistic=statistic,
        p_value=1.0 if len(law) and statistic < EXACT_TO else p_value,
        simulations=len(law),
        visible=_visible(law, counts, rates, dispersion) if len(law) and whole else None,
        cells=_pair_cells(counts, pair, rates, dispersion),
        dispersion=dispersion,
        sides=tuple(counts.factors[factor] for factor in pair),
        misfit=measure_misfit(counts.cells, counts.sizes, shown, clicked, rates, misfit_rng, dispersion)
        if testable and whole
        else None,
    )


def _paired(counts: FactorCounts, pair: tuple[int, int]) -> tuple[Ints, tuple[int, ...]]:
    """Return the cells with two factors as one, and its sizes."""
    first, second = pair
    numbers = counts.cells[:, first] * counts.sizes[second] + counts.cells[:, second]
    known, numbered = np.unique(numbers, return_inverse=True)
    others = [factor for factor in range(len(counts.factors)) if factor not in pair]
    return np.column_stack([numbered, counts.cells[:, others]]), (len(known), *(counts.sizes[each] for each in others))


class _Test(NamedTuple):
    """The product of levels (`cells`, `sizes`) against one with a value for each pair, or against any rates."""

    cells: Ints
    sizes: tuple[int, ...]
    paired: tuple[Ints, tuple[int, ...]] | None
    dispersion: Dispersion

    def measured(self, shown: Ints, clicked: Ints, rates: Floats | None = None) -> tuple[Floats, Floats]:
        """Return the likelihood-ratio statistic of each table (tables, cells), and the rates of its product."""
        rates = product_rates(self.cells, self.sizes, shown, clicked) if rates is None else rates
        statistics = deviances(shown, clicked, rates).sum(axis=1)
        if self.paired is not None:
            statistics = statistics - deviances(shown, clicked, product_rates(*self.paired, shown, clicked)).sum(axis=1)
        return np.maximum(statistics, 0.0), rates

    def simulated(
        self, statistic: float, rates: Floats, shown: Ints, simulations: int, rng: Any, progress: CheckProgress
    ) -> Floats:
        """Return simulated statistics, corrected by a second round; fewer than asked for if many reach the statistic.

        The statistics are those of binomial clicks; the one of the data has to be divided by the dispersion.
        """
        once, twice, scale, freedom = np.zeros(0), np.zeros(0), np.zeros(0), self.dispersion.freedom
        while True:
            size = min(max(1, min(_AT_ONCE, _CELLS_AT_ONCE // len(rates))), simulations - len(once))
            outcomes = np.broadcast_to(shown, (size, len(rates)))
            drawn, fitted = self.measured(outcomes, rng.binomial(outcomes, rates))
            again, _ = self.measured(outcomes, rng.binomial(outcomes, fitted))
            once, twice = np.append(once, drawn), np.append(twice, again)
            if math.isfinite(freedom):
                scale = np.append(scale, rng.chisquare(freedom, size) / freedom)
            law = _corrected(once, twice) / (scale if len(scale) else 1.0)
            progress(len(once), simulations)
            if len(once) >= simulations or _reach(law, statistic) >= _ENOUGH:
                return law


def _corrected(once: Floats, twice: Floats) -> Floats:
    """Undo what a round of fitting and simulating does to location and spread."""
    stretch = once.std() / twice.std() if once.std() > 0.0 and twice.std() > 0.0 else 1.0
    return np.asarray(2.0 * once.mean() - twice.mean() + stretch * (once - once.mean()))


def _reach(law: Floats, statistic: float) -> int:
    """How many simulated statistics reach the one of the data, as far as fits are exact."""
    return int(np.count_nonzero(law >= statistic - EXACT_TO))


def _visible(law: Floats, counts: FactorCounts, rates: Floats, dispersion: Dispersion) -> float | None:
    """Relative deviation of every pair's rate, up or down at random, that a test at 5% notices with 80% power.

    A deviation of x adds about x^2 w, w = n p / (1 - p), to a pair's part of the statistic, less the share that fitting
    takes away: the pair's leverage in the information matrix.
    """
    threshold, needed = max(0.0, float(np.quantile(law, 0.95) - law.mean())), 0.0
    for _ in range(20):  # the variance grows with the deviation, as that of a non-central chi-squared
        needed = threshold + _SEEN_BY_MOST * math.sqrt(float(law.var()) + 4.0 * max(0.0, needed))
    used = counts.shown > 0
    row, col = counts.cells[used].T
    shown, rates = counts.shown[used] / dispersion.value, rates[used]
    misses = np.maximum(1.0 - rates, 0.5 / (shown + 1.0))  # a fit of 1 does not mean that a miss is impossible
    weight, border = shown * rates / misses, np.zeros(counts.sizes)
    border[row, col] = weight
    diagonal = np.maximum(border.sum(axis=1), 1e-300)
    slopes, places = border / diagonal[:, None], np.linalg.pinv(places_information(border), 1e-14, hermitian=True)
    own = 1.0 / diagonal + np.einsum("ij,jk,ik->i", slopes, places, slopes)
    variance = own[:, None] - 2.0 * slopes @ places + np.diag(places)
    left = float((weight * np.clip(1.0 - weight * variance[row, col], 0.0, 1.0)).sum())
    return math.sqrt(needed / left) if needed > 0.0 and left > 0.0 else None


def _constraints(counts: FactorCounts, pair: tuple[int, int], counted: bool) -> tuple[int, bool]:
    """Return how many values the pairs of two factors add to the product, and whether these are any.

    Where it is not counted, which takes long, it is as many as if all had been shown.
    """
    if not counted:
        return math.prod(counts.sizes[factor] - 1 for factor in pair), False
    ranks = []
    for cells, sizes in (_paired(counts, pair), (counts.cells, counts.sizes)):
        design = Design.of(cells, sizes, np.ones(len(cells)), np.zeros(len(cells)))
        ranks.append(int(np.linalg.matrix_rank(design.products(design.levels, design.shown))))
    return ranks[0] - ranks[1], ranks[0] > ranks[1]


def _two_constraints(counts: FactorCounts) -> tuple[int, bool]:
    """Return the pairs that are not free to have any rate, and whether there is anything to test at all.

    Every connected part of a table has one scale of its own. A part with a single row or column fits any rates; a part
    that is a tree of pairs has no such constraint and still may break the bounds of values: 0 and 1.
    """
    shown = np.zeros(counts.sizes, bool)
    shown[tuple(counts.cells[counts.shown > 0].T)] = True
    rows = np.flatnonzero(shown.any(axis=1))
    starts = starts_of(shown[rows].sum(axis=1))
    labels = place_components(np.array([0, len(rows)]), starts, np.nonzero(shown)[1], counts.sizes[1])[0]
    parts = [labels == label for label in np.unique(labels[labels >= 0])]
    used = int(shown.any(axis=1).sum() + shown.any(axis=0).sum()) - len(parts)
    testable = any(part.sum() > 1 and shown[:, part].any(axis=1).sum() > 1 for part in parts)
    return int(shown.sum()) - used, testable


def _pair_cells(counts: FactorCounts, pair: tuple[int, int], rates: Floats, dispersion: Dispersion) -> pl.DataFrame:
    """What each pair of two factors was clicked, against what the product expects, the others as they were shown.

    The largest deviation comes first.
    """
    first, second = pair
    size = counts.sizes[second]
    numbers, total = counts.cells[:, first] * size + counts.cells[:, second], counts.sizes[first] * size
    shown, clicked = (np.bincount(numbers, each, total).astype(np.int64) for each in (counts.shown, counts.clicked))
    seen = np.flatnonzero(shown)
    shown, clicked = shown[seen], clicked[seen]
    fitted = np.bincount(numbers, counts.shown * rates, total)[seen] / shown
    own = deviances(shown, clicked, fitted) / dispersion.value
    return pl.DataFrame(
        {
            "row": [str(counts.levels[first][number // size]) for number in seen],
            "col": [str(counts.levels[second][number % size]) for number in seen],
            "outcomes": shown,
            "clicks": clicked,
            "rate": clicked / shown,
            "rank_one_rate": fitted,
            "deviation": np.sign(clicked / shown - fitted) * np.sqrt(own),
        }
    ).sort(pl.col("deviation").abs(), descending=True, maintain_order=True)
