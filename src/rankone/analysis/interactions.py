"""Do factors act each for itself, in a table of counts and in a live experiment?

Counts of days are taken as if every day had been an average one.

In a live experiment the policy chose pairs by what was clicked. The statistic is that of
`rankone.clicks.rank1_test.check`, but its law under rank 1 depends on how pairs were chosen: on counts taken as if they
had been fixed beforehand, a test at 5% rejects from almost never (uts) to 8% of the time (kl-ucb). So every simulated
experiment is played by the same policy, asked and told in the order of the journal, in a world with the fitted rank-1
rates. After a stop the pair with most outcomes gets the rest.

Experiments that were changed on the way (levels, policy, exclusions), or archived in part, are tested as if their
counts had been fixed, and so are those of three factors and more, every two of them.
"""

from typing import Any

import numpy as np

from rankone.analysis.product.day_effects import fit_days
from rankone.clicks.counts.dispersion import BINOMIAL, given_dispersion
from rankone.clicks.counts.factor_counts import FactorCounts, counts_of_arrays
from rankone.clicks.rank1_test.check import SIMULATIONS, check_factors
from rankone.clicks.rank1_test.report import PLAYED_AGAIN, Rank1Report
from rankone.clicks.rank1_test.two_factors import CheckProgress, Redraw, check_two
from rankone.live.database import Database
from rankone.live.fold.journal_reading import begin, each_stretch
from rankone.live.fold.policy_events import POLICY_EVENTS
from rankone.live.journal.events import DECISION, KIND, Kind
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.product_fit import product_rates
from rankone.numerics.seeds import generator
from rankone.policies import Policy
from rankone.policies.advance import LEARN, NOTHING
from rankone.policies.scheduled_play import Schedule, replay_schedule
from rankone.specs import number_in, whole_number

_SIMULATIONS = 199


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


def check_experiment(
    database: Database,
    name: str,
    *,
    simulations: int | None = None,
    level: float = 0.05,
    seed: int = 0,
    dispersion: float | None = None,
    progress: CheckProgress = lambda now, total: None,
) -> Rank1Report:
    """Test whether the click rates of an experiment are a product of its levels', with the options of `check_rank1`.

    `simulations` say how often it is played again (twice each), by default 199 times, and fewer where the p-value is
    large; of three factors and more, how many tables are simulated, by default 999. `dispersion` is 1 by default.
    """
    with database.reader() as storage:
        number = storage.number(name)
        storage.hold_still()  # or an archive could take away what is about to be read
        fold = begin(storage, number, with_policy=False)
        parts = [events.numbers for events in each_stretch(storage, number, fold)]
    two = len(fold.factors) == 2
    usual = _SIMULATIONS if two else SIMULATIONS
    simulations = whole_number("simulations", usual if simulations is None else simulations, least=20)
    rng = generator(whole_number("seed", seed, least=0), "check-rank1", name)
    level = number_in("level", level, "(0, 1)", example=0.05)
    scatter = BINOMIAL if dispersion is None else given_dispersion(dispersion)
    again = two and len(fold.eras) == 1 and not fold.archives  # then it may show what it did not show
    levels = {factor: each.names for factor, each in fold.factors.items()}
    counts = counts_of_arrays(fold.pulls, fold.clicks, levels, every=again)
    if not two:
        given: dict[str, Any] = {"simulations": simulations, "level": level, "seed": seed, "progress": progress}
        return check_counts(counts, dispersion=dispersion, **given)
    given = {"name": name, "dispersion": scatter, "progress": progress}
    if again:
        redraw = played_again(fold.policy, counts.sizes, *_schedule(np.concatenate(parts)))
        given |= {"redraw": redraw, "method": PLAYED_AGAIN}
    return Rank1Report((check_two(counts, simulations, rng, **given),), level)


def _schedule(numbers: Ints) -> tuple[Schedule, int]:
    """Return what the policy was asked and told up to a stop, and how many outcomes the winner had after it."""
    stops = np.flatnonzero(numbers[:, KIND] == Kind.STOP)
    asks = np.flatnonzero(numbers[:, KIND] == Kind.ASK)
    own = len(asks) if not len(stops) else int(np.searchsorted(asks, stops[0]))
    what, decision = POLICY_EVENTS[numbers[:, KIND]], numbers[:, DECISION]
    before = (what != NOTHING) & (decision < own)
    after = int(np.count_nonzero((what == LEARN) & (decision >= own)))
    return Schedule(what[before], decision[before]), after


def played_again(policy: Policy, sizes: tuple[int, ...], schedule: Schedule, after: int = 0) -> Redraw:
    """Draw tables by playing the policy; `after` more outcomes go to the pair that has most."""

    def redraw(rates: Floats, rng: np.random.Generator) -> tuple[Ints, Ints]:
        shown, clicked = np.zeros((2, *rates.shape), np.int64)
        for number, world in enumerate(rates):
            _, pulls, clicks = replay_schedule(policy, world.reshape(sizes), schedule, rng)
            shown[number], clicked[number] = pulls.ravel(), clicks.ravel()
            winner = int(shown[number].argmax())
            shown[number, winner] += after
            clicked[number, winner] += rng.binomial(after, world[winner])
        return shown, clicked

    return redraw
