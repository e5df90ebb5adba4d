"""Evidence about the items of lists, whatever the click model: who beats whom, and which items belong to the top.

**The model.** A visitor who comes at time t to the list a_1, ..., a_n clicks at position k with the probability

    E_k * q(a_k),      E_k >= 0 any function of k, t, the visitor, the items above and the clicks above

where q is the attraction of the item alone. That covers the position-based model (E_k is the examination times what the
site's click rate does at t), cascades (1 down to the first click, then 0), dependent clicks, user browsing (the
distance to the last click above), the examination of DBN, visitors who leave early, what lies below the fold, pinned
items, and any drift of the site. Nothing of E needs to be known.

**The test.** Go down a list, position by position. Given the past, the items above and the clicks above, let a and b be
the probabilities with which x or y would be shown at k (`rankone.evidence.list_chances.chances_at`). Neither is above,
and E_k is the same for both, as it looks at what is above and not at what stands at k. So of the clicks at k on either,

    P(it was on x) = a q_x / (a q_x + b q_y)

and E_k cancels, as s_t does in `rankone.evidence.levels`. With q_x <= q_y, the factor r (a + b) / (a r + b) for a click
on x and (a + b) / (a r + b) for one on y has a mean of at most 1. The factors of one list are multiplied from the top:
each has a mean of at most 1 given those before it, because the clicks of lower positions come later in this order. So
the product over positions and lists is a supermartingale, its average over a grid of ratios is one, and by Ville's
inequality it ever reaches 1 / e with probability at most e: for any policy, however often one looks. It is the test of
`rankone.evidence.levels`, a click of a list in the place of a click of a visitor: a page of one position gives the same
numbers as an experiment with one factor.

Lists without a click say nothing here, except on a page of one position (there, silence is weighed as in
`rankone.evidence.levels`). So probabilities of what else might have been shown are needed for clicked positions only.

The probability has to be that given the items above. How often x stands at k on average is not enough: where clicks end
reading, lists without a click above have weaker items above, and these are not shown as often beside x as beside y.

**What must hold.** The attraction of an item does not depend on the items above it (else "x beats y" means: in the
company in which it was shown). Visitors differ in how far they read, not in which of two items they prefer. Outcomes
are reported, and positions called unseen, without looking at which item stood there. Without a window: equally soon.

**Statements** of L items, each wrong with probability at most e, however often one looks (`ListClaims`):

* *These K of L are the best.* It takes that each of them beats each of the others. If that is wrong, some item that
  does not belong to the best was said to beat one that does; there are K (L - K) such pairs, so each takes evidence K
  (L - K) / e.
* *x belongs to the K best; x does not*, of all items at once: x beats L - K others; K others beat x. With L (L - 1)
  ordered pairs in all, each takes L (L - 1) / e. So does *x beats y* of any two.
* *These are the best, in this order*: each item of the list beats the next, and all others. At most L (L - 1) / 2
  ordered pairs are in the wrong order.
* *Good enough*: no other item is better than one of these K by more than the margin: K (L - K) pairs.
* *The present list beats the start list*, or the other way round: a click on a list of either is a click on one of two
  levels, shown with known shares; two statements.

Where items come or go, all begins anew: evidence at nothing, with the items that are there now. What is stated then is
a new statement, wrong with probability at most e whatever came before: e is that of each stretch between changes, not
of the whole life of a ranking, and reports say so.

What is not said, as it is not valid: the click rate of an item (at which position, at what hour?), an interval for the
clicks of a list, the probability of being best.
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

    Args:
        n_items: at most `MOST_ITEMS`.
        n_positions: of a full list; with one, silence is weighed, too.
        margin: the part of its attraction by which an item may lose and still be good enough; 0: nobody asks.
    """
    return start_evidence((n_items,), margin_ratio=1.0 + margin, silence=n_positions == 1)


def weigh_list(
    evidence: Any, lottery: Any, allowed: Any, pinned: Any, shown: Any, kind: int, clicked: Any, cross: Any
) -> bool:
    """Learn from the outcome of one list; return False where its probabilities are not known.

    Args:
        evidence: what is known.
        lottery: what the list was drawn from, and the next four as `draw_list` had and returned them.
        allowed: (L,) which items could be shown.
        pinned: (n,) the pinned items, -1: none.
        shown: (n,) the list.
        kind: of the list.
        clicked: (n,) 1 or 0; 0 where a position was not seen.
        cross: (L,) scratch space.
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
    beats: Mask  # (L, L) x beats y


def list_standing(evidence: Evidence, items: Ints, claims: ListClaims) -> ListStanding:
    """Return what can be said of the items that are still in use.

    >>> known = start_list_evidence(4, 2)
    >>> known.proof[:2, 2:] = 9.0
    >>> result = list_standing(known, np.arange(4), ListClaims(0.05, 4, 2))
    >>> sorted(result.best.tolist()), result.doubt < 0.05, result.inside.tolist(), result.outside.tolist()
    ([0, 1], True, [True, True, False, False], [False, False, True, True])
    """
    proof = evidence.proof[np.ix_(items, items)]
    ahead = evidence.now - evidence.now.T
    beaten = (proof >= claims.of_set) & ~np.eye(len(items), dtype=bool)
    lead = np.clip(ahead[np.ix_(items, items)], -claims.of_pairs, claims.of_pairs).sum(axis=1)
    ranked = items[np.lexsort((-lead, -beaten.sum(axis=1)))]
    size = min(claims.n_positions, len(items))
    best, others = ranked[:size], ranked[size:]
    pairs = np.ix_(best, others)
    beats = np.zeros(evidence.proof.shape, bool)
    beats[np.ix_(items, items)] = proof >= claims.of_pairs
    inside, outside = np.zeros((2, len(beats)), bool)
    inside[items] = beats[items].sum(axis=1) >= len(items) - size
    outside[items] = beats[:, items].sum(axis=0) >= size
    order = best[np.argsort(-ahead[np.ix_(best, best)].sum(axis=1), kind="stable")]
    asked, of_set = evidence.margin_ratio[0] >= 0, evidence.proof[pairs].ravel()
    of_order = np.append(of_set, evidence.proof[order[:-1], order[1:]])
    return ListStanding(
        order,
        _doubt(of_set, claims.of_set, claims.error),
        _doubt(np.maximum(evidence.enough, evidence.proof)[pairs], claims.of_set, claims.error) if asked else 1.0,
        _doubt(of_order, claims.of_order, claims.error),
        float((of_set >= claims.of_set).mean()) if of_set.size else 1.0,
        float((of_order >= claims.of_order).mean()) if of_order.size else 1.0,
        inside,
        outside,
        beats,
    )


def _doubt(proof: Any, bar: float, error: float) -> float:
    """Return how wrong a statement may be of which the weakest pair has so much evidence; at the bar it is `error`."""
    return min(1.0, error * math.exp(bar - float(proof.min(initial=math.inf)))) if proof.size else 0.0
