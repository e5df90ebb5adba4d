"""What the journal of an experiment that decides at the edge adds up to: published versions, and sums of each."""

from typing import Any

from rankone.live.fold.fold_facts import FoldFacts
from rankone.live.journal.events import Kind


def follow_published(fold: FoldFacts, kind: Kind, details: dict[str, Any]) -> None:
    """Take over a version of the weights, or what was counted of some."""
    published = fold.published
    assert published is not None
    if kind is Kind.PUBLISH:
        published.publish(details, fold.at)
        return
    published.add(details, fold.pulls, fold.clicks)
    fold.asked, fold.decisions = fold.pulls.copy(), int(fold.pulls.sum())
    fold.learned = fold.evidence.weighed = fold.decisions
    fold.evidence.follow_sums(published)
