"""Do the factors of a table act each for itself? Counts of days are taken as if every day had been an average one."""

from __future__ import annotations

from rankone.analysis.product.day_effects import fit_days
from rankone.clicks.counts.dispersion import BINOMIAL, given_dispersion
from rankone.clicks.counts.factor_counts import FactorCounts
from rankone.clicks.rank1_test.check import SIMULATIONS, check_factors
from rankone.clicks.rank1_test.report import Rank1Report
from rankone.clicks.rank1_test.two_factors import CheckProgress
from rankone.numerics.product_fit import product_rates
from rankone.specs import number_in, whole_number


def check_counts(
    counts: FactorCounts,
    *,
    simulations: int | None = None,
    level: float = 0.05,
    seed: int = 0,
    dispersion: float | None = None,
    progress: CheckProgress = lambda now, total: None,
) -> Rank1Report:
    """Test any number of factors, with the wishes of `rankone.check_rank1`."""
    scatter = counts.repeats or BINOMIAL if dispersion is None else given_dispersion(dispersion)
    days = fit_days(counts)
    counts = counts if days is None else days.adjusted(counts)
    return check_factors(
        counts,
        product_rates(counts.cells, counts.sizes, counts.shown[None], counts.clicked[None])[0],
        scatter,
        simulations=whole_number("simulations", SIMULATIONS if simulations is None else simulations, least=20),
        level=number_in("level", level, "(0, 1)", example=0.05),
        seed=whole_number("seed", seed, least=0),
        progress=progress,
    )
