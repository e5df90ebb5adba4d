"""Does rank 1 hold? A goodness-of-fit test of P(click) = product over factors of a level's value, on counts.

Of three factors or more every two are tested (`rankone.clicks.rank1_test.two_factors`), and all these tests together
keep the error rate (Holm's rule). There the work is bounded: larger tables get fewer simulations, and two factors that
would get too few are not tested, which is said.
"""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from rankone.clicks.counts.counts import Counts, position_title
from rankone.clicks.counts.dispersion import BINOMIAL, Dispersion, given_dispersion
from rankone.clicks.counts.factor_counts import FactorCounts, as_pair_counts
from rankone.clicks.counts.frames import ONLY_QUERY
from rankone.clicks.rank1_test.misfit import measure_misfit
from rankone.clicks.rank1_test.report import Rank1Report
from rankone.clicks.rank1_test.two_factors import CheckProgress, check_two
from rankone.errors import InputError
from rankone.numerics.arrays import Floats
from rankone.numerics.seeds import generator
from rankone.progress import as_progress
from rankone.specs import number_in, whole_number

SIMULATIONS = 999
_PER_QUERY = 5  # simulations for each query at error rate 1, so that the smallest p-value can survive Holm's rule
_WORK = 3e10  # operations for all tests together, about half a minute
_STEPS, _OVERHEAD = 10.0, 1e5  # Newton steps of a fit, and what a step costs however small it is, in operations
_LEAST = 99  # simulations below which a p-value is too coarse to be of use


def check_rank1(
    counts: Counts | Sequence[FactorCounts] | tuple[object, object],
    *,
    simulations: int | None = None,
    level: float = 0.05,
    seed: int = 0,
    dispersion: float | None = None,
    progress: CheckProgress | bool | None = None,
) -> Rank1Report:
    """Test whether click rates are a product of a row's and a column's.

    Args:
        counts: counts of a click log, whose queries are tested one by one; or two (K, L) arrays, shown and clicked; or
            tables with names (`rankone.clicks.as_pair_counts`).
        simulations: tables to simulate at most; default 999, and more with many queries.
        level: error rate of the report, for all queries together (Holm's rule).
        seed: of the random numbers.
        dispersion: how much more than binomially clicks scatter, 1.9 say; default: as repeated rows say, and else 1.
        progress: True for a bar, or a function, called with simulations done and simulations in all.

    >>> import rankone
    >>> shown, clicked = [[1000, 1000], [1000, 1000]], [[400, 100], [200, 51]]
    >>> report = rankone.check_rank1((shown, clicked))
    >>> report.doubtful, report.p_value > 0.5
    (False, True)
    >>> rankone.check_rank1((shown, [[400, 100], [100, 400]])).p_value
    0.001
    """
    tables, level = _tables(counts), number_in("level", level, "(0, 1)", example=0.05)
    given = None if dispersion is None else given_dispersion(dispersion)
    if simulations is None:
        simulations = max(SIMULATIONS, math.ceil(_PER_QUERY * len(tables) / level))
    whole_number("simulations", simulations, least=20)
    done = as_progress(progress, "simulations")
    checks = []
    for number, table in enumerate(tables):
        rng = generator(whole_number("seed", seed, least=0), "check-rank1", table.name)
        scatter = given or table.repeats or BINOMIAL
        report = _part_of(done, number, len(tables))
        checks.append(check_two(table, simulations, rng, name=table.name, progress=report, dispersion=scatter))
    return Rank1Report(tuple(checks), level)


def check_factors(
    counts: FactorCounts,
    rates: Floats,
    dispersion: Dispersion,
    *,
    simulations: int,
    level: float,
    seed: int,
    progress: CheckProgress = lambda now, total: None,
) -> Rank1Report:
    """Test every two of two factors or more; `rates` are those of the combinations by the likeliest product.

    `simulations` are the tables to simulate for each two factors, `level` the error rate of all tests together.
    """
    if len(counts.factors) < 2:
        raise InputError("two factors or more", f"one ({counts.factors[0]})", "one alone is a product in any case")
    pairs = list(combinations(range(len(counts.factors)), 2))
    given: dict[str, Any] = {"rates": rates, "dispersion": dispersion}
    if len(pairs) == 1:
        rng = generator(seed, "check-rank1", ONLY_QUERY)
        return Rank1Report((check_two(counts, simulations, rng, progress=progress, **given),), level)
    if simulations >= SIMULATIONS:  # with many factors more, so that the smallest p-value can survive Holm's rule
        simulations = max(simulations, math.ceil(2 * len(pairs) / level))
    checks = []
    for number, pair in enumerate(pairs):
        able = min(simulations, int(_WORK / len(pairs) / _work(counts, *pair)))
        rng = generator(seed, "analyse", *(counts.factors[each] for each in pair))
        report = _part_of(progress, number, len(pairs))
        enough = able >= min(simulations, _LEAST)
        checks.append(check_two(counts, able if enough else 0, rng, pair=pair, progress=report, **given))
    rng = generator(seed, "analyse", "misfit")
    misfit = measure_misfit(counts.cells, counts.sizes, counts.shown, counts.clicked, rates, rng, dispersion)
    return Rank1Report(tuple(checks), level, of_factors=True, of_all=misfit)


def _part_of(progress: CheckProgress, number: int, count: int) -> CheckProgress:
    return lambda now, total: progress(number * total + now, count * total)


def _work(counts: FactorCounts, first: int, second: int) -> float:
    """Operations of a simulation: two rounds of fitting the product and the product with one value for each pair."""
    pairs = len(np.unique(counts.cells[:, first] * counts.sizes[second] + counts.cells[:, second]))
    alone = sum(counts.sizes)
    together = alone - counts.sizes[first] - counts.sizes[second] + pairs
    cells = 10.0 * len(counts.cells) * len(counts.factors) ** 2
    return 2.0 * _STEPS * sum(levels**3 / 3.0 + 8.0 * levels**2 + cells + _OVERHEAD for levels in (alone, together))


def _tables(counts: Counts | Sequence[FactorCounts] | tuple[object, object]) -> list[FactorCounts]:
    if isinstance(counts, Counts):
        return [_query_table(counts, query) for query in counts.queries["query"]]
    if isinstance(counts, tuple | list) and not isinstance(counts, FactorCounts):
        tables = [table for table in counts if isinstance(table, FactorCounts)]
        if tables and len(tables) == len(counts):
            return tables
        if len(counts) == 2:
            return [as_pair_counts(*counts)]
    expected = "counts, or a pair of arrays (shown, clicked)"
    raise InputError(expected, type(counts).__name__, "see rankone.clicks.count and rankone.clicks.read")


def _query_table(counts: Counts, query: str) -> FactorCounts:
    """Return one query of a click log: rows are its items, columns its positions, in the order in which they come."""
    cells = counts.cells.filter(pl.col("query") == query)
    names = [cells[side].unique(maintain_order=True) for side in ("item", "position")]
    where = tuple(
        cells[known.name].replace_strict(known, np.arange(len(known)), return_dtype=pl.Int64).to_numpy()
        for known in names
    )
    shown, clicks = np.zeros((2, len(names[0]), len(names[1])))
    shown[where], clicks[where] = cells["impressions"].to_numpy(), cells["clicks"].to_numpy()
    titles = [position_title(counts.position_names, position) for position in names[1]]
    return as_pair_counts(shown, clicks, row_names=names[0].to_list(), col_names=titles, name=query)
