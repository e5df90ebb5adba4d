"""Does rank 1 hold? A goodness-of-fit test of P(click | i, j) = u_i v_j, 0 <= u, v <= 1, on counts.

The statistic is the likelihood ratio of the rank-1 maximum against a rate of its own for every pair. Where pairs have
few outcomes its law is far from chi-squared, and parametric simulation from the fitted rates rejects too often, because
fitted rates follow the noise. So each simulated table is fitted and simulated once more (Davidson and MacKinnon,
"Improving the reliability of bootstrap tests with the fast double bootstrap", 2007): what a round of fitting and
simulating does to location and spread of the statistic is undone in the first round.

Pairs chosen by what was clicked before, as in a live experiment, have another law; `redraw` then has to choose them
again. The second figure, `p_anytime`, needs no simulation: the mixture of `rankone.numerics.mixture` over the
likelihood of the rank-1 maximum has mean at most 1 whatever rank-1 rates are true, so its inverse is a p-value for any
rule of choosing and stopping (universal inference: Wasserman, Ramdas, Balakrishnan 2020). It asks for much more data.

Where clicks scatter more than binomially (`rankone.clicks.counts.dispersion`) the statistic is divided by the
dispersion; an estimated one adds its own scatter to the simulated statistics. `p_anytime` has no such remedy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Floats, Ints
from rankone.clicks.counts.counts import Counts
from rankone.clicks.counts.dispersion import BINOMIAL, Dispersion, given_dispersion
from rankone.clicks.counts.pair_counts import PairCounts, as_pair_counts, query_counts
from rankone.clicks.models.components import place_components
from rankone.clicks.models.uncertainty import eliminate
from rankone.clicks.rank1_test.fit import EXACT_TO, deviances, fit_tables, statistics
from rankone.clicks.rank1_test.misfit import Misfit, measure_misfit
from rankone.clicks.rank1_test.report import Rank1Check, Rank1Report
from rankone.compiling.compiled import compiled
from rankone.errors import InputError
from rankone.numerics.mixture import mixture_regret
from rankone.numerics.seeds import generator
from rankone.progress import as_progress
from rankone.specs import whole_number

#: Draws outcomes once more, given rates (tables, K, L): returns pulls and clicks of the same shape.
Redraw = Callable[[Floats, np.random.Generator], tuple[Ints, Ints]]
#: Called while tables are simulated: simulations done, simulations in all.
CheckProgress = Callable[[int, int], None]
#: Measures tables (pulls, clicks): returns their statistics and the fitted rates to simulate from.
Measure = Callable[[Ints, Ints], tuple[Floats, Floats]]

FIXED = "the outcomes of each pair drawn again, as many as there were"
_SIMULATIONS = 999
_PER_QUERY = 5  # simulations for each query at error rate 1, so that the smallest p-value can survive Holm's rule
_ENOUGH = 50  # tables as far from rank 1 as the data: the p-value is known well enough (Besag and Clifford 1991)
_AT_ONCE, _CELLS_AT_ONCE = 20, 2_000_000  # few, so that progress is seen while a long experiment is played again
_SEEN_BY_MOST = 0.8416  # a statistic this many standard deviations above its threshold is seen with 80 % power


def check_rank1(
    counts: Counts | Sequence[PairCounts] | tuple[object, object],
    *,
    simulations: int | None = None,
    level: float = 0.05,
    seed: int = 0,
    dispersion: float | None = None,
    progress: CheckProgress | bool | None = None,
) -> Rank1Report:
    """Test whether click rates are a product of a row's and a column's.

    Args:
        counts: counts of a click log, whose queries are tested one by one; or a pair of (K, L) arrays: how often each
            pair was shown, and how often it was clicked; or tables with names (`rankone.clicks.as_pair_counts`).
        simulations: tables to simulate; default 999, and more with many queries. Fewer are made where the p-value is
            large, as is soon clear.
        level: error rate at which the report speaks of doubt, for all queries together (Holm's rule).
        seed: of the random numbers.
        dispersion: how much more than binomially clicks scatter, 1.9 say; default: as estimated from repeated rows of a
            file of counts, and else 1. The report says which.
        progress: True for a bar, or a function, called with simulations done and simulations in all.

    >>> import rankone
    >>> shown, clicked = [[1000, 1000], [1000, 1000]], [[400, 100], [200, 51]]
    >>> report = rankone.check_rank1((shown, clicked))
    >>> report.doubtful, report.p_value > 0.5
    (False, True)
    >>> rankone.check_rank1((shown, [[400, 100], [100, 400]])).p_value
    0.001
    """
    tables, level = _tables(counts), checked_level(level)
    given = None if dispersion is None else given_dispersion(dispersion)
    if simulations is None:
        simulations = max(_SIMULATIONS, math.ceil(_PER_QUERY * len(tables) / level))
    whole_number("simulations", simulations, least=20)
    done = as_progress(progress, "simulations")
    checks = []
    for place, table in enumerate(tables):

        def report(now: int, total: int, before: int = place) -> None:
            done(before * total + now, len(tables) * total)

        rng = generator(whole_number("seed", seed, least=0), "check-rank1", table.name)
        scatter = given or table.repeats or BINOMIAL
        checks.append(check_table(table, simulations, rng, progress=report, dispersion=scatter))
    return Rank1Report(tuple(checks), level)


def checked_level(level: float) -> float:
    """Return a level that makes sense."""
    if not 0.0 < level < 1.0:
        raise InputError("a level between 0 and 1", level, "try level=0.05")
    return level


def check_table(
    table: PairCounts,
    simulations: int,
    rng: np.random.Generator,
    redraw: Redraw | None = None,
    method: str = FIXED,
    progress: CheckProgress = lambda now, total: None,
    dispersion: Dispersion = BINOMIAL,
) -> Rank1Check:
    """Test one table; `redraw` draws outcomes as they came about, by default as many of each pair as there were."""
    pulls, clicks = table.pulls, table.clicks
    rates = fit_tables(pulls[None], clicks[None])[0]
    own = deviances(pulls, clicks, rates) / dispersion.value
    statistic = float(own.sum())
    evidence = statistic / 2.0 - float(compiled(_total_regret, __name__)(pulls.ravel(), clicks.ravel()))
    p_value, visible, done = None, None, 0
    constraints, testable = _constraints(pulls)
    if testable:
        draw = redraw or (lambda rates, rng: (np.broadcast_to(pulls, rates.shape), rng.binomial(pulls, rates)))
        law = simulated(statistic, rates, draw, simulations, rng, progress, dispersion=dispersion)
        done = len(law)
        p_value = 1.0 if statistic < EXACT_TO else (1 + reach(law, statistic)) / (1 + done)
        visible = _visible(law, pulls / dispersion.value, rates)
    progress(simulations, simulations)
    return Rank1Check(
        name=table.name,
        n_rows=pulls.shape[0],
        n_cols=pulls.shape[1],
        outcomes=int(pulls.sum()),
        clicks=int(clicks.sum()),
        constraints=constraints,
        statistic=statistic,
        p_value=p_value,
        p_anytime=math.exp(min(0.0, -evidence)) if testable and dispersion.value == 1.0 else 1.0,
        simulations=done,
        method=method,
        visible=visible,
        cells=deviation_cells(table, rates, own),
        dispersion=dispersion,
        misfit=_misfit(pulls, clicks, rates, dispersion) if testable else None,
    )


def _misfit(pulls: Ints, clicks: Ints, rates: Floats, dispersion: Dispersion) -> Misfit | None:
    cells = np.argwhere(pulls)
    where, rng = tuple(cells.T), generator(int(pulls.sum()), int(clicks.sum()), "misfit")
    return measure_misfit(cells, pulls.shape, pulls[where], clicks[where], rates[where], rng, dispersion)


def simulated(
    statistic: float,
    rates: Floats,
    redraw: Redraw,
    simulations: int,
    rng: np.random.Generator,
    progress: CheckProgress,
    measure: Measure = statistics,
    dispersion: Dispersion = BINOMIAL,
) -> Floats:
    """Return simulated statistics, corrected by a second round; fewer than asked for if many reach the statistic.

    The statistics are those of binomial clicks; the one of the data has to be divided by the dispersion.
    """
    once, twice, scale = np.zeros(0), np.zeros(0), np.zeros(0)
    batch = max(1, min(_AT_ONCE, _CELLS_AT_ONCE // rates.size))
    while True:
        size = min(batch, simulations - len(once))
        drawn, fitted = measure(*redraw(np.broadcast_to(rates, (size, *rates.shape)), rng))
        again, _ = measure(*redraw(fitted, rng))
        once, twice = np.append(once, drawn), np.append(twice, again)
        if math.isfinite(dispersion.freedom):
            scale = np.append(scale, rng.chisquare(dispersion.freedom, size) / dispersion.freedom)
        law = _corrected(once, twice) / (scale if len(scale) else 1.0)
        progress(len(once), simulations)
        if len(once) >= simulations or reach(law, statistic) >= _ENOUGH:
            return law


def _corrected(once: Floats, twice: Floats) -> Floats:
    """Undo what a round of fitting and simulating does to location and spread."""
    stretch = once.std() / twice.std() if once.std() > 0.0 and twice.std() > 0.0 else 1.0
    return np.asarray(2.0 * once.mean() - twice.mean() + stretch * (once - once.mean()))


def reach(law: Floats, statistic: float) -> int:
    """How many simulated statistics reach the one of the data, as far as fits are exact."""
    return int(np.count_nonzero(law >= statistic - EXACT_TO))


def _visible(law: Floats, pulls: Floats, rates: Floats) -> float | None:
    """Relative deviation of every pair's rate, up or down at random, that a test at 5 % notices with 80 % power.

    A deviation of x adds about x^2 w, w = n p / (1 - p), to a pair's part of the statistic, less the share that fitting
    takes away: the pair's leverage in the information matrix of `rankone.clicks.models.uncertainty`.
    """
    threshold, needed = max(0.0, float(np.quantile(law, 0.95) - law.mean())), 0.0
    for _ in range(20):  # the variance grows with the deviation, as that of a non-central chi-squared
        needed = threshold + _SEEN_BY_MOST * math.sqrt(float(law.var()) + 4.0 * max(0.0, needed))
    row, col = np.nonzero(pulls)
    misses = np.maximum(1.0 - rates, 0.5 / (pulls + 1.0))  # a fit of 1 does not mean that a miss is impossible
    weight = (pulls * rates / misses)[row, col]
    parts = eliminate(row, col, weight, pulls.shape[0], pulls.shape[1])
    slopes = parts.border / parts.diagonal[:, None]
    own = 1.0 / parts.diagonal + np.einsum("ij,jk,ik->i", slopes, parts.places, slopes)
    variance = own[:, None] - 2.0 * slopes @ parts.places + np.diag(parts.places)
    left = float((weight * np.clip(1.0 - weight * variance[row, col], 0.0, 1.0)).sum())
    return math.sqrt(needed / left) if needed > 0.0 and left > 0.0 else None


def _constraints(pulls: Ints) -> tuple[int, bool]:
    """Return the pairs that are not free to have any rate, and whether there is anything to test at all.

    Every connected part of a table has one scale of its own. A part with a single row or column fits any rates; a part
    that is a tree of pairs has no such constraint and still may break the bounds u, v <= 1.
    """
    shown = pulls > 0
    rows = np.flatnonzero(shown.any(axis=1))
    starts = np.append(0, np.cumsum(shown[rows].sum(axis=1)))
    labels = place_components(np.array([0, len(rows)]), starts, np.nonzero(shown)[1], pulls.shape[1])[0]
    parts = [labels == label for label in np.unique(labels[labels >= 0])]
    used = int(shown.any(axis=1).sum() + shown.any(axis=0).sum()) - len(parts)
    testable = any(part.sum() > 1 and shown[:, part].any(axis=1).sum() > 1 for part in parts)
    return int(shown.sum()) - used, testable


def _total_regret(pulls: Ints, clicks: Ints) -> float:
    total = 0.0
    for place in range(len(pulls)):
        total += mixture_regret(pulls[place], clicks[place])
    return total


def deviation_cells(table: PairCounts, rates: Floats, own: Floats) -> pl.DataFrame:
    """One row per pair with outcomes, the largest deviation first."""
    row, col = np.nonzero(table.pulls)
    pulls, clicks, fitted = table.pulls[row, col], table.clicks[row, col], rates[row, col]
    deviation = np.sign(clicks / pulls - fitted) * np.sqrt(own[row, col])
    names = {
        "row": [str(table.row_names[place]) for place in row.tolist()],
        "col": [str(table.col_names[place]) for place in col.tolist()],
    }
    numbers = {"outcomes": pulls, "clicks": clicks, "rate": clicks / pulls, "rank_one_rate": fitted}
    return pl.DataFrame(names | numbers | {"deviation": deviation}).sort(
        pl.col("deviation").abs(), descending=True, maintain_order=True
    )


def _tables(counts: Counts | Sequence[PairCounts] | tuple[object, object]) -> list[PairCounts]:
    if isinstance(counts, Counts):
        return [query_counts(counts, query) for query in counts.queries["query"]]
    if isinstance(counts, tuple | list):
        tables = [table for table in counts if isinstance(table, PairCounts)]
        if tables and len(tables) == len(counts):
            return tables
        if len(counts) == 2:
            return [as_pair_counts(*counts)]
    expected = "counts, or a pair of arrays (shown, clicked)"
    raise InputError(expected, type(counts).__name__, "see rankone.clicks.count and rankone.clicks.read")
