"""Evidence about the items of lists, whatever the click model: who beats whom, and which items belong to the top.

A visitor clicks at position k with probability E_k q(a_k), where q is the attraction of the item alone and E_k any
function of the position, the time, the visitor, and the items and clicks above. Of the clicks there on either of two
items, ``P(it was on x) = a q_x / (a q_x + b q_y)``, a and b being the probabilities given the items above
(`rankone.evidence.list_chances.chances_at`): the test of `rankone.evidence.levels`, a click of a list in the place of
a click of a visitor. Silence is weighed on pages of one position only. Why that holds, what it assumes and how
statements share the error (`ListClaims`): `docs/proofs.md`.

Where items come or go, all begins anew: what is stated then is a new statement, and reports say so.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rankone.evidence.levels import (
    Evidence,
    remember,
    start_evidence,
    uses_nonclicks,
    weigh_click,
    weigh_nonclick,
)
from rankone.evidence.list_chances import CONTROL_LIST, OWN, chances_at
from rankone.numerics.arrays import Ints, Mask

MOST_ITEMS = 200  # evidence about each pair: more items take too much memory


def start_list_evidence(n_items: int, n_positions: int, margin: float = 0.0) -> Evidence:
    """Return evidence about items before the first click: one factor, the levels of which are the items.

    By the part `margin` of its attraction an item may lose and still be good enough; 0: nobody asks.
    """
    return start_evidence((n_items,), margin_ratio=1.0 + margin, silence=n_positions == 1)


def weigh_list(
    evidence: Any, lottery: Any, allowed: Any, pinned: Any, shown: Any, kind: int, clicked: Any, cross: Any
) -> bool:
    """Learn from the outcome of one list; return False where its probabilities are not known.

    It was drawn as `draw_list` says; `clicked` has 1 or 0 for each position, 0 where it was not seen. `cross` is
    scratch space for the items.
    """
    known, alone = True, len(shown) == 1 and evidence.silent.shape[2] > 0
    for position in range(len(shown)):
        silence = alone and not clicked[position] and uses_nonclicks(evidence)
        if pinned[position] < 0 and (clicked[position] or silence):
            known = chances_at(lottery, allowed, pinned, shown, kind, position, cross)
            if not known:
                break
            if clicked[position]:
                weigh_click(evidence, shown[position : position + 1], cross)
            else:
                weigh_nonclick(evidence, shown[position : position + 1], cross)
    if alone and pinned[0] < 0:
        remember(evidence, shown, clicked[0])
    return known


def start_comparison() -> Evidence:
    """Return evidence that the present list (level 0) beats the start list (level 1), or the other way round."""
    return start_evidence((2,), silence=False)


def compare_lists(evidence: Any, shares: Any, kind: int, any_click: bool) -> None:
    """Learn which of the two lists a clicked list was, where it was the policy's own or the start list.

    Their shares are those before the draw; "own" is what the policy showed at the time, not one fixed list.
    """
    if any_click and kind in (OWN, CONTROL_LIST):
        weigh_click(evidence, np.array([0 if kind == OWN else 1]), np.array([shares[OWN], shares[CONTROL_LIST]]))


class ListClaims(NamedTuple):
    """How much log evidence statements take."""

    error: float  # of each statement
    n_items: int
    n_positions: int

    def _bar(self, pairs: float) -> float:
        return math.log(max(pairs, 1.0) / self.error)

    @property
    def of_set(self) -> float:
        """Of each pair, for "these are the best", and for "good enough"."""
        return self._bar(self.n_positions * (self.n_items - self.n_positions))

    @property
    def of_pairs(self) -> float:
        """Of a pair, for "x beats y", and of who surely belongs to the best or does not.

        >>> round(ListClaims(0.05, 10, 3).of_pairs, 2)
        7.5
        """
        return self._bar(self.n_items * (self.n_items - 1))

    @property
    def of_order(self) -> float:
        """Of each pair, for "these are the best, in this order"."""
        return self._bar(self.n_items * (self.n_items - 1) / 2)

    @property
    def of_lists(self) -> float:
        """For "the present list beats the start list", or the other way round."""
        return self._bar(2)


class ListStanding(NamedTuple):
    """What can be said of the items of a ranking."""

    best: Ints  # (K,) the items that come closest to being proven the best, in the order in which they lead
    doubt: float  # how wrong "these are the best" may be: proven where that is at most the error; at most 1
    enough_doubt: float  # the same of "good enough"
    order_doubt: float  # the same of "these are the best, in this order"
    proven: float  # part of the pairs of "these are the best" that are proven; 1: there are none
    order_proven: float  # the same of "these are the best, in this order"
    inside: Mask  # (L,) surely belongs to the best
    outside: Mask  # (L,) surely does not


def list_standing(evidence: Evidence, claims: ListClaims) -> ListStanding:
    """Return what can be said of the items.

    >>> known = start_list_evidence(4, 2)
    >>> known.proof[:2, 2:] = 9.0
    >>> result = list_standing(known, ListClaims(0.05, 4, 2))
    >>> sorted(result.best.tolist()), result.doubt < 0.05, result.inside.tolist(), result.outside.tolist()
    ([0, 1], True, [True, True, False, False], [False, False, True, True])
    """
    proof, ahead, size = evidence.proof, evidence.now - evidence.now.T, min(claims.n_positions, claims.n_items)
    beats = proof >= claims.of_pairs
    beaten = (proof >= claims.of_set) & ~np.eye(len(proof), dtype=bool)
    lead = np.clip(ahead, -claims.of_pairs, claims.of_pairs).sum(axis=1)
    ranked = np.lexsort((-lead, -beaten.sum(axis=1)))
    best, pairs = ranked[:size], np.ix_(ranked[:size], ranked[size:])
    order = best[np.argsort(-ahead[np.ix_(best, best)].sum(axis=1), kind="stable")]
    asked, of_set = evidence.margin_ratio[0] >= 0, proof[pairs].ravel()
    of_order = np.append(of_set, proof[order[:-1], order[1:]])
    return ListStanding(
        order,
        _doubt(of_set, claims.of_set, claims.error),
        _doubt(np.maximum(evidence.enough, proof)[pairs], claims.of_set, claims.error) if asked else 1.0,
        _doubt(of_order, claims.of_order, claims.error),
        float((of_set >= claims.of_set).mean()) if of_set.size else 1.0,
        float((of_order >= claims.of_order).mean()) if of_order.size else 1.0,
        beats.sum(axis=1) >= len(proof) - size,
        beats.sum(axis=0) >= size,
    )


def _doubt(proof: Any, bar: float, error: float) -> float:
    """Return how wrong a statement may be of which the weakest pair has so much evidence; at the bar it is `error`."""
    return min(1.0, error * math.exp(bar - float(proof.min(initial=math.inf)))) if proof.size else 0.0
