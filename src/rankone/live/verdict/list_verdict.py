"""What a ranking states about its items: the present list, who surely belongs to the best, whether that is proven.

The proof is that of `rankone.evidence.lists`. The present list is what the policy shows most by now; once the best
items, or their order, are proven, it is those.
"""

from typing import NamedTuple

from rankone.evidence.lists import ListClaims, list_standing
from rankone.live.fold.list_fold import ListFold
from rankone.live.lists import IN, OPEN, OUT


class ListVerdict(NamedTuple):
    """What is stated of a ranking; items are numbered as the ranking has them."""

    present: list[int]
    standing: list[str]  # of each living item
    progress: float  # part of the comparisons that the verdict needs that are proven
    doubt: float  # the error at which what the settings ask for would be proven
    set_proven: bool
    order_proven: bool  # and that the items are the best; where all fit into the list, the order alone
    good_enough: bool
    decided: bool  # what the settings ask for is proven
    over_control: str | None = None  # the policy's own lists get "more" or "fewer" clicks than the control's


def present_list(fold: ListFold) -> list[int]:
    """Return the numbers of the items of the present list, from the top."""
    return list_verdict(fold).present


def list_verdict(fold: ListFold) -> ListVerdict:
    """Return what a ranking states by now."""
    living, evidence, error = fold.live[0], fold.evidence, fold.evidence.error
    size = min(fold.positions, len(living))
    usual = [int(place) for place in fold.policys_order()[:size]]
    if not evidence.fits or evidence.fault:
        return ListVerdict(living[usual].tolist(), [OPEN] * len(living), 0.0, 1.0, False, False, False, False)
    claims = ListClaims(error, len(living), size)
    found = list_standing(evidence.in_time, claims)
    alone = len(living) == size  # there is no other item that could belong to the list
    set_proven, enough = found.doubt <= error and not alone, found.enough_doubt <= error and not alone
    order_proven = found.order_doubt <= error and size > 1
    present = [int(place) for place in found.best] if set_proven or enough or order_proven else usual
    sides = zip(found.inside.tolist(), found.outside.tolist(), strict=True)
    standing = [IN if inside else OUT if outside else OPEN for inside, outside in sides]
    if set_proven:
        standing = [IN if place in present else OUT for place in range(len(living))]
    decided, progress, doubt = set_proven or enough, found.proven, 1.0 if alone else found.doubt
    if fold.settings.stopping.decide == "order":
        decided, progress, doubt = order_proven, found.order_proven, found.order_doubt
    more, fewer = (evidence.versus.proof[0, 1] >= claims.of_lists, evidence.versus.proof[1, 0] >= claims.of_lists)
    over = "more" if more else "fewer" if fewer else None
    return ListVerdict(
        living[present].tolist(), standing, progress, doubt, set_proven, order_proven, enough, decided, over
    )
