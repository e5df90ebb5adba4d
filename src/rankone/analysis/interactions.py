"""Do factors act each for itself, in a table of counts and in a live experiment?

Counts of days are taken as if every day had been an average one. In a live experiment the policy chose combinations by
what was clicked; its counts are taken as if they had been fixed beforehand, so at a level of 5% the test rejects
products from 1% (uts) to 8% (kl-ucb) of the time (`python -m benchmarks rank1_check`).
"""

from typing import Any

from rankone.analysis.product.day_effects import fit_days
from rankone.clicks.counts.dispersion import BINOMIAL, given_dispersion
from rankone.clicks.counts.factor_counts import FactorCounts, counts_of_arrays
from rankone.clicks.rank1_test.check import SIMULATIONS, check_factors
from rankone.clicks.rank1_test.report import Rank1Report
from rankone.clicks.rank1_test.two_factors import CheckProgress
from rankone.live.database import Database
from rankone.live.experiment import Experiment
from rankone.live.fold.fold import Fold
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
    """Test any number of factors, with the options of `rankone.check_rank1`."""
    scatter = counts.repeats or BINOMIAL if dispersion is None else given_dispersion(dispersion)
    days = fit_days(counts)
    counts = counts if days is None else days.adjusted(counts)
    simulations = whole_number("simulations", SIMULATIONS if simulations is None else simulations, least=20)
    seed, level = whole_number("seed", seed, least=0), number_in("level", level, "(0, 1)", example=0.05)
    rates = product_rates(counts.cells, counts.sizes, counts.shown[None], counts.clicked[None])[0]
    return check_factors(counts, rates, scatter, simulations=simulations, level=level, seed=seed, progress=progress)


def check_experiment(database: Database, name: str, **options: Any) -> Rank1Report:
    """Test whether click rates of an experiment are a product of its levels', with the options of `check_counts`."""

    def counts(fold: Fold) -> FactorCounts:
        levels = {factor: each.names for factor, each in fold.factors.items()}
        return counts_of_arrays(fold.pulls.copy(), fold.clicks.copy(), levels)

    database.number(name)  # it must be there
    return check_counts(Experiment(name, db=database).look(counts), **options)
