"""Does rank 1 hold in a live experiment? Its policy chose pairs by what was clicked, so the policy plays once more.

The statistic is that of `rankone.clicks.rank1_test.check`. Its law under rank 1 depends on how pairs were chosen: on
counts taken as if they had been fixed beforehand, a test at 5 % rejects from almost never (uts) to 8 % of the time
(kl-ucb). So every simulated experiment is played by the same policy, asked and told in the order of the
journal, in a world with the fitted rank-1 rates. After a stop the pair with most outcomes gets the rest.

Experiments that were changed on the way (levels, policy, exclusions), or archived in part, are tested as if their
counts had been fixed.
"""

from __future__ import annotations

import numpy as np

from rankone.clicks.counts.dispersion import BINOMIAL, given_dispersion
from rankone.clicks.counts.pair_counts import as_pair_counts
from rankone.clicks.rank1_test.check import FIXED, CheckProgress, Redraw, check_table, checked_level
from rankone.clicks.rank1_test.report import Rank1Report
from rankone.errors import InputError
from rankone.kernels.advance import LEARN, NOTHING
from rankone.kernels.policy import Floats, Ints
from rankone.numerics.seeds import generator
from rankone.policies import Policy
from rankone.policies.scheduled_play import Schedule, rehearse
from rankone.serving.database import Database
from rankone.serving.journal import DECISION, KIND, Kind
from rankone.serving.journal_reading import begin, each_stretch
from rankone.serving.meaning import MEANING
from rankone.specs import whole_number

PLAYED_AGAIN = "the experiment played again by its policy in a rank-1 world"
_SIMULATIONS = 199


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
    """Test whether the click rates of an experiment are a product of a row's and a column's.

    Args:
        database: where the experiment is.
        name: its name.
        simulations: how often to play it again (twice each); default 199, and fewer where the p-value is large.
        level: error rate at which the report speaks of doubt.
        seed: of the random numbers.
        dispersion: how much more than binomially clicks scatter; default 1.
        progress: called with simulations done and simulations in all.
    """
    simulations = whole_number("simulations", _SIMULATIONS if simulations is None else simulations, least=20)
    checked_level(level)
    with database.reader() as storage:
        number = storage.number(name)
        storage.hold_still()  # or an archive could take away what is about to be read
        fold = begin(storage, number, with_policy=False)
        parts = [events.numbers for events in each_stretch(storage, number, fold)]
    if len(fold.factors) != 2:
        do = f"rankone analyse DATABASE '{name}' tests every two factors"
        raise InputError("an experiment with two factors", f"{len(fold.factors)}: {', '.join(fold.factors)}", do)
    rows, cols = (levels.names for levels in fold.factors.values())
    table = as_pair_counts(fold.pulls, fold.clicks, row_names=rows, col_names=cols, name=name)
    redraw = (
        played_again(fold.policy, *_schedule(np.concatenate(parts)))
        if len(fold.eras) == 1 and not fold.archives
        else None
    )
    rng = generator(whole_number("seed", seed, least=0), "check-rank1", name)
    method = FIXED if redraw is None else PLAYED_AGAIN
    scatter = BINOMIAL if dispersion is None else given_dispersion(dispersion)
    return Rank1Report((check_table(table, simulations, rng, redraw, method, progress, scatter),), level)


def _schedule(numbers: Ints) -> tuple[Schedule, int]:
    """Return what the policy was asked and told up to a stop, and how many outcomes the winner had after it."""
    stops = np.flatnonzero(numbers[:, KIND] == Kind.STOP)
    asks = np.flatnonzero(numbers[:, KIND] == Kind.ASK)
    own = len(asks) if not len(stops) else int(np.searchsorted(asks, stops[0]))
    what, decision = MEANING[numbers[:, KIND]], numbers[:, DECISION]
    before = (what != NOTHING) & (decision < own)
    after = int(np.count_nonzero((what == LEARN) & (decision >= own)))
    return Schedule(what[before], decision[before]), after


def played_again(policy: Policy, schedule: Schedule, after: int = 0) -> Redraw:
    """Draw tables by playing the policy; `after` more outcomes go to the pair that has most."""

    def redraw(rates: Floats, rng: np.random.Generator) -> tuple[Ints, Ints]:
        pulls, clicks = np.zeros((2, *rates.shape), np.int64)
        for place, world in enumerate(rates):
            _, pulls[place], clicks[place] = rehearse(policy, world, schedule, rng)
            winner = np.unravel_index(pulls[place].argmax(), world.shape)
            pulls[place][winner] += after
            clicks[place][winner] += rng.binomial(after, world[winner])
        return pulls, clicks

    return redraw
