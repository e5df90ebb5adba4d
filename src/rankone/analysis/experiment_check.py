"""Is a live experiment's click rate a product of its factors? Of two the policy plays again, of more counts are tested.

With three factors and more the counts are taken as if they had been fixed beforehand, which a policy's are not; on
pairs such a test at 5 % rejects from 1.4 % (uts) to 7.7 % of the time (kl-ucb, see docs/check-rank1.md).
"""

from __future__ import annotations

from typing import Any

from rankone.analysis.interactions import check_factors
from rankone.clicks.counts.factor_counts import counts_of_arrays
from rankone.clicks.rank1_test.report import Rank1Report
from rankone.serving.database import Database
from rankone.serving.journal_reading import begin, each_stretch
from rankone.serving.rank1_test import check_experiment as check_pairs


def check_experiment(database: Database, name: str, **wishes: Any) -> Rank1Report:
    """Test the product of a live experiment with any number of factors; `wishes` are those of `check_rank1`."""
    with database.reader() as storage:
        number = storage.number(name)
        storage.hold_still()  # or an archive could take away what is about to be read
        fold = begin(storage, number, with_policy=False)
        for _ in each_stretch(storage, number, fold):
            pass  # each is folded as it comes
    if len(fold.factors) == 2:
        return check_pairs(database, name, **wishes)
    levels = {factor: each.names for factor, each in fold.factors.items()}
    return check_factors(counts_of_arrays(fold.pulls, fold.clicks, levels), **wishes)
