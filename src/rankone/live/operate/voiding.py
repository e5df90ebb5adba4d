"""Decisions that nobody told for long are closed, some at a time: others shall not wait long."""

from __future__ import annotations

import functools

from rankone.live.commit import operator_events
from rankone.live.commit.transactions import Transactions
from rankone.live.fold.fold import Fold
from rankone.live.fold.fold_cache import CachedFold
from rankone.live.journal.events import Draft

_AT_ONCE = 10_000  # decisions voided in one commit


def void_old(
    transactions: Transactions, of: CachedFold, by: str | None, age: int, source: str | None, token: str | None
) -> int:
    """Void what has been open for so many microseconds and was asked with this source or token; return how many."""

    def plan(some: list[int], fold: Fold, draft: Draft) -> int:
        still = [number for number in operator_events.open_for(fold, age, draft.at, some) if number not in fold.held]
        if source is not None or token is not None:
            still = transactions.storage.asked_by(of.number, still, source, token)
        operator_events.draft_voids(fold, draft, still)
        return len(still)

    old = transactions.look(of, lambda fold: operator_events.open_for(fold, age, of.time.now()))
    stretches = [old[first : first + _AT_ONCE] for first in range(0, len(old), _AT_ONCE)]
    return sum(transactions.change(of, functools.partial(plan, some), by) for some in stretches)
